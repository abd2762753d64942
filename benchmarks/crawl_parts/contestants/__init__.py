"""The rivals' spiders, each a program: `python -m ... START_URLS_FILE PATTERN OUTPUT`."""
