"""The parts of `benchmarks.crawl`: the sites, the server, the contestants, the stopwatch."""
