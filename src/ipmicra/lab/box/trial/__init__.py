"""The parts that every claim uses: harness, setup, crawl and delegation runs, timing checks."""
