"""The named detectors, one file each; none knows another."""
