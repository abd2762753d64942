"""The parts of `benchmarks.overlay`: processes of live peers, their reports, and the simulator's results."""
