"""What `benchmarks.overlay` is made of: processes of live peers, what they say, and the simulator's word."""
