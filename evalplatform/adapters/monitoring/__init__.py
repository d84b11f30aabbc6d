"""The monitoring store on SQL."""
