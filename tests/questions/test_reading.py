"""What a user gets from a question file, whatever its format and age."""

import csv
import io
import json
from pathlib import Path

import pytest

from evalplatform.questions.read import read_question_set
from evalplatform.questions.records import Fact
from tests.questions.files import read
from tests.support.requirements import data_folder

V2 = {
    "schema_version": "questions.v2",
    "questions": [
        {
            "id": "limits-1",
            "question": "How many retries?\nAnd how long?",
            "category": "calls",
            "level": "triage",
            "difficulty": 2,
            "persona": {"id": "dev"},
            "expected_skill": ["pdf", "docx"],
            "ground_truth_chunk": "4 attempts",
            "expected_topics": ["attempts", "waits"],
            "expected_facts": ["4 attempts", {"any_of": ["Retry-After", "retry after"]}],
            "forbidden_facts": ["7 attempts"],
            "metadata": {"area": "calls"},
            "owner": "docs team",
        },
        {"id": 0, "question": "Was ist „neu“?"},
    ],
}


def as_csv(records: list[dict[str, object]]) -> str:
    header = list(dict.fromkeys(key for record in records for key in record))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    for record in records:
        cells = [record.get(key, "") for key in header]
        writer.writerow([json.dumps(cell) if isinstance(cell, list | dict) else cell for cell in cells])
    return text.getvalue()


def test_every_field_of_a_record_arrives_under_its_name(tmp_path: Path) -> None:
    question = read(tmp_path, V2).questions[0]
    assert (question.category, question.level, question.difficulty, question.persona) == ("calls", "triage", 2, {"id": "dev"})
    assert question.expected_skill == ["pdf", "docx"]
    assert question.has_expected_skill
    assert question.expected_topics == ("attempts", "waits")
    assert question.expected_facts == (Fact(any_of=("4 attempts",)), Fact(any_of=("Retry-After", "retry after")))
    assert question.forbidden_facts == (Fact(any_of=("7 attempts",)),)
    assert question.metadata == {"area": "calls"}
    assert question.extra == {"owner": "docs team"}


def test_zero_is_a_real_id_and_ids_are_text(tmp_path: Path) -> None:
    assert [question.id for question in read(tmp_path, V2).questions] == ["limits-1", "0"]


def test_the_same_questions_as_json_json_lines_and_csv_have_one_digest(tmp_path: Path) -> None:
    records = V2["questions"]
    assert isinstance(records, list)
    json_lines = "\n\n".join(json.dumps(record) for record in records)
    digests = {
        read(tmp_path, V2).digest,
        read(tmp_path, json.dumps(V2, indent=4, ensure_ascii=False)).digest,
        read(tmp_path, records).digest,
        read(tmp_path, json_lines, name="q.jsonl").digest,
        read(tmp_path, json_lines.replace("\n", "\r\n"), name="q.ndjson").digest,
        read(tmp_path, as_csv(records), name="q.csv").digest,
        read(tmp_path, "\ufeff" + as_csv(records), name="Q.CSV").digest,
    }
    assert len(digests) == 1


@pytest.mark.parametrize(
    "change",
    [{"question": "other"}, {"id": "x"}, {"owner": "x"}, {"expected_facts": ["5"]}, {"expected_skill": None}, {"difficulty": "2"}],
)
def test_any_change_of_a_question_changes_the_digest(tmp_path: Path, change: dict[str, object]) -> None:
    first, second = V2["questions"]
    assert read(tmp_path, [{**first, **change}, second]).digest != read(tmp_path, V2).digest


def test_the_order_of_questions_is_part_of_the_digest(tmp_path: Path) -> None:
    assert read(tmp_path, list(reversed(V2["questions"]))).digest != read(tmp_path, V2).digest


def test_no_skill_should_load_differs_from_no_label(tmp_path: Path) -> None:
    labelled, unlabelled = read(tmp_path, [{"id": "a", "question": "a", "expected_skill": None}, {"id": "b", "question": "b"}]).questions
    assert (labelled.has_expected_skill, labelled.expected_skill) == (True, None)
    assert not unlabelled.has_expected_skill


def test_checks_are_expected_and_forbidden_facts_by_another_name(tmp_path: Path) -> None:
    by_checks = read(tmp_path, [{"id": "a", "question": "a", "checks": {"must_include": ["x"], "must_not_include": ["y"]}}])
    by_facts = read(tmp_path, [{"id": "a", "question": "a", "expected_facts": ["x"], "forbidden_facts": ["y"]}])
    assert by_checks.digest == by_facts.digest
    assert len(by_checks.warnings) == 1  # the bare list alone


def test_a_csv_cell_of_facts_is_parted_at_semicolons_or_read_as_json(tmp_path: Path) -> None:
    text = 'id,question,expected_facts\na,q,four attempts; Retry-After\nb,q,"[""a; b"", {""any_of"": [""c"", ""d""]}]"\nc,q,\n'
    facts = [question.expected_facts for question in read(tmp_path, text, name="q.csv").questions]
    assert facts[0] == (Fact(any_of=("four attempts",)), Fact(any_of=("Retry-After",)))
    assert facts[1] == (Fact(any_of=("a; b",)), Fact(any_of=("c", "d")))
    assert facts[2] == ()


def test_a_csv_id_that_looks_like_a_number_stays_as_it_is_written(tmp_path: Path) -> None:
    assert [question.id for question in read(tmp_path, "id,question\n007,a\n1e3,b\n", name="q.csv").questions] == ["007", "1e3"]


def test_a_csv_cell_may_be_longer_than_the_csv_modules_limit(tmp_path: Path) -> None:
    long = "x" * 400_000
    limit = csv.field_size_limit()
    assert read(tmp_path, f"id,question,ground_truth_chunk\na,q,{long}\n", name="q.csv").questions[0].ground_truth_chunk == long
    assert csv.field_size_limit() == limit


def test_a_line_separator_inside_a_json_string_ends_no_record(tmp_path: Path) -> None:
    assert read(tmp_path, '{"id": 1, "question": "a\u2028b"}', name="q.jsonl").questions[0].question == "a\u2028b"


def test_a_nan_of_pandas_is_missing_and_never_the_word_nan(tmp_path: Path) -> None:
    text = '[{"id": "a", "question": "q", "expected_skill": NaN, "category": NaN, "metadata": {"x": [NaN]}, "tag": "nan"}]'
    question_set = read(tmp_path, text)
    question = question_set.questions[0]
    assert (question.expected_skill, question.has_expected_skill, question.category) == (None, False, None)
    assert question.metadata == {"x": [None]}
    assert question.extra == {}
    assert [warning for warning in question_set.warnings if "'nan' in 'tag'" in warning]


def test_ten_thousand_questions_are_read_whole(tmp_path: Path) -> None:
    records = [{"id": number, "question": f"question {number}"} for number in range(10_000)]
    assert len(read(tmp_path, {"questions": records}).questions) == 10_000


def test_the_skill_evals_of_real_repositories_are_read_after_conversion(tmp_path: Path) -> None:
    evals = sorted(data_folder("skills").glob("skills/*/evals/evals.json"))
    assert evals
    records = [
        {"id": f"{path.parent.parent.name}-{number}", "question": item["prompt"], "expected_skill": path.parent.parent.name}
        for path in evals
        for number, item in enumerate(json.loads(path.read_text(encoding="utf-8"))["evals"])
    ]
    assert len(read(tmp_path, {"questions": records}).questions) == len(records) > 8


def test_the_source_is_the_path_as_the_user_named_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read(tmp_path, V2)
    monkeypatch.chdir(tmp_path)
    assert read_question_set("questions.json").source == "questions.json"
