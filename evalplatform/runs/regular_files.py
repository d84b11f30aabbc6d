"""Files that are read more than once have to be regular ones."""

from pathlib import Path


def is_pipe_or_device(path: Path) -> bool:
    """Return whether a path is neither a file nor a folder: opening it may wait for ever, and what is read of it is gone then."""
    return path.exists() and not (path.is_file() or path.is_dir())
