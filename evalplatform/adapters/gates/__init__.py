"""The gate store on SQL."""
