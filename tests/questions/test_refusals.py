"""A question file that cannot be used is refused before any call, with the place and what would be right."""

import json
from pathlib import Path

import pytest

from evalplatform.kernel.errors import QuestionSetError
from evalplatform.questions.read import read_question_set
from tests.questions.files import read, refused


@pytest.mark.parametrize(
    ("name", "content", "second_line"),
    [
        ("q.json", '{"questions": [\n {"id": "dup", "question": "1+1?"},\n\n {"id": "dup",\n  "question": "2+2?"}]}', 4),
        ("q.jsonl", '{"id": "dup", "question": "1+1?"}\n\n{"id": "dup", "question": "2+2?"}\n', 3),
        ("q.csv", 'id,question\ndup,"1+\n1?"\n\ndup,2+2?\n', 5),
    ],
)
def test_an_id_used_twice_is_refused_with_both_places(tmp_path: Path, name: str, content: str, second_line: int) -> None:
    refusal = refused(tmp_path, content, name=name)
    assert refusal.line == second_line
    assert refusal.field == "id"
    assert "'dup' is used twice: first on line" in str(refusal)
    assert f"(question 1), again on line {second_line} (question 2)" in str(refusal)


def test_a_number_and_its_text_are_one_id(tmp_path: Path) -> None:
    assert "'1' is used twice" in str(refused(tmp_path, [{"id": 1, "question": "a"}, {"id": "1", "question": "b"}]))


def test_ids_that_differ_only_in_white_space_around_them_are_one_id(tmp_path: Path) -> None:
    refusal = refused(tmp_path, '[{"id": "a", "question": "x"},\n {"id": " a\u00a0", "question": "y"}]')
    assert (refusal.line, refusal.field) == (2, "id")
    assert "is used twice, as 'a', with other white space around it: first on line 1" in str(refusal)


def test_white_space_within_ids_and_around_a_single_one_is_kept(tmp_path: Path) -> None:
    read_set = read(tmp_path, [{"id": " a b", "question": "x"}, {"id": "ab", "question": "y"}])
    assert [question.id for question in read_set.questions] == [" a b", "ab"]


def test_a_mark_may_be_forbidden_though_it_cannot_be_an_expected_fact(tmp_path: Path) -> None:
    (question,) = read(tmp_path, [{"id": "a", "question": "x", "forbidden_facts": ["!!!"], "expected_facts": ["℃", "日本", "5"]}]).questions
    assert question.forbidden_facts[0].label == "!!!"


@pytest.mark.parametrize(
    ("record", "field", "rule"),
    [
        ({"id": "a", "question": " \n"}, "question", "is empty"),
        ({"id": "a", "question": ""}, "question", "is empty"),
        ({"id": "a", "question": "\u200b\ufeff \u2060"}, "question", "is empty"),
        ({"id": "\u200b", "question": "q"}, "id", "only white space"),
        ({"id": "a", "question": None}, "question", "null or NaN"),
        ({"id": "a", "question": float("nan")}, "question", "null or NaN"),
        ({"id": "a", "question": "nan"}, "question", "null or NaN"),
        ({"id": "a", "prompt": "q"}, "question", "is missing; the record has 'id', 'prompt'"),
        ({"id": "a", "question": 3}, "question", "must be a string, not 3"),
        ({"id": "a", "question": "q", "metadata": {"required_documents": "card"}}, "metadata.required_documents", "must be a list of"),
        ({"id": "a", "question": "q", "metadata": {"required_documents": [1]}}, "metadata.required_documents", "must be a list of"),
        ({"id": 1.5, "question": "q"}, "id", "must be a string or an integer, not 1.5"),
        ({"id": True, "question": "q"}, "id", "must be a string or an integer, not True"),
        ({"id": "  ", "question": "q"}, "id", "only white space"),
        ({"id": "a", "question": "q", "text": "other"}, "text", "something else than 'question'"),
        ({"id": "a", "question": "q", "level": 2}, "level", "must be a string"),
        ({"id": "a", "question": "q", "difficulty": True}, "difficulty", "must be a string or a number"),
        ({"id": "a", "question": "q", "persona": ["x"]}, "persona", "must be a string or an object"),
        ({"id": "a", "question": "q", "expected_skill": [1]}, "expected_skill", "a list of strings or null"),
        ({"id": "a", "question": "q", "metadata": "x"}, "metadata", "must be an object"),
        ({"id": "a", "question": "q", "expected_topics": "x"}, "expected_topics", "must be a list of strings"),
        ({"id": "a", "question": "q", "ground_truth_chunk": 3}, "ground_truth_chunk", "must be a string"),
        ({"id": "a", "question": "q", "question_set_hash": 3}, "question_set_hash", "must be a string"),
        ({"id": "a", "question": "q", "expected_facts": [" "]}, "expected_facts[0]", "is blank"),
        ({"id": "a", "question": "q", "expected_facts": ["x", "!!!"]}, "expected_facts[1]", "'!!!' holds no letter and no digit"),
        ({"id": "a", "question": "q", "checks": {"must_include": [{"any_of": ["x", "_"]}]}}, "expected_facts[0]", "'_' holds no letter"),
        ({"id": "a", "question": "q", "expected_facts": ["x", {"any_of": []}]}, "expected_facts[1]", "any_of"),
        ({"id": "a", "question": "q", "forbidden_facts": [{"all_of": ["x"]}]}, "forbidden_facts[0]", "any_of"),
        ({"id": "a", "question": "q", "checks": {"must_include": "x"}}, "checks.must_include", "list of facts"),
        ({"id": "a", "question": "q", "checks": {"must_include": ["x"]}, "expected_facts": ["y"]}, "checks.must_include", "keep one"),
        ({"id": "a", "question": "q", "tags": {"x": ["\ud83d"]}}, "tags.x[0]", "half of a surrogate pair"),
        ({"id": "a", "question": "\udc00"}, "question", "\\udc00"),
        ({"id": "a", "question": "q", "n": 2**64}, "n", "64 bits"),
        ({"id": "a", "question": "q", "n": float("inf")}, "n", "infinity"),
    ],
)
def test_a_record_is_refused_with_line_field_and_rule(tmp_path: Path, record: dict[str, object], field: str, rule: str) -> None:
    refusal = refused(tmp_path, f'{{"questions": [{{"id": "ok", "question": "fine"}},\n{json.dumps(record)}]}}')
    assert (refusal.line, refusal.field) == (2, field)
    assert rule in refusal.rule
    assert str(refusal).startswith(f"{tmp_path / 'questions.json'}:2: {field}: ")


