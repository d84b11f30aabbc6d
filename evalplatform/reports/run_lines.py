"""What is wrong with runs, as lines of text."""

from collections.abc import Iterator, Sequence

from evalplatform.kernel.text import plural
from evalplatform.reports.batch_comparison_words import outcome_words
from evalplatform.reports.visible import one_line, with_visible_spaces
from evalplatform.runs.records import Run

MAX_SHOWN_LINES = 20
MAX_SHOWN_REASONS = 3


def run_failure_lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a line for each way a scenario did not pass, with its runs and their reason; of many the first, and how many runs are left.

    Runs that were never made have one line for all of them, the last.
    """
    groups: dict[tuple[str, str, str | None], list[Run]] = {}
    for run in runs:
        if run.outcome != "passed" and run.was_made:
            groups.setdefault((run.scenario_id, outcome_words(run.outcome, run.leg), run.reason), []).append(run)
    not_made = [run for run in runs if not run.was_made]
    if groups or not_made:
        yield ""
        yield "did not pass:"
    listed = list(groups.items())
    for (scenario_id, outcome, reason), alike in listed[:MAX_SHOWN_LINES]:
        yield f"  {one_line(f'{with_visible_spaces(scenario_id)} {_numbers(alike)}: {outcome}{_because(reason)}')}"
    if left := sum(len(alike) for _, alike in listed[MAX_SHOWN_LINES:]):
        yield f"  and {left:,} more; --json names them all"
    if not_made:
        said = f"{plural(len(not_made), 'run')} not made{_because(_reasons(not_made))}"
        yield f"  {one_line(said)}"


def _because(reason: str | None) -> str:
    return "" if reason is None else f": {reason}"


def _numbers(runs: Sequence[Run]) -> str:
    """Return `run 2`, or of several `(runs 1-4)`, `(runs 1-2, 4)`: from 1, as they are counted."""
    spans: list[list[int]] = []
    for number in sorted(run.order + 1 for run in runs):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    said = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in spans)
    return f"run {said}" if len(runs) == 1 else f"(runs {said})"


def _reasons(runs: Sequence[Run]) -> str | None:
    """Return the reasons of several runs, each once; of many the first."""
    reasons = list(dict.fromkeys(run.reason for run in runs if run.reason is not None))
    more = f"; and {len(reasons) - MAX_SHOWN_REASONS:,} more" if len(reasons) > MAX_SHOWN_REASONS else ""
    return "; ".join(reasons[:MAX_SHOWN_REASONS]) + more if reasons else None
