"""Older and looser files are read, and the user is told once for each kind of change."""

from pathlib import Path

import pytest

from tests.questions.files import read


def test_a_v1_file_is_read_silently(tmp_path: Path) -> None:
    old = read(tmp_path, {"schema_version": "questions.v1", "questions": [{"id": "a", "text": "q", "metadata": None}]})
    new = read(tmp_path, {"schema_version": "questions.v2", "questions": [{"id": "a", "question": "q"}]})
    assert old.warnings == ()
    assert old.digest == new.digest


def test_an_unstamped_file_is_matched_by_its_shape(tmp_path: Path) -> None:
    assert read(tmp_path, {"questions": [{"id": "a", "text": "q"}, {"id": "b", "question": "r"}]}).warnings == ()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([{"id": "a", "question": "q"}], "bare list of 1 question"),
        ({"questions": [{"id": "a", "question_text": "q"}]}, "1 question: 'question_text' was read as 'question' (first on line 1)."),
        ({"questions": [{"question_id": "a", "question": "q"}]}, "1 question: 'question_id' was read as 'id' (first on line 1)."),
        ({"questions": [{"question": "q"}]}, "no 'id', so numbered by position"),
        ({"questions": [{"id": "a", "question": "q", "metadata": [1]}]}, '{"items": [...]}'),
        ({"schema_version": "questions.v2", "questions": [{"id": "a", "text": "q"}]}, "'text', which questions.v2 forbids"),
        ({"questions": [{"id": "a", "question": "q", "expected_fact": ["x"]}]}, "did you mean 'expected_facts'?"),
    ],
)
def test_every_other_upgrade_gives_one_sentence(tmp_path: Path, content: object, said: str) -> None:
    warnings = read(tmp_path, content).warnings
    assert len(warnings) == 1
    assert said in warnings[0]


def test_many_upgrades_of_one_kind_give_one_sentence_with_their_number(tmp_path: Path) -> None:
    text = "\n".join(f'{{"question_text": "q{number}", "id": {number}}}' for number in range(12))
    warnings = read(tmp_path, f"\n{text}", name="q.jsonl").warnings
    assert warnings == ("12 questions: 'question_text' was read as 'question' (first on line 2).",)


def test_a_record_without_id_is_numbered_by_position_around_taken_ids(tmp_path: Path) -> None:
    records = [
        {"question_id": "x", "question": "a"},
        {"question": "b"},
        {"id": "q0001", "question": "c"},
        {"id": "_q0001", "question": "d"},
    ]
    assert [question.id for question in read(tmp_path, {"questions": records}).questions] == ["x", "__q0001", "q0001", "_q0001"]


def test_positional_ids_do_not_depend_on_when_the_file_is_read(tmp_path: Path) -> None:
    rows = '[{"question": "a"}, {"id": "", "question": "b"}, {"id": NaN, "question": "c"}]'
    first, second = (read(tmp_path, rows) for _ in range(2))
    assert [question.id for question in first.questions] == ["q0000", "q0001", "q0002"]
    assert first == second


def test_a_list_as_metadata_becomes_items(tmp_path: Path) -> None:
    assert read(tmp_path, [{"id": "a", "question": "q", "metadata": [1, "x"]}]).questions[0].metadata == {"items": [1, "x"]}


def test_a_hash_of_another_tool_is_passed_over_and_ours_is_checked(tmp_path: Path) -> None:
    questions = [{"id": "a", "question": "q"}]
    digest = read(tmp_path, {"questions": questions}).digest
    assert read(tmp_path, {"questions": questions, "question_set_hash": "0123456789ab"}).warnings == ()
    assert read(tmp_path, {"questions": questions, "question_set_hash": digest}).warnings == ()
    edited = read(tmp_path, {"questions": [{"id": "a", "question": "edited"}], "question_set_hash": digest})
    assert "changed after 'question_set_hash' was written" in edited.warnings[0]
