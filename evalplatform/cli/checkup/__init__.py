"""What `evalplatform doctor` looks at, one file a subject."""
