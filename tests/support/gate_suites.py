"""Suites of scenarios for tests of a gate's decision."""

from collections.abc import Iterable, Sequence
from random import Random

from hypothesis import strategies as st

from evalplatform.gates.records import GateScenario
from evalplatform.runs.records import GateTier
from evalplatform.stats.pass_counts import PassCount

Table = tuple[int, int, int, int]
"""Passes and graded runs of the baseline, then of the candidate."""


def pass_count(passed: int, graded: int) -> PassCount:
    return PassCount(passed=passed, graded=graded)


def gated(scenario_id: str, table: Table, tier: GateTier = "standard") -> GateScenario:
    """A scenario that both batches declare alike, with the passes of a table."""
    before, after = pass_count(*table[:2]), pass_count(*table[2:])
    return GateScenario(scenario_id=scenario_id, baseline_tier=tier, candidate_tier=tier, baseline=before, candidate=after)


def suite_of(made: Iterable[Table], tier: GateTier = "standard") -> list[GateScenario]:
    """A scenario a table, named by place."""
    return [gated(f"s{place:03d}", table, tier) for place, table in enumerate(made)]


def tables(most_runs: int = 12) -> st.SearchStrategy[Table]:
    """Any table with up to so many runs a side, at least one."""
    runs = st.tuples(st.integers(1, most_runs), st.integers(1, most_runs))
    return runs.flatmap(lambda n: st.tuples(st.integers(0, n[0]), st.just(n[0]), st.integers(0, n[1]), st.just(n[1])))


def drawn_suite(rates: Sequence[float], *, runs: tuple[int, int], random: Random) -> list[GateScenario]:
    """A suite in which nothing changed: both sides of each scenario are drawn from its one pass rate."""
    passes = [tuple(sum(random.random() < rate for _ in range(side)) for side in runs) for rate in rates]
    return suite_of((before, runs[0], after, runs[1]) for before, after in passes)
