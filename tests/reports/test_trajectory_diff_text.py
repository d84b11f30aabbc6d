"""A trajectory diff in words."""

import pytest

from evalplatform.reports.trajectory_diff_text import first_divergence_words, trajectory_diff_lines
from evalplatform.runs.trajectory import ToolCallStep, Trajectory
from evalplatform.runs.trajectory_diff import diff_trajectories
from tests.support.trajectories import trajectory_of

OTHER_ARGUMENTS = "  steps 2-3 · refund with other arguments"


def lines(a: str, b: str) -> tuple[str, ...]:
    return trajectory_diff_lines(diff_trajectories(trajectory_of(a), trajectory_of(b)))


def test_a_call_and_its_result_are_one_line() -> None:
    assert lines("user agent escalate_to_human agent files", "user agent issue_refund agent files") == (
        "1 differing step",
        "First divergence at step 3: escalate_to_human → issue_refund.",
        "  steps 3-4 · escalate_to_human → issue_refund",
    )


@pytest.mark.parametrize(
    ("a", "b", "line"),
    [
        ("user escalate", "user", "  steps 2-3 · escalate missing in B"),
        ("user", "user escalate!", "  step 2 · escalate missing in A"),
        ("user lookup&refund", "user lookup&escalate", "  steps 3 and 5 · refund → escalate"),
        ("user agent refund", "user escalate", "  steps 3-4 of A, steps 2-3 of B · refund → escalate"),
        ('user refund{"id":1}', 'user refund{"id":"1"}', f"{OTHER_ARGUMENTS} (/id: number in A only; /id: string in B only)"),
        ("user refund{}", 'user refund{"a":{}}', f"{OTHER_ARGUMENTS} (/a: object in B only)"),
        ("user refund!", "user refund", "  step 2 of A, steps 2-3 of B · result of refund missing in A"),
        (
            "user refund{}",
            'user refund{"a":1}!',
            "  steps 2-3 of A, step 2 of B · refund with other arguments (/a: number in B only), no result in B",
        ),
        ("user refund!", "user escalate", "  step 2 of A, steps 2-3 of B · refund → escalate, no result in A"),
        ("user system", "user agent", "  step 2 · system message → agent message (without a call)"),
        ("user files:a", "user files:b", "  step 2 · other files changed (modified a in A only; modified b in B only)"),
    ],
)
def test_each_change_is_named_by_its_steps_and_its_tools(a: str, b: str, line: str) -> None:
    assert line in lines(a, b)


def test_a_missing_reply_is_told_apart_from_what_the_agent_says_beside_a_call() -> None:
    found = lines("user agent user lookup", "user agent lookup")
    assert "  step 2 · agent message (without a call) missing in B" in found
    assert found[1] == "First divergence at step 2: agent message (without a call) missing in B."


def test_runs_without_a_difference_say_so_and_what_was_not_compared() -> None:
    assert lines("user lookup files", "user lookup files") == ("No differing step",)
    assert lines("user lookup files", "user lookup")[1:] == ("The files are unchecked: run B recorded no file state.",)
    assert lines("user lookup", "user lookup files")[1:] == ("The files are unchecked: run A recorded no file state.",)
    assert lines("user", "user")[1:] == ("The files are unchecked: neither run recorded a file state.",)


def test_the_first_divergence_can_name_its_scenario() -> None:
    def words(a: str, b: str) -> str:
        return first_divergence_words(diff_trajectories(trajectory_of(a), trajectory_of(b)), scenario_id="refund-over-threshold")

    assert words("user lookup", "user") == "First divergence at step 2 in refund-over-threshold: lookup missing in B."
    assert words("user agent a", "user b") == "First divergence at step 3 of A and step 2 of B in refund-over-threshold: a → b."
    assert words("user", "user") == "No divergence in refund-over-threshold: both runs took the same steps."


def test_what_an_agent_called_a_tool_can_neither_hide_nor_flood_the_line() -> None:
    call = ToolCallStep(call_id="1", tool="\u202eevil\n" + "x" * 5000, arguments_text="{}")
    (_, _, line, _) = trajectory_diff_lines(diff_trajectories(Trajectory(steps=(call,)), Trajectory(steps=())))
    assert line.startswith("  step 1 · ⟨U+202E⟩evil xxx")
    assert len(line) < 120


def test_of_many_differing_keys_the_first_are_named() -> None:
    many = ",".join(f'"k{n}":1' for n in range(9))
    assert "/k3: number and 5 more in B only" in lines("user refund", f"user refund{{{many}}}")[2]
