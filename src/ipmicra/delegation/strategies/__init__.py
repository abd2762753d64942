"""One file per delegation strategy; `ipmicra.delegation.registry` lists them by name."""
