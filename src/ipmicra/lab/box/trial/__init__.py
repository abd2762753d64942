"""What every claim uses: harness, scene, crawl and delegation runs, timing checks."""
