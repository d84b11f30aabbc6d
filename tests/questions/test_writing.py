"""A set that is written can be read back as the same set, and a failed write leaves nothing behind."""

import json
from pathlib import Path

import pytest

from evalplatform.kernel.errors import QuestionSetError
from evalplatform.questions.read import read_question_set
from evalplatform.questions.records import Question, QuestionSet
from evalplatform.questions.write import write_question_set
from tests.questions.files import read
from tests.questions.test_reading import V2


def test_a_written_set_reads_back_equal_without_a_warning(tmp_path: Path) -> None:
    original = read(tmp_path, V2)
    write_question_set(tmp_path / "copy.json", original)
    copy = read_question_set(tmp_path / "copy.json")
    assert copy.questions == original.questions
    assert copy.digest == original.digest
    assert copy.warnings == ()


def test_a_written_file_is_ascii_questions_v2_with_the_digest(tmp_path: Path) -> None:
    original = read(tmp_path, V2)
    write_question_set(tmp_path / "copy.json", original)
    text = (tmp_path / "copy.json").read_text(encoding="ascii")
    document = json.loads(text)
    assert (document["schema_version"], document["question_set_hash"]) == ("questions.v2", original.digest)
    assert "text" not in document["questions"][0]


def test_an_open_key_that_would_change_the_question_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    odd = Question(id="a", question="q", extra={"text": "other"})
    with pytest.raises(QuestionSetError, match="'text'"):
        write_question_set(tmp_path / "copy.json", QuestionSet(source="made", questions=(odd,), digest="sha256:0"))
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_keeps_the_old_file_and_no_draft(tmp_path: Path) -> None:
    target = tmp_path / "taken.json"
    target.mkdir()
    with pytest.raises(OSError, match="taken"):
        write_question_set(target, read(tmp_path, V2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["questions.json", "taken.json"]
