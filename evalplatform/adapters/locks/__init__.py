"""Locks between processes: files on one machine, Postgres between machines."""
