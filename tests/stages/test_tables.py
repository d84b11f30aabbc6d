"""The Parquet tables: every record comes back as it was written, whatever its texts and numbers."""

import io
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evalplatform.answering.records import ArmAnswer, CallTiming, ContextChunk
from evalplatform.comparisons.records import JudgedScore
from evalplatform.judging.records import Judgement, PanelVerdict, PanelVote
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import DigestMismatchError
from evalplatform.kernel.usage import Usage
from evalplatform.stages.tables import ANSWERS, SCORES, TEXTS, TIMINGS, Text, read_score_points, read_texts, texts_table

TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.characters(categories=["Cs"]) | st.just("\x00"), max_size=20)
COUNT = st.none() | st.integers(0, 2**40)
USD = st.none() | st.floats(0, 1e6)
USAGE = st.builds(Usage, prompt_tokens=COUNT, completion_tokens=COUNT, cache_read_tokens=COUNT, reasoning_tokens=COUNT)
JSON = st.dictionaries(
    TEXT, st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | TEXT | st.lists(TEXT, max_size=2), max_size=3
)
ID = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
ANSWER = st.builds(
    ArmAnswer,
    question_id=ID,
    arm=ID,
    draw=st.integers(0, 99),
    state=st.sampled_from(["answered", "no_answer", "failed"]),
    answer=st.none() | TEXT,
    raw_answer=st.none() | TEXT,
    reason=st.none() | TEXT,
    same_call=st.booleans(),
    context_chunks=st.lists(
        st.builds(ContextChunk, source=TEXT, snippet=TEXT, relevance_score=st.none() | st.floats(0, 1)), max_size=2
    ).map(tuple),
    usage=USAGE,
    cost_usd=USD,
    calls=st.integers(0, 3),
    metadata=JSON,
)
VOTE = st.builds(PanelVote, role=ID, points=st.none() | st.floats(0, 100), reason=st.none() | TEXT, raw_reply=st.none() | TEXT, notes=JSON)
PANEL = st.builds(
    PanelVerdict,
    votes=st.lists(VOTE, max_size=3).map(tuple),
    sd_points=st.none() | st.floats(0, 71),
    agreement=st.none() | st.floats(0, 1),
    flagged=st.booleans(),
)
JUDGEMENT = st.builds(
    Judgement,
    task_id=ID,
    points=st.none() | st.floats(0, 100),
    reason=st.none() | TEXT,
    dimensions=st.dictionaries(ID, st.floats(0, 100), max_size=2),
    caps=JSON,
    unread_claims=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    raw_reply=st.none() | TEXT,
    notes=JSON,
    usage=USAGE,
    cost_usd=USD,
    panel=st.none() | PANEL,
)


@given(st.lists(ANSWER, max_size=4))
def test_answers_come_back_as_they_were_and_equal_answers_are_equal_bytes(answers: list[ArmAnswer]) -> None:
    data = ANSWERS.write(answers)
    assert list(ANSWERS.read(data)) == answers
    assert ANSWERS.write(answers) == data


@given(st.lists(st.builds(JudgedScore, question_id=ID, arm=ID, draw=st.integers(0, 9), judgement=JUDGEMENT), max_size=4))
def test_scores_come_back_as_they_were_and_so_do_their_points_alone(scores: list[JudgedScore]) -> None:
    data = SCORES.write(scores)
    assert list(SCORES.read(data)) == scores
    points = [(score.question_id, score.arm, score.draw, score.judgement.points, score.judgement.reason) for score in scores]
    assert list(read_score_points(data)) == points


@given(st.lists(TEXT | st.builds("\x00surrogates:{}".format, TEXT), max_size=4))
def test_texts_come_back_by_digest_lone_surrogates_nul_and_our_own_escape_included(texts: list[str]) -> None:
    by_digest = {text_digest(text): text for text in texts}
    assert read_texts(texts_table(by_digest)) == by_digest


def test_the_awkward_texts_of_pitfall_t02_come_back_with_the_digest_of_the_whole_text(awkward_texts: list[str]) -> None:
    assert max(map(len, awkward_texts)) == 2**20
    by_digest = {text_digest(text): text for text in awkward_texts}
    assert read_texts(texts_table(by_digest)) == by_digest
    answers = [
        ArmAnswer(question_id=str(number), arm="a", draw=0, state="answered", answer=text) for number, text in enumerate(awkward_texts)
    ]
    assert [answer.answer for answer in ANSWERS.read(ANSWERS.write(answers))] == awkward_texts


def test_a_text_that_is_not_what_its_digest_names_is_refused() -> None:
    data = TEXTS.write([Text(digest=text_digest("a"), text="b")])
    with pytest.raises(DigestMismatchError, match="is not the text that was written"):
        read_texts(data)


def test_timings_keep_unknown_unknown() -> None:
    timings = [
        CallTiming(question_id="q", arm="a", draw=0, latency_seconds=None, time_to_first_token_seconds=None, replayed=False),
        CallTiming(question_id="q", arm="a", draw=1, latency_seconds=0.0, time_to_first_token_seconds=0.25, replayed=True),
    ]
    assert list(TIMINGS.read(TIMINGS.write(timings))) == timings


@pytest.mark.parametrize("table", [ANSWERS, SCORES, TIMINGS, TEXTS])
def test_an_empty_table_has_its_columns_and_no_rows(table) -> None:  # type: ignore[no-untyped-def]
    data = table.write([])
    assert list(table.read(data)) == []
    assert pq.read_schema(io.BytesIO(data)).names == table.schema().names


def test_scores_of_an_earlier_version_without_a_column_for_panels_are_read() -> None:
    scores = [score(1, 50.0), score(2, None)]
    earlier = io.BytesIO()
    pq.write_table(pq.read_table(io.BytesIO(SCORES.write(scores))).drop_columns(["panel"]), earlier)
    assert list(SCORES.read(earlier.getvalue())) == scores


def score(number: int, points: float | None) -> JudgedScore:
    return JudgedScore(question_id=str(number), arm="a", draw=0, judgement=Judgement(task_id=str(number), points=points))


def test_a_column_that_is_all_null_in_one_shard_is_a_double_in_both() -> None:
    """Pitfall D06."""
    shards = [SCORES.write([score(1, None)]), SCORES.write([score(2, 0.5)])]
    assert [pq.read_schema(io.BytesIO(shard)).field("points").type for shard in shards] == [pa.float64(), pa.float64()]
    together = pa.concat_tables([pq.read_table(io.BytesIO(shard)) for shard in shards])
    assert together.column("points").to_pylist() == [None, 0.5]


def test_nan_never_gets_into_a_record_so_it_cannot_come_back_as_something_else() -> None:
    """Pitfall J07: a NaN that reloads as None, and is then averaged as 0."""
    for points in (math.nan, math.inf):
        with pytest.raises(ValidationError):
            score(1, points)
        with pytest.raises(ValidationError):
            Judgement(task_id="1", dimensions={"style": points})
