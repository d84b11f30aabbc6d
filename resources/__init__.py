"""Dagster resources: the opened project and the IO manager on its object store."""
