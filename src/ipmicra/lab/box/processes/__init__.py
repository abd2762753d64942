"""The processes of a box: router, sites, the whole system, overlay peers."""
