"""The composition root for Dagster."""
