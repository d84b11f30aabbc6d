"""The run plan of a gate, in words: how often each scenario runs, what is not covered, and what the cap leaves short."""

from collections.abc import Iterator

from evalplatform.gates.gate_plan import GatePlan, PlannedRunSet, PlanStatus
from evalplatform.gates.records import HistoryPool
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.batch_comparison_words import some_scenarios
from evalplatform.reports.view import Cell, Column, Table, Tone
from evalplatform.reports.visible import with_visible_spaces

STATUS_WORDS: dict[PlanStatus, str] = {
    "covered": "covered",
    "not_covered": "not covered: no count up to 50 reaches the target",
    "always_failing": "always failing: no drop is possible",
    "not_enough_history": "not enough history",
}
COLUMNS = (
    Column(label="Scenario", numeric=False),
    Column(label="Tier", numeric=False),
    Column(label="History", meaning="Passed of pooled runs; under 10 there is not enough to plan by."),
    Column(label="Target", meaning="The drop to catch at least 8 times in 10, in points."),
    Column(label="K", meaning="What the plan divides the level 0.04 by; critical scenarios are outside of it."),
    Column(label="Runs"),
    Column(label="Plan", numeric=False),
)


def plan_sentence(plan: GatePlan, branch: str) -> str:
    """Return what a plan comes to, in a sentence."""
    runs, scenarios = plural(plan.total_runs, "run"), plural(len(plan.rows), "live scenario")
    return f"Run plan from the history of {branch}: {runs} of {scenarios}; {plan.caught:,} reach their target."


def unavailable_sentence(runs: int, reason: str) -> str:
    """Return that there is no plan, what is run instead, and why."""
    return f"run plan unavailable: every scenario runs {plural(runs, 'time')} ({reason.rstrip('.')})"


def plan_notes(plan: GatePlan) -> Iterator[str]:
    """Yield what a plan does not reach: what no number of runs covers, what lacks history, and what the cap leaves short; by name."""
    for status in ("not_covered", "always_failing", "not_enough_history"):
        named = [row.scenario_id for row in plan.rows if row.status == status]
        if named:
            yield f"{STATUS_WORDS[status].capitalize()} ({len(named):,}): {some_scenarios(named)}."
    if plan.cap_binds:
        wanted = sum(row.want for row in plan.rows)
        short = [f"{with_visible_spaces(row.scenario_id)} {row.runs} of {row.want}" for row in plan.short]
        yield f"The cap of {plan.max_runs:,} runs binds ({wanted:,} are wanted); falling short: {', '.join(short)}."


def plan_table(plan: GatePlan, pools: dict[str, HistoryPool]) -> Table:
    """Return the plan as a table, one row a scenario, with the history that it rests on."""
    return Table(columns=COLUMNS, rows=tuple(_row(row, pools.get(row.scenario_id)) for row in plan.rows))


def _row(row: PlannedRunSet, pool: HistoryPool | None) -> tuple[Cell, ...]:
    history = words.MISSING if pool is None else f"{pool.passes.passed}/{pool.passes.graded} ({pool.stop})"
    runs = f"{row.runs}" if row.runs >= row.want else f"{row.runs} of {row.want}"
    tone: Tone = "plain" if row.reaches_target else "caution"
    return (
        Cell(text=with_visible_spaces(row.scenario_id)),
        Cell(text=row.tier),
        Cell(text=history),
        Cell(text=f"{row.target_drop_points}"),
        Cell(text=words.MISSING if row.k is None else f"{row.k}"),
        Cell(text=runs, tone=tone),
        Cell(text=STATUS_WORDS[row.status], tone=tone),
    )
