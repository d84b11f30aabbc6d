"""Worked texts that every store of text has to carry."""

import json
import re
from pathlib import Path

import pytest

PITFALLS = Path(__file__).parents[1] / "cases" / "pitfalls.json"


@pytest.fixture(scope="session")
def awkward_texts() -> list[str]:
    """The answers of pitfall T02, with the described long line spelled out."""
    pitfall = next(pitfall for pitfall in json.loads(PITFALLS.read_text()) if pitfall["id"] == "T02")
    return [_spelled_out(text) for text in pitfall["input"]["answers"]]


def _spelled_out(text: str) -> str:
    described = re.fullmatch(r"<the letter x repeated (\d+) times>", text)
    return "x" * int(described[1]) if described else text
