"""Stages: what one asset does, without Dagster. Read the inputs, skip what is unchanged, compute, write the artifact."""
