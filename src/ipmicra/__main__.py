"""`python -m ipmicra` is the `ipmicra` command."""

from ipmicra.cli.main import main

if __name__ == "__main__":  # a shared crawl's processes import this module too
    main()
