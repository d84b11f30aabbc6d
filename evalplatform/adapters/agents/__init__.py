"""Agents that are reached from outside the project: over HTTP, as a program, as a Python function, or as a recording."""
