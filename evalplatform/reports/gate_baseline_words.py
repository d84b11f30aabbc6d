"""Where a gate's baseline came from, in words: the branch's last remembered gate, the history of the branch, or the batch itself."""

from evalplatform.comparisons.batches.records import BaselineChoice
from evalplatform.gates.records import GateDecision, HistoryPool, ReplayDeterminism
from evalplatform.kernel.text import plural
from evalplatform.reports.batch_comparison_words import NAMES_SHOWN, some_scenarios
from evalplatform.reports.headline_words import CHOICE_WORDS
from evalplatform.reports.visible import with_visible_spaces
from evalplatform.runs.records import Batch
from evalplatform.runs.remembered_gate import GateStanding, RememberedGate

STANDING_WORDS: dict[GateStanding, str] = {"clean": "clean", "flagged": "flagged", "failed_check": "a failed check"}


def resolved_words(baseline: Batch, choice: BaselineChoice, *, branch: str | None = None, gate: RememberedGate | None = None) -> str:
    """Return which batch is the baseline and why, without a full stop.

    For a branch with the standing, the time and the commit of the remembered gate that it was found by: `Baseline: b-1, what the last
    remembered gate on main gated: clean, 2026-11-30 08:00 UTC, commit c0ffee1`.

    Args:
        baseline: the batch.
        choice: why it is the baseline.
        branch: the branch that was asked for; None where none was.
        gate: the remembered gate; None where the batch was not found by one.
    """
    if choice == "seed" and branch is not None:
        return f"Baseline: {baseline.id} itself: nothing is remembered on {branch} yet, so it becomes the first baseline there"
    if branch is None or gate is None:
        return f"Baseline: {baseline.id} ({CHOICE_WORDS[choice]})"
    commit = "no commit recorded" if gate.commit is None else f"commit {gate.commit}"
    said = f"{STANDING_WORDS[gate.standing]}, {gate.received_at:%Y-%m-%d %H:%M} UTC, {commit}"
    return f"Baseline: {baseline.id}, what the last remembered gate on {branch} gated: {said}"


def history_words(decision: GateDecision | None) -> str | None:
    """Return for how many scenarios a history stands for the baseline, with the runs and the stop of each; None without any.

    `Baseline: history for 1 scenario (20 runs for lookup, pool stopped: limit)`.
    """
    pooled = () if decision is None else decision.scenarios
    pools = [(decided.scenario_id, decided.scenario.pool) for decided in pooled if decided.scenario.pool is not None]
    if not pools:
        return None
    shown = [f"{_runs_words(pool)} for {with_visible_spaces(name)}, pool stopped: {pool.stop}" for name, pool in pools[:NAMES_SHOWN]]
    more = [f"and {len(pools) - NAMES_SHOWN:,} more"] if len(pools) > NAMES_SHOWN else []
    return f"Baseline: history for {plural(len(pools), 'scenario')} ({'; '.join([*shown, *more])})"


def determinism_words(determinism: ReplayDeterminism) -> str:
    """Return what running the compared replays again showed, as a sentence."""
    if not determinism.differing:
        return f"Replay determinism: {plural(determinism.verified, 'replay')} run again, each with the same verdict and trajectory."
    again = determinism.verified + len(determinism.differing)
    named = some_scenarios(determinism.differing)
    return f"Replay determinism: {len(determinism.differing):,} of {plural(again, 'replay')} came out otherwise when run again: {named}."


def _runs_words(pool: HistoryPool) -> str:
    return plural(len(pool.newest_first), "run")
