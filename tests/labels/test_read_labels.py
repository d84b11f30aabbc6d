"""Reading files of labels: what counts, what is passed over, and what is refused with its line, column and rule."""

import json
from datetime import UTC, datetime

import pytest

from evalplatform.kernel.digests import answer_digest
from evalplatform.kernel.errors import LabelFileError
from evalplatform.labels.read import read_labels
from evalplatform.labels.records import LabelDefaults, LabelFile
from evalplatform.ports.labels import Label
from evalplatform.reports.csv import COLUMNS as SCORES_COLUMNS
from evalplatform.reports.csv import RETRIEVAL_COLUMNS

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANA = LabelDefaults(labeller="ana", now=NOW)
A, B = answer_digest("q", "a"), answer_digest("q", "b")


def read(text: str | bytes, *, file: str = "labels.csv", defaults: LabelDefaults = ANA) -> LabelFile:
    return read_labels(text.encode() if isinstance(text, str) else text, file=file, defaults=defaults)


def refused(text: str | bytes, *, file: str = "labels.csv", defaults: LabelDefaults = ANA) -> str:
    with pytest.raises(LabelFileError) as refusal:
        read(text, file=file, defaults=defaults)
    return str(refusal.value)


def a_label(value: float | str, *, subject: str = A, labeller: str = "ana", at: datetime = NOW) -> Label:
    scale = "verdict" if isinstance(value, str) else "points"
    return Label.model_validate(
        {"subject_kind": "answer", "subject": subject, "labeller": labeller, "scale": scale, "value": value, "labelled_at": at}
    )


def labels_of(found: LabelFile) -> list[Label]:
    return [item.label for item in found.labels]


def test_a_row_may_hold_points_and_a_verdict_and_rows_without_either_are_counted() -> None:
    found = read(f"answer_digest,label_points,label_verdict\n{A},72.5,passed\n{B},,\n{B},0, FAIL \n")
    assert labels_of(found) == [a_label(72.5), a_label("passed"), a_label(0.0, subject=B), a_label("failed", subject=B)]
    assert (found.rows, found.unjudged_rows, [item.line for item in found.labels]) == (3, 1, [2, 2, 4, 4])
    assert not any(item.is_dated for item in found.labels)


def test_a_plain_value_is_read_by_the_scale_of_its_row_or_else_of_the_call() -> None:
    text = f"answer_digest,value,scale\n{A},70,\n{B},passed,verdict\n"
    found = read(text, defaults=ANA.with_changes(scale="points"))
    assert labels_of(found) == [a_label(70.0), a_label("passed", subject=B)]
    assert "labels.csv:2: scale: is missing: say points or verdict" in refused(text)


def test_labeller_and_time_of_a_row_go_before_those_of_the_call() -> None:
    found = read(f"answer_digest,label_points,labeller,labelled_at\n{A},1,ben,2026-02-01T10:00:00+02:00\n{A},2,,\n")
    assert labels_of(found) == [a_label(1.0, labeller="ben", at=datetime(2026, 2, 1, 8, tzinfo=UTC)), a_label(2.0)]
    assert [item.is_dated for item in found.labels] == [True, False]


def test_json_lines_say_what_csv_says() -> None:
    rows = [
        {"answer_digest": A, "label_points": 72.5, "note": "a\u2028b"},
        {"answer_digest": B, "label_verdict": "Pass"},
        {"answer_digest": B},
    ]
    found = read("\ufeff" + "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n\n", file="labels.JSONL")
    assert labels_of(found) == [a_label(72.5), a_label("passed", subject=B)]
    assert (found.rows, found.unjudged_rows, found.passed_over) == (3, 1, ("note",))


def test_a_byte_order_mark_and_quoted_line_breaks_do_not_move_the_line_that_is_named() -> None:
    text = f'\ufeffanswer,answer_digest,label_points\r\n"one\r\ntwo, ""three""",{A},50\r\nplain,{B},500\r\n'
    assert refused(text) == "labels.csv:4: label_points: '500' is no number from 0 to 100."


def test_a_scores_file_with_a_column_of_judgements_added_is_a_file_of_labels() -> None:
    columns = [*SCORES_COLUMNS, *RETRIEVAL_COLUMNS, "dimension_correctness", "label_points"]
    row = {**dict.fromkeys(columns, "x"), "answer_digest": A, "points": "12", "label_points": "90"}
    found = read(",".join(columns) + "\n" + ",".join(row[column] for column in columns) + "\n")
    assert labels_of(found) == [a_label(90.0)]
    assert set(found.passed_over) == set(columns) - {"answer_digest", "label_points"}


def test_the_judges_points_of_a_scores_file_are_never_taken_for_a_persons() -> None:
    assert refused(f"answer_digest,points\n{A},80\n") == (
        "labels.csv: has no column of judgements: label_points, label_verdict or value (`points` are a judge's)."
    )


def test_the_same_said_twice_is_one_label_and_two_values_at_one_time_are_refused() -> None:
    found = read(f"answer_digest,label_points\n{A},70\n{A},70.0\n")
    assert (labels_of(found), found.repeated) == ([a_label(70.0)], 1)
    assert "labels.csv:3: 60.0 contradicts 70.0 on line 2" in refused(f"answer_digest,label_points\n{A},70\n{A},60\n")


