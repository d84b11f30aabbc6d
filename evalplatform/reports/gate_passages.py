"""The passages of a report on a gate: what gates, by which threshold; and how sure each of that is."""

from collections.abc import Iterator, Mapping

from evalplatform.gates.records import GateDecision, ScenarioDecision
from evalplatform.kernel.text import plural
from evalplatform.reports.batch_comparison_view import Item, Passage
from evalplatform.reports.batch_comparison_words import some_scenarios
from evalplatform.reports.gate_baseline_words import determinism_words, history_words, resolved_words
from evalplatform.reports.gate_view import GateView
from evalplatform.reports.gate_words import (
    bound_words,
    frequency_words,
    named_by_reading,
    p_words,
    reading_words,
    side_words,
    suite_words,
    threshold_words,
)
from evalplatform.reports.readiness_report import agreement_words
from evalplatform.reports.visible import with_visible_spaces
from evalplatform.runs.records import Batch


def gate_passage(view: GateView, baseline: Batch, candidate: Batch, pages: Mapping[str, str]) -> Passage:
    """Return the gate's block: the threshold, every scenario that gates or nearly does, and the rest by name or number.

    It begins with where the baseline came from, unless it was named: the last gate of the branch, and the history that stands for it.

    Args:
        view: the gate.
        baseline, candidate: the two batches.
        pages: the page of the trajectory diff of a scenario, by id.
    """
    decision = view.decision
    shown = [decided for decided in decision.scenarios if decided.gates or decided.reading == "listed_not_proven"]
    return Passage(
        key="gate",
        title=f"Gate (gate policy, {_runs_words(candidate)})",
        intro=(*_baseline_lines(view, baseline), f"{threshold_words(decision)} (Fisher, Tarone)"),
        items=tuple(_gate_item(decided, decision, pages) for decided in shown),
        notes=tuple(_gate_notes(decision)),
    )


def sure_passage(view: GateView, baseline: Batch, pages: Mapping[str, str]) -> Passage | None:
    """Return how sure each scenario that gates or is listed is, the p-value as a frequency; None without such a scenario.

    It never states how probable a regression is: a p-value does not say that.
    """
    decision = view.decision
    shown = [decided for decided in decision.scenarios if _is_spoken_of(decided, decision)]
    if not shown:
        return None
    return Passage(
        key="how-sure",
        title="How sure is this",
        items=tuple(_sure_item(decided, decision, pages) for decided in shown),
        notes=tuple(_sure_notes(view, baseline)),
    )


def _baseline_lines(view: GateView, baseline: Batch) -> Iterator[str]:
    if view.choice != "named":
        yield resolved_words(baseline, view.choice, branch=view.branch, gate=view.gate)
    history = history_words(view.decision)
    if history is not None:
        yield history
    if view.decision.history_error is not None:
        yield f"Baseline: the history could not be read, so the gate fails as unverified: {view.decision.history_error}"


def _runs_words(candidate: Batch) -> str:
    planned = {scenario.planned_runs for scenario in candidate.header.scenarios.values() if scenario.leg == "live"}
    if not planned:
        return "replays"
    if len(planned) == 1:
        return f"{plural(planned.pop(), 'run')} per scenario"
    return f"{min(planned)} to {max(planned)} runs per scenario"


def _gate_item(decided: ScenarioDecision, decision: GateDecision, pages: Mapping[str, str]) -> Item:
    p = f" ({p_words(decided.p)})" if decided.p is not None and decided.tier == "standard" else ""
    gates = decided.gates and not decision.is_seed
    said = f" {decided.tier}  {side_words(decided)}{p}: {reading_words(decided)}; {'gates' if gates else 'does not gate'}"
    return Item(
        scenario_id=with_visible_spaces(decided.scenario_id),
        text=said,
        tone="worse" if gates else "caution",
        href=pages.get(decided.scenario_id),
    )


def _gate_notes(decision: GateDecision) -> Iterator[str]:
    failing = named_by_reading(decision, "pre_existing_failing")
    if failing is not None:
        yield f"Pre-existing failing (critical, no further drop): {failing}."
    unstable = [decided.scenario_id for decided in decision.scenarios if decided.unstable_critical]
    if unstable:
        advice = "any-drop gating will fail on noise there; consider the standard tier"
        yield f"Unstable critical baseline ({some_scenarios(unstable)}): it both passed and failed, so {advice}."
    yield from _tier_notes(decision)
    always = named_by_reading(decision, "always_failing")
    if always is not None:
        yield f"Always failing in the baseline, where no drop is possible: {always}."
    flips = [decided for decided in decision.scenarios if decided.scenario.rule == "flip" and decided.unverified_reason is None]
    if flips:
        yield f"{plural(len(flips), 'scenario')} with one run a side or a replay: a flip to failing decides, and no statistics."
    yield suite_words(decision)
    if decision.determinism is not None:
        yield determinism_words(decision.determinism)
    yield from bound_words()


def _tier_notes(decision: GateDecision) -> Iterator[str]:
    for decided in decision.scenarios:
        given = decided.scenario
        if given.baseline_tier != given.candidate_tier:
            name = with_visible_spaces(decided.scenario_id)
            yield f"{name}: {given.candidate_tier} in the candidate, {given.baseline_tier} in the baseline; critical applies."


def _is_spoken_of(decided: ScenarioDecision, decision: GateDecision) -> bool:
    return (decided.gates and not decision.is_seed) or decided.reading == "listed_not_proven"


def _sure_item(decided: ScenarioDecision, decision: GateDecision, pages: Mapping[str, str]) -> Item:
    return Item(
        scenario_id=with_visible_spaces(decided.scenario_id),
        text=f" {'; '.join(_sure_parts(decided, decision))}",
        tone="worse" if decided.gates else "plain",
        href=pages.get(decided.scenario_id),
    )


def _sure_parts(decided: ScenarioDecision, decision: GateDecision) -> Iterator[str]:
    given = decided.scenario
    yield f"{side_words(decided)}{_pool_words(decided)}"
    if given.rule == "flip":
        yield "one run a side shows a flip, and cannot tell a change from chance"
        return
    if decided.p is None:
        yield f"{reading_words(decided)}, so that there is no p-value"
        return
    yield f"if nothing had changed, a drop this large would happen {frequency_words(decided.p)}"
    if decided.tier == "critical":
        yield "any drop of a critical scenario gates, however likely by chance"
        return
    against = "at or below" if decided.reading == "drop_significant" else "above"
    yield f"{p_words(decided.p)} is {against} the threshold {float(decision.threshold):.4f} (0.04 divided by K = {decision.k:,})"
    if decided.reading == "listed_not_proven":
        yield "listed, not proven: it never fails the gate"


def _pool_words(decided: ScenarioDecision) -> str:
    pool = decided.scenario.pool
    return "" if pool is None else f" (baseline: {plural(len(pool.newest_first), 'run')} of history, pool stopped: {pool.stop})"


def _sure_notes(view: GateView, baseline: Batch) -> Iterator[str]:
    yield f"{resolved_words(baseline, view.choice, branch=view.branch, gate=view.gate)}."
    agreement = "" if view.judge_agreement is None else f" Agreement with people's labels: {agreement_words(view.judge_agreement)}."
    yield f"Judge: {view.judge}.{agreement}"
    yield "A p-value says how often chance alone shows as much. It does not say how probable a regression is."
