"""Batches for property tests: a few scenarios with a few runs each, in every state that a run can be in."""

from typing import Any, get_args

from hypothesis import strategies as st

from evalplatform.runs.records import Outcome, PlannedScenario
from evalplatform.runs.tolerance import STRICTEST_FIRST
from tests.support.batch_runs import not_made, run

SCENARIO_IDS = ("B", "a", "b", "é", "\U0001f600")
"""Few, so that two batches share most of them; their order by code points is no alphabet's."""

GRADED: tuple[Outcome, ...] = ("passed", "failed", "agent_error", "budget_stop")
TOLERANCES = st.sampled_from([None, *STRICTEST_FIRST])
TOOL_PATHS = st.lists(st.sampled_from(["lookup", "refund", "escalate"]), max_size=4)
VIOLATIONS = st.none() | st.dictionaries(st.sampled_from(["no SSN", "no card"]), st.integers(1, 9), max_size=2)


def run_facts(outcomes: tuple[Outcome, ...] = get_args(Outcome)) -> st.SearchStrategy[dict[str, Any]]:
    """Facts of one run."""
    made = st.builds(
        run,
        st.sampled_from(outcomes),
        tools=TOOL_PATHS,
        violations=VIOLATIONS,
        score_points=st.sampled_from([None, 0.0, 50.0, 100.0]),
    )
    return made | st.builds(not_made) if "ungraded" in outcomes else made


def scenarios(
    *, outcomes: tuple[Outcome, ...] = get_args(Outcome), min_runs: int = 0, min_scenarios: int = 0
) -> st.SearchStrategy[dict[str, list[dict[str, Any]]]]:
    """Scenarios with their runs, in an order of their own; with `min_runs` 0 some have none."""
    return st.dictionaries(
        st.sampled_from(SCENARIO_IDS), st.lists(run_facts(outcomes), min_size=min_runs, max_size=5), min_size=min_scenarios
    )


def plans() -> st.SearchStrategy[dict[str, PlannedScenario]]:
    """What a header declares: of any scenarios, whether they have runs or not."""
    declared = st.builds(PlannedScenario, tolerance=TOLERANCES, planned_runs=st.integers(1, 5))
    return st.dictionaries(st.sampled_from(SCENARIO_IDS), declared)
