"""The list of runs that did not pass, as `evalplatform run` prints it."""

from datetime import UTC, datetime

from evalplatform.reports.run_lines import MAX_SHOWN_LINES, run_failure_lines
from evalplatform.runs.records import Outcome, Run

AT = datetime(2026, 5, 1, tzinfo=UTC)


def run(scenario_id: str, order: int, outcome: Outcome, reason: str | None = None, *, steps: int = 2) -> Run:
    digest = f"sha256:{'0' * 64}" if steps else None
    return Run(
        scenario_id=scenario_id, order=order, created_at=AT, outcome=outcome, reason=reason, step_count=steps, trajectory_digest=digest
    )


def not_made(scenario_id: str, order: int, reason: str = "the spend cap was reached") -> Run:
    return run(scenario_id, order, "ungraded", reason, steps=0)


def test_runs_that_all_passed_have_no_line() -> None:
    assert list(run_failure_lines([run("a", 0, "passed")])) == []


def test_runs_of_one_scenario_with_one_reason_share_a_line() -> None:
    runs = [run("a", order, "failed", "no refund") for order in (0, 1, 3)]
    runs += [run("a", 2, "failed", "no word"), run("b", 0, "harness_error", "connection refused", steps=0), run("c", 0, "passed")]
    assert list(run_failure_lines(runs)) == [
        "",
        "did not pass:",
        "  a (runs 1-2, 4): failed: no refund",
        "  a run 3: failed: no word",
        "  b run 1: could not run (harness): connection refused",
    ]


def test_runs_that_were_never_made_stand_last_in_one_line() -> None:
    runs = [not_made("a", 0), not_made("a", 1), run("b", 0, "failed", "no refund"), not_made("c", 0), run("d", 0, "ungraded", "no check")]
    assert list(run_failure_lines(runs))[2:] == [
        "  b run 1: failed: no refund",
        "  d run 1: ungraded: no check",
        "  3 runs not made: the spend cap was reached",
    ]


def test_of_many_lines_the_first_are_shown_and_the_runs_of_the_others_counted() -> None:
    runs = [run(f"s{number:02}", order, "failed", "no") for number in range(MAX_SHOWN_LINES + 2) for order in range(2)]
    lines = list(run_failure_lines([*runs, *(not_made("z", order, f"why {order}") for order in range(5))]))
    assert len(lines) == 2 + MAX_SHOWN_LINES + 2
    assert lines[-2:] == ["  and 4 more; --json names them all", "  5 runs not made: why 0; why 1; why 2; and 2 more"]
