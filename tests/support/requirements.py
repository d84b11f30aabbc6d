"""What a test needs from the machine. Missing parts skip by name on a user's machine and fail where everything is required."""

import os
from pathlib import Path

import pytest


def need(present: bool, what: str) -> None:
    """Skip the test, naming `what` is missing; fail it instead where EVALPLATFORM_REQUIRE_ALL=1."""
    if present:
        return
    if os.environ.get("EVALPLATFORM_REQUIRE_ALL") == "1":
        pytest.fail(f"{what} is required here (EVALPLATFORM_REQUIRE_ALL=1)")
    pytest.skip(f"needs {what}")


def data_folder(name: str) -> Path:
    """Return a folder of the real test data, or skip: it is found through EVALPLATFORM_TEST_DATA."""
    root = os.environ.get("EVALPLATFORM_TEST_DATA", "")
    folder = Path(root) / name
    need(bool(root) and folder.is_dir(), f"EVALPLATFORM_TEST_DATA with {name}/")
    return folder
