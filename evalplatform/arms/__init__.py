"""Treatment arms: the spec grammar, the payload cap, and one file per kind in `kinds/`."""
