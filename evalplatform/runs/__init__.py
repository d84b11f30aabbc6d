"""The agent side, pure: scenarios, what an agent did (trajectories), how two of them differ, runs and batches."""
