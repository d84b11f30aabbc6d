"""Recorded traces of other tools, read into runs: one file a format in `kinds/`."""
