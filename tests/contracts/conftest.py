"""What contracts of stores share: every kind of database, and worked texts that every store of text has to carry."""

import json
import re
from pathlib import Path

import pytest

PITFALLS = Path(__file__).parents[1] / "cases" / "pitfalls.json"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of each kind, which holds nothing yet."""
    return f"sqlite:///{tmp_path}/evalplatform.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture(scope="session")
def awkward_texts() -> list[str]:
    """The answers of pitfall T02, with the described long line spelled out."""
    pitfall = next(pitfall for pitfall in json.loads(PITFALLS.read_text()) if pitfall["id"] == "T02")
    return [_spelled_out(text) for text in pitfall["input"]["answers"]]


def _spelled_out(text: str) -> str:
    described = re.fullmatch(r"<the letter x repeated (\d+) times>", text)
    return "x" * int(described[1]) if described else text
