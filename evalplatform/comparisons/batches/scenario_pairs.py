"""Two batches side by side, one scenario at a time: a merge of two ordered streams that holds one scenario's runs at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from evalplatform.comparisons.batches.records import RunSetCount
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.text import plural
from evalplatform.runs.records import Batch, PlannedScenario, Run
from evalplatform.stats.pass_counts import PassCount


class BatchRuns(NamedTuple):
    """A batch, and how to read its runs: in the order of scenario id (code points), then run order, as stores give them."""

    batch: Batch
    runs: Callable[[], Iterator[Run]]


class ScenarioSide(NamedTuple):
    """One scenario in one batch: what was declared of it (None: nothing) and its runs in their order, which may be none."""

    planned: PlannedScenario | None
    runs: tuple[Run, ...]

    @property
    def compared_run(self) -> Run | None:
        """The most recent run that was not left ungraded; None where there is none."""
        return compared_run_of(self.runs)


class ScenarioPair(NamedTuple):
    """One scenario in both batches; a side is None where that batch does not have it."""

    scenario_id: str
    baseline: ScenarioSide | None
    candidate: ScenarioSide | None


def scenario_pairs(baseline: BatchRuns, candidate: BatchRuns) -> Iterator[ScenarioPair]:
    """Iterate over the scenarios of two batches by id: those that have runs and those that are declared and have none.

    Raises:
        InputError: the runs of a batch are not in order, with the scenario, or not all of a whole batch.
    """
    sides = (scenario_sides(baseline), scenario_sides(candidate))
    heads = [next(side, None) for side in sides]
    while any(heads):
        scenario_id = min(head[0] for head in heads if head)
        found = [head[1] if head and head[0] == scenario_id else None for head in heads]
        yield ScenarioPair(scenario_id, *found)
        heads = [next(side, None) if head and head[0] == scenario_id else head for side, head in zip(sides, heads, strict=True)]


def compared_run_of(runs: Sequence[Run]) -> Run | None:
    """Return the run of a scenario that comparisons take: the most recent one that was not left ungraded; None where there is none."""
    return next((run for run in reversed(runs) if run.outcome != "ungraded"), None)


def run_set_count(side: ScenarioSide, *, is_compacted: bool = False) -> RunSetCount:
    """Count a scenario's runs in one batch.

    Args:
        side: its runs, and how many were planned.
        is_compacted: the batch keeps the compared run of each scenario; the others are not missing, they were made and dropped. A pinned
            run that it keeps beside that one is not counted: it was chosen since it passed, and would raise the rate.
    """
    if is_compacted:
        compared = side.compared_run
        side = side._replace(runs=side.runs[-1:] if compared is None else (compared,))
    made = [run.outcome for run in side.runs if run.was_made]
    not_made = len(side.runs) - len(made)
    return RunSetCount(
        passes=PassCount(passed=made.count("passed"), graded=sum(run.verdict is not None for run in side.runs)),
        could_not_run=made.count("harness_error"),
        ungraded=made.count("ungraded"),
        budget_stops=made.count("budget_stop"),
        missing=not_made if is_compacted else max(not_made, _planned_runs(side) - len(made)),
    )


def scenario_sides(side: BatchRuns) -> Iterator[tuple[str, ScenarioSide]]:
    """Iterate over one batch's scenarios by id: those that have runs and those that are declared and have none.

    Raises:
        InputError: the runs are not in order, with the scenario; or, after the last scenario, they are not all of a whole batch.
    """
    declared = side.batch.header.scenarios
    waiting = iter(sorted(declared))
    next_declared = next(waiting, None)
    for scenario_id, group in groupby(_in_order(side.runs(), side.batch), key=attrgetter("scenario_id")):
        while next_declared is not None and next_declared < scenario_id:
            yield next_declared, ScenarioSide(declared[next_declared], ())
            next_declared = next(waiting, None)
        if next_declared == scenario_id:
            next_declared = next(waiting, None)
        yield scenario_id, ScenarioSide(declared.get(scenario_id), tuple(group))
    while next_declared is not None:
        yield next_declared, ScenarioSide(declared[next_declared], ())
        next_declared = next(waiting, None)


def _planned_runs(side: ScenarioSide) -> int:
    """Return how many runs there should be; a recorded trajectory is replayed once, however many live runs were asked for."""
    if side.planned is None:
        return 0
    return 1 if side.planned.leg == "replay" else side.planned.planned_runs


def _in_order(runs: Iterable[Run], batch: Batch) -> Iterator[Run]:
    last: tuple[str, int] | None = None
    found = 0
    for run in runs:
        place = (run.scenario_id, run.order)
        if last is not None and place <= last:
            raise InputError(
                f"the runs of {batch.id} are not in the order of scenario and run: "
                f"run {run.order} of {run.scenario_id!r} comes after run {last[1]} of {last[0]!r}."
            )
        last = place
        found += 1
        yield run
    if batch.retention == "whole" and found != batch.run_count:
        raise InputError(
            f"{batch.id} was recorded with {plural(batch.run_count, 'run')}, and {found:,} were read: retention took runs out of it "
            "meanwhile, or the store has lost some. Read it again."
        )
