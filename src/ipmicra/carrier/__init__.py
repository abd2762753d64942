"""Pages -> packages, delivered once.

A crawler appends records to its spool; the spool seals them into packages, keeps those until they are
acknowledged. A package that is unpacked twice has the same effect as once.
"""
