"""Stores of human labels."""
