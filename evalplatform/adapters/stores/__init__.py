"""Object stores, one file for each URL scheme: a local folder, S3, memory."""
