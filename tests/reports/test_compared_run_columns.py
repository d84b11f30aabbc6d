"""Rows gathered by column are those gathered row by row, and what is not plain is left to the reader by rows."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.comparisons.compared_run import CostFigures
from evalplatform.kernel.errors import InputError
from evalplatform.reports.arms_v1_file import loaded_json
from evalplatform.reports.arms_v1_wire import WireHead
from evalplatform.reports.compared_run_columns import rows_by_column
from evalplatform.reports.compared_run_file import compared_run_of
from evalplatform.reports.compared_run_rows import FileRows, rows_one_by_one
from tests.support.model_runs import Points, arms_file

CASES = sorted((Path(__file__).parents[1] / "cases/treatment-arms").glob("*/arms.json"))
POINTS: Points = {"baseline": [50.0, None, 61.5], "docs": [58.0, 66.0, 0.0]}
DIGEST = "sha256:" + "a" * 64

ANSWER = st.fixed_dictionaries(
    {"answer": st.none() | st.text(max_size=3)},
    optional={
        "error": st.none() | st.just("generation_failed: late"),
        "used_system_prompt": st.none() | st.booleans(),
        "raw_answer": st.none() | st.text(max_size=3) | st.just(5),
        "judge_context_sha256": st.none() | st.just(DIGEST),
        "metadata": st.sampled_from([None, {}, {"profile_prompt_sha256": DIGEST}, {"treatments": [{"profile_prompt_sha256": DIGEST}]}]),
        "metrics": st.none()
        | st.fixed_dictionaries(
            {}, optional={key: st.sampled_from([None, 4, 4.5, "4", True]) for key in ("raw_answer_chars", "final_answer_chars")}
        ),
    },
)
SCORE = st.none() | st.fixed_dictionaries(
    {}, optional={"aggregate": st.none() | st.integers(0, 100) | st.floats(0, 100), "error": st.sampled_from([None, "late: x", "other"])}
)
LEVEL = st.sampled_from([None, "easy", 2, 1.5])


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    """Return any file that is as the format has it: arms and evaluations may be missing."""
    ids = draw(st.lists(st.integers(0, 20) | st.text(min_size=1, max_size=2), min_size=1, max_size=5, unique_by=str))
    arms, is_whole = ("baseline", "docs"), draw(st.booleans())
    shown = st.just(arms) if is_whole else st.sampled_from([arms, ("baseline",), ()])
    file = arms_file({arm: [1.0] for arm in arms}, cluster_field=draw(st.sampled_from([None, "topic"])))
    file["answers"] = [
        {
            "question_id": name,
            "question_text": draw(st.text(max_size=3)),
            "difficulty": draw(LEVEL),
            "cluster": draw(st.sampled_from(["one", "two"])),
            "ground_truth_chunk": draw(st.none() | st.text(max_size=3)),
            "arms": {arm: draw(ANSWER) for arm in draw(shown)},
        }
        for name in ids
    ]
    judged = ids if is_whole else draw(st.permutations(ids))[: draw(st.integers(0, len(ids)))]
    file["evaluations"] = [
        {"question_id": name, "difficulty": draw(LEVEL), "scores": {arm: draw(SCORE) for arm in draw(shown)}} for name in judged
    ]
    return file


def as_values(rows: FileRows) -> dict[str, Any]:
    arms = {arm: of_arm.arm(CostFigures()) for arm, of_arm in rows.arms.items()}
    orders = (list(rows.question_texts), rows.evaluation_ids)
    return {**vars(rows), "arms": arms, "orders": orders}


@given(file=files())
def test_what_is_gathered_by_column_is_what_is_gathered_row_by_row(file: dict[str, Any]) -> None:
    head = WireHead.model_validate(file)
    by_row, by_column = rows_one_by_one(head, Path("a.json"), lengths=True), rows_by_column(head, lengths=True)
    all_arms = all(len(row["arms"]) == 2 for row in head.answers) and all(len(row["scores"]) == 2 for row in head.evaluations or [])
    assert (by_column is not None) == all_arms, "a file with every arm in every row is not read slowly"
    if by_column is not None:
        assert as_values(by_column) == as_values(by_row)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_a_case_is_read_by_column(path: Path) -> None:
    head = WireHead.model_validate(loaded_json(path))
    found = rows_by_column(head, lengths=True)
    assert found is not None
    assert as_values(found) == as_values(rows_one_by_one(head, path, lengths=True))


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file["answers"][0].pop("question_id"),
        lambda file: file["answers"][0].update(ground_truth_chunk=4),
        lambda file: file["answers"][0]["arms"]["docs"].update(judge_context_sha256=4),
        lambda file: file["answers"][0]["arms"].update(other={}),
        lambda file: file["evaluations"][0]["scores"]["docs"].update(aggregate=float("nan")),
        lambda file: file["evaluations"][0]["scores"]["docs"].update(aggregate=True),
        lambda file: file["evaluations"].append(3),
        lambda file: file.update(cluster_field="topic"),
    ],
)
def test_what_is_wrong_is_left_to_the_reader_that_says_where(change: Change) -> None:
    file = copy.deepcopy(arms_file(POINTS))
    change(file)
    assert rows_by_column(WireHead.model_validate(file), lengths=True) is None
    with pytest.raises(InputError, match=r"a\.json: (answers|evaluations)\.\d"):
        compared_run_of(file, path=Path("a.json"), name="a")


def test_lengths_are_read_only_where_they_are_asked_for() -> None:
    plain, odd = arms_file(POINTS), arms_file(POINTS)
    del odd["answers"][0]["arms"]["baseline"]
    for file in (plain, odd):
        run = compared_run_of(file, path=Path("a.json"), name="a", lengths=False)
        assert (run.arms["docs"].raw_answer_chars, run.arms["docs"].final_answer_chars) == ({}, {})
        assert run.arms["docs"].points == {"q0": 58.0, "q1": 66.0, "q2": 0.0}
