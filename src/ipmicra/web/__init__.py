"""All of it -> pages for people: overview, map, tree, hosts, packages, errors, search, administration.

Law: server-rendered, and whole without scripts; htmx, live figures and drawings only add to it, and
behind every picture stands a table. Reading is for everybody; whatever changes something needs a session,
a form's own token and the right origin.
"""