def test_a_run_is_a_subject_too() -> None:
    found = read("subject_kind,subject,label_verdict\nrun,b-1/escalate/0,failed\n")
    assert (found.labels[0].label.subject_kind, found.labels[0].label.subject) == ("run", "b-1/escalate/0")


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("label_points", "101", "'101' is no number from 0 to 100."),
        ("label_points", "-1", "'-1' is no number from 0 to 100."),
        ("label_points", "nan", "'nan' is no number from 0 to 100."),
        ("label_points", "1_0", "'1_0' is no number from 0 to 100."),
        ("label_points", "8/10", "'8/10' is no number from 0 to 100."),
        ("label_points", "72,5", "'72,5' has a decimal comma; write it with a point."),
        ("label_verdict", "passd", "'passd' is none of passed, failed. Did you mean 'passed'?"),
        ("label_verdict", "yes", "'yes' is none of passed, failed."),
        ("labelled_at", "yesterday", "'yesterday' is no time; write it as in 2026-01-31T14:30:00Z."),
        ("labelled_at", "2026-01-31T14:30:00", "has no time zone"),
        ("labelled_at", "2026-01-31", "has no time zone"),
        ("labelled_at", "0001-01-01T00:00:00+14:00", "is no time"),
        ("labelled_at", "2062-01-31T14:30:00Z", "is still to come"),
        ("answer_digest", "sha256:12", "'sha256:12' is no answer digest"),
        ("answer_digest", "", "is empty, so it is not said which answer was judged."),
        ("labeller", "a\x01na", "holds a character that no name has."),
        ("scale", "score", "'score' is none of points, verdict."),
        ("scale", "verdicts", "'verdicts' is none of points, verdict. Did you mean 'verdict'?"),
        ("subject", "x", "stands beside answer_digest"),
    ],
)
def test_a_cell_that_cannot_be_used_is_named_with_line_column_and_rule(column: str, cell: str, said: str) -> None:
    row = {"answer_digest": A, "value": "50", "scale": "points", column: cell}
    text = ",".join(row) + "\n" + ",".join(f'"{value}"' for value in row.values()) + "\n"
    message = refused(text)
    assert message.startswith(f"labels.csv:2: {column}: ")
    assert said in message


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[1]", "labels.jsonl:2: is not one JSON object: it holds another kind of value."),
        ("{", "labels.jsonl:2: is not one JSON object: column 2: Expecting property name"),
        ('{"label_points": 1, "label_points": 2}', "the key 'label_points' stands twice"),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"label_points": ' + "9" * 5_000 + "}", "is not one JSON object"),
        (json.dumps({"answer_digest": A, "label_points": True}), "label_points: True is no number"),
        (json.dumps({"answer_digest": A, "label_points": float("nan")}), "label_points: nan is no number"),
        (json.dumps({"answer_digest": A, "label_points": "50 "}), ""),
        (json.dumps({"answer_digest": A, "label_verdict": 1}), "label_verdict: must be text, not 1."),
        (json.dumps({"answer_digest": 5, "label_verdict": "passed"}), "answer_digest: must be text, not 5."),
        ('{"answer_digest": "' + A + '", "label_verdict": "passed", "labeller": "\\ud800"}', "labeller: '\\ud800' holds a character"),
    ],
)
def test_a_line_of_json_that_cannot_be_used_is_named(line: str, said: str) -> None:
    text = json.dumps({"answer_digest": B, "label_points": 1}) + "\n" + line
    if said:
        assert said in refused(text, file="labels.jsonl")
    else:
        assert len(read(text, file="labels.jsonl").labels) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "labels.csv: is empty; a CSV file of labels starts with a header row such as answer_digest,label_points."),
        (f"answer_digest;label_points\n{A};5\n", "labels.csv:1: is separated by semicolons; save it separated by commas."),
        (f"answer_digest\tlabel_points\n{A}\t5\n", "is separated by tabs"),
        (f"answer_digest,label_points\n{A}\n", "labels.csv:2: has 1 cells where the header has 2."),
        (f'answer_digest,label_points\n{A},"5\n', "is not CSV"),
        (f"answer_digest,label_points\n{A},\xff\n".encode("latin-1"), "labels.csv:2: is not UTF-8"),
        ("label_points\n5\n", "labels.csv: answer_digest: is missing"),
        (f"answer_digest,label_point\n{A},5\n", "labels.csv: label_point: is no column of a file of labels. Did you mean 'label_points'?"),
        (f"answer_digest,label_points,labeler\n{A},5,ben\n", "Did you mean 'labeller'?"),
        (f"answer_digest,Label_Points\n{A},5\n", "Did you mean 'label_points'?"),
        (f"answer_digest,value\n{A},5\n", "labels.csv: scale: is missing: say points or verdict in a column scale"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(text: str | bytes, said: str) -> None:
    assert said in refused(text)


def test_somebody_has_to_have_labelled() -> None:
    message = refused(f"answer_digest,label_points\n{A},5\n", defaults=LabelDefaults(now=NOW))
    assert message == "labels.csv: labeller: is missing: name who judged in a column labeller, or for all rows with --labeller."


def test_another_kind_of_file_is_answered_with_those_that_are_read() -> None:
    assert "ends in one of .csv, .jsonl, .ndjson" in refused("", file="labels.xlsx")
    assert "Did you mean '.jsonl'?" in refused("", file="labels.json")


def test_every_bad_row_is_listed_up_to_twenty_and_the_rest_counted() -> None:
    message = refused("answer_digest,label_points\n" + "".join(f"{A},{100 + number}\n" for number in range(1, 24)))
    lines = message.split("\n")
    assert lines[0] == "labels.csv: 23 problems, so nothing was imported:"
    assert lines[1] == "  labels.csv:2: label_points: '101' is no number from 0 to 100."
    assert lines[-1] == "  and 3 more."
    assert len(lines) == 22


def test_all_that_is_wrong_with_one_row_is_said_at_once() -> None:
    message = refused(f"answer_digest,label_points,label_verdict,labelled_at\nx,{A},maybe,soon\n")
    assert message.startswith("labels.csv: 4 problems")
