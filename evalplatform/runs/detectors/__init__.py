"""What a policy may look for in a trajectory by name: one file a detector in `kinds/`."""
