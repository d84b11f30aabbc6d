"""What two compared batches differ in beside the agent's commit: whoever reads a change should know what else can have made it."""

from collections.abc import Iterator

from evalplatform.comparisons.batches.records import BatchComparison
from evalplatform.kernel.text import plural
from evalplatform.reports.view import Notice

NOT_RECORDED = "not recorded"


def difference_notices(comparison: BatchComparison) -> Iterator[Notice]:
    """Yield a notice for each: one batch on both sides, replays against live runs, another judge, scenario set, agent or model."""
    before, after = comparison.baseline.header, comparison.candidate.header
    if comparison.baseline.id == comparison.candidate.id:
        yield Notice(level="note", text="Both sides are the same batch: it is compared with itself, and nothing can differ.")
        return
    if comparison.differing_legs:
        number = plural(comparison.differing_legs, "scenario")
        compares = "compares" if comparison.differing_legs == 1 else "compare"
        text = f"{number} {compares} a replayed recording with a live run: a change there says nothing of what a change of the agent does."
        yield Notice(level="caution", text=text)
    if before.judge != after.judge:
        yield Notice(level="caution", text=f"{_differ('Judges', before.judge, after.judge)}: a change can come from the grading alone.")
    if before.scenario_set_digest != after.scenario_set_digest:
        yield Notice(level="caution", text=_scenario_sets(before.scenario_set_digest, after.scenario_set_digest))
    if before.agent != after.agent:
        yield Notice(level="note", text=f"{_differ('Agents', before.agent, after.agent)}.")
    if before.model != after.model:
        yield Notice(level="note", text=f"{_differ('Models', before.model, after.model)}.")


def _differ(what: str, before: str | None, after: str | None) -> str:
    return f"{what} differ: {before or NOT_RECORDED} in the baseline, {after or NOT_RECORDED} in the candidate"


def _scenario_sets(before: str | None, after: str | None) -> str:
    if before is None or after is None:
        side = "baseline" if before is None else "candidate"
        return f"The {side} records no scenario set: whether both batches were graded by the same checks is not known."
    return "The scenario sets differ: scenarios can have been graded by different checks, and a change can come from those."
