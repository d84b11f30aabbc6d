"""Dagster assets, one module a group: thin bodies that call one stage each."""
