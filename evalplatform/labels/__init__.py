"""Files of human labels: their columns, and how they are read."""
