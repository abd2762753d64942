"""Measurements, one file a question; `make bench` runs them all, `python -m benchmarks NAME` one.

A file here has a docstring that states the question and a `main()` that prints its table. Contestants
are compared side by side in one run, since machines are noisy and only ratios last. No tests.
"""
