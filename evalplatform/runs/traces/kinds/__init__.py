"""The trace formats, one file each; none knows another."""
