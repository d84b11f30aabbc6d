"""What is wrong with runs, as lines of text."""

from collections.abc import Iterator, Sequence

from evalplatform.reports.batch_comparison_words import outcome_words
from evalplatform.reports.visible import one_line, with_visible_spaces
from evalplatform.runs.records import Run

MAX_SHOWN_RUNS = 20


def run_failure_lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a line for each run that did not pass, with its reason; of many the first, and how many more there are."""
    failed = [run for run in runs if run.outcome != "passed"]
    if failed:
        yield ""
        yield "did not pass:"
    for run in failed[:MAX_SHOWN_RUNS]:
        reason = "" if run.reason is None else f": {run.reason}"
        yield f"  {one_line(f'{with_visible_spaces(run.scenario_id)} run {run.order + 1}: {outcome_words(run.outcome, run.leg)}{reason}')}"
    if (left := len(failed) - MAX_SHOWN_RUNS) > 0:
        yield f"  and {left:,} more; --json names them all"
