"""Whatever the questions are, writing and reading keep them, and the format does not show."""

import csv
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from evalplatform.kernel.errors import QuestionSetError
from evalplatform.questions.cleaning import is_blank
from evalplatform.questions.read import read_question_set
from evalplatform.questions.write import write_question_set

# Text that any format can hold: no half surrogates. CSV reads a lone carriage return as it stands, so nothing else is left out.
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(
    lambda text: not is_blank(text) and text.strip().casefold() != "nan"
)
wordings = texts.map(lambda text: f"{text}1")  # an expected fact holds a letter or a digit
records = st.fixed_dictionaries(
    {"question": texts},
    optional={
        "category": texts,
        "persona": texts.filter(lambda text: not text.lstrip().startswith(("{", "["))),
        "expected_topics": st.lists(texts, max_size=3),
        "expected_facts": st.lists(
            wordings | st.builds(lambda any_of: {"any_of": any_of}, st.lists(wordings, min_size=1, max_size=3)), max_size=3
        ),
        "difficulty": st.sampled_from(["easy", "hard", 1, 2.5]),
        "metadata": st.dictionaries(st.text("abc", min_size=1), st.none() | st.integers(-5, 5) | texts, max_size=3),
        "owner": texts,
    },
)
question_sets = st.lists(records, min_size=1, max_size=4).map(
    lambda rows: [{"id": f"id-{number}", **row} for number, row in enumerate(rows)]
)


def as_csv(rows: list[dict[str, object]]) -> str:
    header = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(header)
    for row in rows:
        writer.writerow([json.dumps(row[key]) if isinstance(row.get(key), list | dict) else row.get(key, "") for key in header])
    return text.getvalue()


@settings(deadline=None)
@given(question_sets)
def test_json_json_lines_and_csv_give_the_same_questions(rows: list[dict[str, object]]) -> None:
    with TemporaryDirectory() as folder:
        contents = {"q.json": json.dumps({"questions": rows}), "q.jsonl": "\n".join(map(json.dumps, rows)), "q.csv": as_csv(rows)}
        sets = []
        for name, content in contents.items():
            (Path(folder) / name).write_text(content, encoding="utf-8", newline="")
            sets.append(read_question_set(Path(folder) / name))
        assert sets[0].questions == sets[1].questions == sets[2].questions
        assert len({question_set.digest for question_set in sets}) == 1
        write_question_set(Path(folder) / "copy.json", sets[0])
        assert read_question_set(Path(folder) / "copy.json").digest == sets[0].digest


@settings(deadline=None)
@given(st.text(max_size=60), st.sampled_from([".json", ".jsonl", ".csv"]))
def test_any_text_is_read_or_refused_by_name(text: str, ending: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"q{ending}"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        assert _file_of_refusal(path) in (None, str(path))


def _file_of_refusal(path: Path) -> str | None:
    try:
        return None if read_question_set(path).questions else "read without a question"
    except QuestionSetError as refusal:
        return refusal.file
