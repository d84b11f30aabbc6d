"""What drives Dagster for the commands: its home, runs in this process, backfills, sync. Dagster is imported inside functions: it costs two seconds."""
