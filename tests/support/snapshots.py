"""Snapshots: what a reader is shown, kept as files beside the tests.

After a wanted change run the tests with EVALPLATFORM_UPDATE_SNAPSHOTS=1 and read the diff before committing it.
"""

import os
from pathlib import Path

UPDATE = "EVALPLATFORM_UPDATE_SNAPSHOTS"


def assert_snapshot(path: Path, text: str) -> None:
    """Fail unless `text` is what `path` holds; write it there instead where the environment asks for that."""
    if os.environ.get(UPDATE) == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    assert path.is_file(), f"{path} is missing; run with {UPDATE}=1"
    assert text == path.read_bytes().decode(), f"{path.name} differs; if that is wanted, run with {UPDATE}=1"
