"""The suite's branches, counted while it runs: `python -m tools.coverage ARGUMENTS_OF_PYTEST`.

`marked_source.py` puts a mark at the beginning of each branch, `preparation.py` compiles all marked modules
once, `startup/sitecustomize.py` makes every Python below the run load them, and `report.py` reads what was
marked and compares it with the floors in `pyproject.toml`. docs/decisions/0017-coverage.md says why.
"""
