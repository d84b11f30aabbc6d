"""One file per judge kind. A file here registers itself."""
