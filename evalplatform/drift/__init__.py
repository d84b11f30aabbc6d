"""What changes without a change: unstable scenarios."""
