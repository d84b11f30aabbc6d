"""Benchmarks: what the platform adds to the calls it makes, as ratios taken in one run. `python -m benchmarks` prints one table."""
