"""What a scenario may assert of a run: one file a kind in `kinds/`."""
