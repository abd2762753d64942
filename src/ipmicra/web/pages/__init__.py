"""One module per page for people; `ipmicra.web.routes` says at which address each is served."""
