"""The history of a branch as a baseline: of each scenario its newest graded live runs, as far back as they are of one kind."""

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from evalplatform.comparisons.batches.scenario_pairs import BatchRuns, scenario_sides
from evalplatform.gates.records import MOST_POOLED_RUNS, HistoryPool, PoolStop
from evalplatform.kernel.values import Value
from evalplatform.runs.records import BatchHeader, Run
from evalplatform.stats.change_point import runs_since_change

MOST_BATCHES = 50
"""So many batches are read at most, also where a scenario's pool is not full by then: one that is new has no runs in any of them."""

Identity = tuple[str, str | None, str]


class History(Value):
    """The pools of scenarios, by id, and the batches that were read for them, newest first.

    Those are what a gate pins: pooling exactly these again gives the same pools. A batch that only ended a pool is among them: without it,
    the pool would not end there.
    """

    pools: dict[str, HistoryPool]
    batches: tuple[str, ...] = ()


class _Pooled(NamedTuple):
    """One pooled run: whether it passed, and the batch it is of."""

    passed: bool
    batch_id: str


class _Pool:
    """Takes in the runs of one scenario, newest first, until something ends it."""

    def __init__(self) -> None:
        self._runs: list[_Pooled] = []
        self._identity: Identity | None = None
        self.stop: PoolStop | None = None

    def add(self, batch_id: str, identity: Identity, newest_first: Iterable[Run]) -> None:
        """Take in the graded runs of an older batch, as far as the pool goes."""
        for run in newest_first:
            if self.stop is not None:
                return
            if self._identity is None:
                self._identity = identity
            if identity != self._identity:
                self.stop = "identity"
                return
            self._runs.append(_Pooled(run.verdict == "passed", batch_id))
            if len(self._runs) == MOST_POOLED_RUNS:
                self.stop = "limit"

    def pool(self) -> HistoryPool:
        """Return the pool, cut where its own results changed."""
        kept, stop = self._runs, self.stop or "end"
        since_change = runs_since_change([run.passed for run in reversed(kept)])
        if since_change is not None:
            kept, stop = kept[:since_change], "change"
        return HistoryPool(
            newest_first=tuple(run.passed for run in kept), stop=stop, batches=tuple(dict.fromkeys(run.batch_id for run in kept))
        )


def pooled_history(newest_first: Iterable[BatchRuns], scenario_ids: Collection[str]) -> History:
    """Pool the runs of scenarios from batches of one branch.

    A pool holds the graded live runs, at most 20, and ends at the first run whose batch has another agent, model or judge than the newest
    pooled one. Where its results changed it is cut there, so that no run from before a change stands beside one from after it. Batches are
    read only until every pool has ended, and never more than 50.

    Args:
        newest_first: the batches, each recording once, by when they were recorded.
        scenario_ids: the scenarios that a history is asked of.

    Returns:
        A pool for each scenario that has a run in them.

    Raises:
        InputError: the runs of a batch are not in order.
    """
    pools: dict[str, _Pool] = {scenario_id: _Pool() for scenario_id in scenario_ids}
    order: list[str] = []
    for side in islice(newest_first, MOST_BATCHES):
        if all(pool.stop is not None for pool in pools.values()):
            break
        order.append(side.batch.id)
        identity = identity_of(side.batch.header)
        for scenario_id, found in scenario_sides(side):
            if scenario_id in pools:
                pools[scenario_id].add(side.batch.id, identity, live_graded_newest_first(found.runs))
    found_pools = {scenario_id: pool.pool() for scenario_id, pool in sorted(pools.items())}
    return History(pools={scenario_id: pool for scenario_id, pool in found_pools.items() if pool.newest_first}, batches=tuple(order))


def identity_of(header: BatchHeader) -> Identity:
    """Return what runs must have in common to be pooled: agent, model, judge."""
    return header.agent, header.model, header.judge


def live_graded_newest_first(runs: Sequence[Run]) -> list[Run]:
    """Return the live runs that have a verdict, the most recent first."""
    return [run for run in reversed(runs) if run.leg == "live" and run.verdict is not None]
