"""Document sources: one file per kind in `kinds/`, opened by spec."""
