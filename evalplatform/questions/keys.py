"""The keys of a question record whose type is fixed, declared once for JSON, JSON Lines and CSV.

Types are those of questions.v2 (treatment-arms spec, section 1); `expected_facts`, `forbidden_facts` and `checks` are this platform's own.
Every other key is open: it is kept as it is.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

SCHEMA_VERSIONS = ("questions.v1", "questions.v2")
LEVELS = ("triage", "diagnosis", "end_to_end")

Cell = Literal["text", "number", "list", "json"]


class Shape(NamedTuple):
    """What a key may hold: a test, the words for a refusal, and how a CSV cell under that header is read."""

    accepts: Callable[[object], bool]
    words: str
    cell: Cell = "text"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


_TEXT = Shape(_is_text, "a string")
_TEXTS = Shape(_is_text_list, "a list of strings", "list")
_OBJECT = Shape(_is_object, "an object", "json")

TYPED_KEYS: dict[str, Shape] = {
    "question": _TEXT,
    "category": _TEXT,
    "level": _TEXT,
    "difficulty": Shape(lambda value: _is_text(value) or _is_number(value), "a string or a number", "number"),
    "persona": Shape(lambda value: _is_text(value) or _is_object(value), "a string or an object", "json"),
    "expected_skill": Shape(
        lambda value: value is None or _is_text(value) or _is_text_list(value), "a string, a list of strings or null", "json"
    ),
    "ground_truth_chunk": _TEXT,
    "expected_topics": _TEXTS,
    "expected_facts": Shape(lambda value: isinstance(value, list), "a list of facts", "list"),
    "forbidden_facts": Shape(lambda value: isinstance(value, list), "a list of facts", "list"),
    "checks": _OBJECT,
    "metadata": _OBJECT,
    "question_set_hash": _TEXT,
    "persona_id": _TEXT,
    "personas": _TEXTS,
    "topics": _TEXTS,
    "source_type": _TEXT,
    "question_source": _TEXT,
    "source_url": _TEXT,
    "source_text": _TEXT,
    "chunk_index": Shape(_is_integer, "an integer", "number"),
    "validation_score": Shape(_is_number, "a number", "number"),
    "validation_details": _OBJECT,
    "trigger_lint": _OBJECT,
}
"""Keys that must have a shape where they are given. Null counts as not given, except in `expected_skill`, where it means "no skill"."""

QUESTION_FIELDS = frozenset(
    {
        "question", "category", "level", "difficulty", "persona", "expected_skill", "ground_truth_chunk", "expected_topics",
        "expected_facts", "forbidden_facts", "metadata",
    }
)  # fmt: skip
"""The typed keys that are fields of `Question`; the other typed keys are checked and kept in `extra`."""

NEVER_EXTRA = frozenset({"id", "text", "checks", *QUESTION_FIELDS})
"""Keys that `extra` never holds, since they have a meaning of their own in a record."""
