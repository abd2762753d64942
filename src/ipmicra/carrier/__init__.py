"""Pages -> packages, delivered once.

A crawler appends records to its spool; the spool seals them into packages, keeps those until they are
acknowledged, and whoever unpacks one twice notices nothing.
"""
