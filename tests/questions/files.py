"""Small question files for tests."""

import json
from pathlib import Path

import pytest

from evalplatform.kernel.errors import QuestionSetError
from evalplatform.questions.read import read_question_set
from evalplatform.questions.records import QuestionSet


def read(folder: Path, content: object, *, name: str = "questions.json") -> QuestionSet:
    """Return what is read from a file with that content: text, bytes, or a value that is written as JSON."""
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8", newline="")
    return read_question_set(path)


def refused(folder: Path, content: object, *, name: str = "questions.json") -> QuestionSetError:
    """Return the refusal of a file with that content."""
    with pytest.raises(QuestionSetError) as refusal:
        read(folder, content, name=name)
    return refusal.value
