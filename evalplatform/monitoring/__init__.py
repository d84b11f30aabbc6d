"""Scheduled checks of agents: when they are due, what may be monitored and where, and which change of standing is told."""
