"""Where two runs part, and what each change is called."""

import pytest

from evalplatform.runs import alignment
from evalplatform.runs.trajectory_diff import TrajectoryDiff, diff_trajectories
from tests.support.trajectories import trajectory_of

Told = tuple[str, str | None, tuple[int, ...] | None, str | None, tuple[int, ...] | None]


def diff(a: str, b: str) -> TrajectoryDiff:
    return diff_trajectories(trajectory_of(a), trajectory_of(b))


def told(found: TrajectoryDiff) -> list[Told]:
    """Each change: its kind, and for each side its tool or role and its steps."""
    return [
        (
            change.kind,
            None if change.a is None else change.a.tool or change.a.subject,
            None if change.a is None else change.a.steps,
            None if change.b is None else change.b.tool or change.b.subject,
            None if change.b is None else change.b.steps,
        )
        for change in found.changes
    ]


def test_another_tool_at_the_same_place_is_one_change_on_the_call_and_its_result() -> None:
    assert told(diff("user agent escalate agent", "user agent refund agent")) == [("changed", "escalate", (3, 4), "refund", (3, 4))]


def test_a_call_that_one_run_did_not_make_is_missing_there() -> None:
    assert told(diff("user escalate agent", "user agent")) == [("missing_in_b", "escalate", (2, 3), None, None)]
    assert told(diff("user agent", "user escalate agent")) == [("missing_in_a", None, None, "escalate", (2, 3))]


def test_other_arguments_are_told_by_their_shape() -> None:
    (change,) = diff('user refund{"id":1,"note":"x"}', 'user refund{"id":"1"}').changes
    assert (change.kind, change.only_in_a, change.only_in_b) == ("arguments_changed", ("/id: number", "/note: string"), ("/id: string",))


def test_other_values_and_other_words_are_no_change() -> None:
    a, b = trajectory_of('user refund{"id":1} agent', prose="yes"), trajectory_of('user refund{"id":2} agent', prose="no")
    assert diff_trajectories(a, b).changes == ()


def test_parallel_calls_are_named_with_their_own_results() -> None:
    assert told(diff("user lookup&refund", "user lookup&escalate")) == [("changed", "refund", (3, 5), "escalate", (3, 5))]


def test_the_mark_sits_on_the_call_and_not_on_the_message_beside_it() -> None:
    first = diff("user agent escalate agent", "user refund agent").first_divergence
    assert first is not None
    assert first.a is not None
    assert first.b is not None
    assert (first.a.steps, first.b.steps) == ((3, 4), (2, 3))


def test_where_one_run_calls_and_the_other_writes_the_call_comes_first() -> None:
    found = told(diff("user agent user", "user escalate"))
    assert [kind for kind, *_ in found] == ["missing_in_a", "missing_in_b", "missing_in_b"]
    assert found[0][3] == "escalate"


def test_a_call_without_an_answer_differs_by_its_result() -> None:
    assert told(diff("user refund", "user refund! agent")) == [
        ("result_missing_in_b", "refund", (2, 3), "refund", (2,)),
        ("missing_in_a", None, None, "assistant", (3,)),
    ]


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("user refund", "user refund!", "result_missing_in_b"),
        ('user refund{"id":1}', 'user refund{"note":1}!', "arguments_changed"),
        ("user refund", "user escalate!", "changed"),
    ],
)
def test_a_missing_result_is_named_whatever_else_differs_between_the_calls(a: str, b: str, kind: str) -> None:
    (change,) = diff(a, b).changes
    assert (change.kind, change.result_missing_in) == (kind, "b")
    (other_way,) = diff(b, a).changes
    assert other_way.result_missing_in == "a"
    assert other_way == change.mirrored


def test_an_extra_exchange_shifts_nothing_behind_it() -> None:
    found = diff("user agent user refund agent", "user agent user agent user refund agent")
    assert told(found) == [("missing_in_a", None, None, "assistant", (4,)), ("missing_in_a", None, None, "user", (5,))]


def test_the_file_changes_are_compared_with_each_other_whatever_stands_between() -> None:
    found = diff("user refund files:a.txt", "user refund agent user agent files:b.txt")
    assert told(found)[-1] == ("files_changed", "file_change", (4,), "file_change", (7,))
    assert (found.changes[-1].only_in_a, found.changes[-1].only_in_b) == (("modified a.txt",), ("modified b.txt",))
    assert diff("user files:a.txt", "user agent files:a.txt").file_state == "alike"


@pytest.mark.parametrize(
    ("a", "b", "state"),
    [
        ("user files:a.txt", "user", "unchecked_in_b"),
        ("user", "user files", "unchecked_in_a"),
        ("user", "user", "unchecked"),
        ("user files", "user files", "alike"),
    ],
)
def test_a_run_without_file_state_is_unchecked_and_no_change(a: str, b: str, state: str) -> None:
    found = diff(a, b)
    assert (found.file_state, found.changes) == (state, ())


def test_runs_that_share_nothing_are_told_step_by_step() -> None:
    assert diff("", "user refund").differing_steps == 2
    assert diff("lookup lookup", "refund").differing_steps == 2


def test_runs_too_different_to_align_are_paired_place_by_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "MAX_CELLS", 5)
    assert told(diff("user lookup refund agent", "user refund lookup escalate agent")) == [
        ("changed", "lookup", (2, 3), "refund", (2, 3)),
        ("changed", "refund", (4, 5), "lookup", (4, 5)),
        ("missing_in_a", None, None, "escalate", (6, 7)),
    ]


def test_thousands_of_steps_that_share_little_are_aligned() -> None:
    a, b = " ".join(["lookup", "agent", "user"] * 500), " ".join(["refund", "user", "escalate"] * 500)
    found = diff(a, b)
    assert found.differing_steps >= 1000
    assert diff(b, a) == found.mirrored
