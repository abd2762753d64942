"""`python -m ipmicra` is the `ipmicra` command."""

from ipmicra.cli.main import main

main()
