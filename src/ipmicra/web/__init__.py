"""The coordinator's state and index -> pages: overview, map, tree, hosts, packages, errors, search, admin.

Invariant: pages are rendered on the server and complete without scripts; htmx, live figures and drawings
only add to them, and every picture has a table with the same content. Reading is public; every change needs
a session, the form's token and the right origin.
"""
