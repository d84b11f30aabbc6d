"""Two batches of runs beside each other, scenario by scenario."""
