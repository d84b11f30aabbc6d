"""The batch store on SQL."""
