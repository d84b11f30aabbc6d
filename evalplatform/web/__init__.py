"""The web app beside Dagster: downloads of stored artifacts. No logic of its own."""
