"""Dagster sensors and schedules: when, never what."""
