"""Files of labels: whatever the bytes, a file is read or refused; and what is written is what is read."""

import csv
import io
import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.digests import answer_digest
from evalplatform.kernel.errors import InputError
from evalplatform.labels.columns import COLUMNS
from evalplatform.labels.read import read_labels
from evalplatform.labels.records import LabelDefaults

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DIGESTS = [answer_digest("q", str(number)) for number in range(5)]
CELLS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            *DIGESTS,
            "",
            "50",
            "100.5",
            "passed",
            "FAIL",
            "points",
            "verdict",
            "answer",
            "run",
            "2026-01-01T00:00:00Z",
            "9999-12-31T23:59-14:00",
        ]
    ),
)
JSON_CELLS = st.one_of(CELLS, st.none(), st.booleans(), st.integers(), st.floats(), st.lists(st.integers(), max_size=2))
ROWS = st.lists(st.dictionaries(st.sampled_from([*COLUMNS, "note"]), JSON_CELLS), max_size=5)


def reads_or_refuses(data: bytes, file: str) -> None:
    try:
        found = read_labels(data, file=file, defaults=LabelDefaults(labeller="ana", scale="points", now=NOW))
    except InputError:
        return
    assert all(item.label.labelled_at <= NOW for item in found.labels)
    assert len(found.labels) + found.repeated >= found.rows - found.unjudged_rows


@given(st.binary(max_size=200), st.sampled_from(["l.csv", "l.jsonl", "l"]))
def test_no_bytes_bring_the_reader_down(data: bytes, file: str) -> None:
    reads_or_refuses(data, file)


@given(ROWS)
def test_no_json_lines_bring_the_reader_down(rows: list[dict[str, object]]) -> None:
    reads_or_refuses("\n".join(json.dumps(row) for row in rows).encode(), "l.jsonl")


@given(st.lists(st.lists(CELLS, min_size=len(COLUMNS), max_size=len(COLUMNS)), max_size=5))
def test_no_csv_brings_the_reader_down(rows: list[list[str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([COLUMNS, *rows])
    reads_or_refuses(out.getvalue().encode("utf-8", "surrogatepass"), "l.csv")


@given(st.dictionaries(st.sampled_from(DIGESTS), st.floats(0, 100).map(lambda points: round(points, 3)), min_size=1))
def test_points_that_are_written_are_the_points_that_are_read_in_both_formats(points: dict[str, float]) -> None:
    as_csv = "answer_digest,label_points\n" + "".join(f"{digest},{value:.3f}\n" for digest, value in points.items())
    as_json = "\n".join(json.dumps({"answer_digest": digest, "label_points": value}) for digest, value in points.items())
    for text, file in ((as_csv, "l.csv"), (as_json, "l.jsonl")):
        found = read_labels(text.encode(), file=file, defaults=LabelDefaults(labeller="ana", now=NOW))
        assert {item.label.subject: item.label.value for item in found.labels} == points