@pytest.mark.parametrize(
    ("record", "nearest"),
    [
        ({"id": "a", "question": "q", "level": "Triag"}, "triage"),
        ({"id": "a", "question": "q", "checks": {"must_incldue": ["x"]}}, "must_include"),
    ],
)
def test_a_typo_is_answered_with_the_nearest_name(tmp_path: Path, record: dict[str, object], nearest: str) -> None:
    assert refused(tmp_path, [record]).nearest == nearest


def test_an_unknown_schema_version_is_refused_with_the_nearest(tmp_path: Path) -> None:
    refusal = refused(tmp_path, {"schema_version": "questions.v3", "questions": [{"id": "a", "question": "q"}]})
    assert (refusal.field, refusal.nearest) == ("schema_version", "questions.v2")


@pytest.mark.parametrize(
    ("name", "content", "line", "rule"),
    [
        ("q.json", "", 1, "must be a JSON object"),
        ("q.json", "[]", None, "holds no question"),
        ("q.csv", "id,question\n", None, "holds no question"),
        ("q.csv", "", None, "is empty; a CSV question set starts with a header row"),
        ("q.json", '{"questions": [\n{"id": "a", "question": "q",}]}', 2, "is not JSON at column"),
        ("q.json", '{"questions": [\n{"id": "a"\n', 3, "is not JSON"),
        ("q.json", '{"questions": [{"id": "a", "question": "q"}]}\n[]', 2, "more text after the end"),
        ("q.json", '{"id": "a", "question": "q"}\n{"id": "b", "question": "q"}', None, "ends in .jsonl"),
        ("q.json", '{"questions": {"a": "q"}}', 1, "must be a list of questions"),
        ("q.json", '{"questions": [], "questions": []}', 1, "stands twice"),
        ("q.json", '[\n{"id": "a", "question": "q", "id": "b"}]', 2, "the key 'id' stands twice"),
        ("q.json", '["q"]', 1, "question 1 must be an object"),
        ("q.json", "[" * 100_000, 1, "nested too deeply"),
        ("q.json", '[{"id": "a", "question": "q", "n": ' + "[" * 200 + "]" * 200 + "}]", 1, "nested more than 100 deep"),
        ("q.json", '[{"id": "a", "question": "q", "n": ' + "9" * 5000 + "}]", 1, "too many digits"),
        ("q.jsonl", '{"id": "a", "question": "q"}\n{"id": "b", "question": "q"} {}', 2, "one object a line"),
        ("q.jsonl", '{"id": "a",\n"question": "q"}', 1, "is not JSON"),
        ("q.csv", "id,question\na,b,c\n", 2, "has 3 cells where the header has 2"),
        ("q.csv", 'id,question\na,"b\n', 2, "is not CSV"),
        ("q.csv", ",id,question\n0,a,b\n", 1, "column 1 has no header"),
        ("q.csv", "id,question,id\na,b,c\n", 1, "heads two columns"),
        ("q.csv", "id,question,metadata\na,b,{x\n", 2, "starts like JSON but is not"),
    ],
)
def test_a_file_is_refused_with_its_line_and_reason(tmp_path: Path, name: str, content: str, line: int | None, rule: str) -> None:
    refusal = refused(tmp_path, content, name=name)
    assert refusal.line == line
    assert rule in refusal.rule


def test_a_misspelled_questions_key_is_answered_with_the_right_one(tmp_path: Path) -> None:
    refusal = refused(tmp_path, {"qestions": []})
    assert refusal.nearest == "questions"
    assert "'qestions'" in refusal.rule


def test_bytes_that_are_not_utf8_are_refused_with_their_offset(tmp_path: Path) -> None:
    refusal = refused(tmp_path, b"id,question\n1,caf\xe9\n", name="q.csv")
    assert "byte 0xe9 at offset 17" in refusal.rule
    assert refusal.line == 2


def test_an_unknown_ending_is_refused_with_the_nearest(tmp_path: Path) -> None:
    assert refused(tmp_path, "", name="q.jsonn").nearest == ".json"


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(QuestionSetError, match=r"gone\.json: cannot be read"):
        read_question_set(tmp_path / "gone.json")
