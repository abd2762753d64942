"""Records <-> the columns and frames of a package, in the present format and in the earlier ones."""
