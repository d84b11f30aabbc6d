"""Question sets: reading, upgrading, refusing, and their digest."""
