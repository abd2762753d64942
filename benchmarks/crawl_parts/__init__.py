"""What `benchmarks.crawl` is made of: the sites, the server, the contestants, the stopwatch."""
