"""What drives Dagster for the commands: its home, runs in this process, backfills, sync."""
