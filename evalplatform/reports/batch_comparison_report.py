"""Builds the report of a batch comparison: the table of scenarios, violations, run sets, what was not compared."""

import re
from collections.abc import Iterator, Mapping

from evalplatform.comparisons.batches.records import BaselineChoice, BatchComparison, ChangeClass, ComparisonVerdict, ScenarioChange
from evalplatform.gates.records import ReplayDeterminism
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.batch_comparison_view import BatchComparisonReport, Filter, Item, Passage
from evalplatform.reports.batch_comparison_words import (
    AS_RECORDED,
    CLASS_WORDS,
    LISTED_CLASSES,
    batch_words,
    change_words,
    counts_line,
    counts_of_both,
    left_out_words,
    not_compared_reason,
    path_words,
    run_words,
    shortfall_words,
    tolerance_caption,
    tolerance_lines,
    verdict_sentence,
)
from evalplatform.reports.batch_difference_words import difference_notices
from evalplatform.reports.batch_run_set_words import drop_words, one_run_sentences, run_set_summary, run_set_title, run_sets_against_verdict
from evalplatform.reports.batch_violation_words import violation_lines, violation_summary
from evalplatform.reports.gate_passages import gate_passage, sure_passage
from evalplatform.reports.gate_view import GateView
from evalplatform.reports.headline_words import CHOICE_WORDS, Divergence, headline_of
from evalplatform.reports.page import Page
from evalplatform.reports.pass_count_plot import pass_count_figure
from evalplatform.reports.view import Cell, Column, Fact, Notice, Table, Tone
from evalplatform.reports.visible import with_visible_spaces

COMPARED_RUN = "the most recent that was made and not left ungraded"
COLUMNS = (
    Column(label="Scenario", numeric=False),
    Column(label="Change", numeric=False),
    Column(label="Baseline", numeric=False, meaning=f"The verdict of the baseline's compared run: {COMPARED_RUN}."),
    Column(label="Candidate", numeric=False, meaning=f"The verdict of the candidate's compared run: {COMPARED_RUN}."),
    Column(label="Score change", meaning="Candidate minus baseline, in points of the share of checks that passed."),
    Column(label="Tool path", numeric=False, meaning="Whether the two runs called other tools, by the path tolerance that applies."),
    Column(label="Runs passed", numeric=False, meaning="Passed of graded runs: baseline → candidate."),
)
VIOLATIONS_COLUMN = Column(label="Violations", numeric=False, meaning="Policies that only one of the two compared runs breaches.")
BESIDE_A_GATE = "These flags decide nothing: the gate decides by Fisher's test, with a threshold for all scenarios together."
SHORT_COMMIT_CHARS = 12
SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
TONES: dict[ChangeClass, Tone] = {
    "newly_failing": "worse",
    "newly_passing": "better",
    "degraded": "worse",
    "path_drift": "caution",
    "dropped": "caution",
    "not_compared": "caution",
}


def batch_comparison_report(
    comparison: BatchComparison,
    *,
    choice: BaselineChoice = "named",
    divergence: Divergence | None = None,
    diff_pages: Mapping[str, str] | None = None,
    gate: GateView | None = None,
    determinism: ReplayDeterminism | None = None,
) -> BatchComparisonReport:
    """Return the report of a comparison.

    Args:
        comparison: what was found.
        choice: why this baseline.
        divergence: where the first changed scenario's runs part; None where none do, or it is not known.
        diff_pages: for each scenario that has one, the page of the diff of the two runs that were compared, as a relative path.
        gate: what the gate policy makes of it; None where no policy decides.
        determinism: what running the replays again showed, where no policy decides; None where it was not asked for.
    """
    pages = diff_pages or {}
    passages = (
        None if gate is None else gate_passage(gate, comparison.baseline, comparison.candidate, pages),
        None if gate is None else sure_passage(gate, comparison.baseline, pages),
        _violations(comparison, pages),
        _run_sets(comparison, pages, is_decided_by_policy=gate is not None),
        _one_run(comparison),
        _not_compared(comparison),
    )
    columns = _columns(comparison)
    return BatchComparisonReport(
        page=_page(comparison, choice, decides_by_run_sets=gate is not None),
        headline=headline_of(
            comparison,
            choice=choice,
            divergence=divergence,
            decision=None if gate is None else gate.decision,
            determinism=determinism,
        ),
        headline_href=None if divergence is None else pages.get(divergence.scenario_id),
        verdict=_verdict_shown(comparison, gate),
        counts=counts_line(comparison) if comparison.compared else "",
        filters=tuple(_filters(comparison)),
        caption=tolerance_caption(comparison),
        table=Table(columns=columns, rows=tuple(_row(change, pages, columns) for change in comparison.changes)),
        row_classes=tuple(change.change for change in comparison.changes),
        lines=(*tolerance_lines(comparison), *_unlisted(comparison)),
        passages=tuple(passage for passage in passages if passage is not None),
    )


def _verdict_shown(comparison: BatchComparison, gate: GateView | None) -> ComparisonVerdict:
    """Return what colours the headline: where a gate policy decides, its answer."""
    if gate is None:
        return comparison.verdict
    if gate.decision.fails:
        return "regressed"
    return "improved" if comparison.verdict == "improved" else "clean"


def _page(comparison: BatchComparison, choice: BaselineChoice, *, decides_by_run_sets: bool) -> Page:
    why = "" if choice == "named" else f" ({CHOICE_WORDS[choice]})"
    batches = {f"Baseline{why}": comparison.baseline, "Candidate": comparison.candidate}
    return Page(
        kind="Batch comparison",
        title=_title(comparison),
        subtitle=_subtitle(comparison, decides_by_run_sets=decides_by_run_sets),
        headline_facts=tuple(Fact(label=label, value=batch_words(batch)) for label, batch in batches.items()),
        notices=tuple(_notices(comparison, decides_by_run_sets=decides_by_run_sets)),
        facts=tuple(_facts(comparison)),
    )


def _subtitle(comparison: BatchComparison, *, decides_by_run_sets: bool) -> str:
    """Return the verdict of the compared runs; that these do not decide is said where a gate policy does."""
    if comparison.verdict == "incomparable":
        return ""
    return f"{'By one run a side: ' if decides_by_run_sets else ''}{verdict_sentence(comparison)}"


def _title(comparison: BatchComparison) -> str:
    """Return the project and its two commits, or the two batches where these are not told apart by commits."""
    before, after = comparison.baseline, comparison.candidate
    commits = (before.header.commit, after.header.commit)
    known = None not in commits and commits[0] != commits[1]
    candidate, baseline = (short_commit(commits[1]), short_commit(commits[0])) if known else (after.id, before.id)
    return f"{after.header.project}: {candidate} against {baseline}"


def short_commit(commit: str | None) -> str:
    """Return a commit as a title names it: the first 12 digits of a SHA, any other name as it is."""
    if commit is None:
        return words.MISSING
    return commit[:SHORT_COMMIT_CHARS] if SHA.fullmatch(commit) else commit


def _notices(comparison: BatchComparison, *, decides_by_run_sets: bool) -> Iterator[Notice]:
    yield from difference_notices(comparison)
    for side, batch in (("baseline", comparison.baseline), ("candidate", comparison.candidate)):
        for shortfall in shortfall_words(batch):
            yield Notice(level="caution", text=f"The {side} is {shortfall}.")
    for left_out in left_out_words(comparison):
        yield Notice(level="caution", text=left_out)
    left = comparison.counts.get("not_compared", 0)
    if left and comparison.verdict != "incomparable":  # else the headline says so
        yield Notice(level="caution", text=f"{plural(left, 'scenario')} could not be compared; each is named below with its reason.")
    yield from _same_commit(comparison)
    against = run_sets_against_verdict(comparison)
    if against is not None and not decides_by_run_sets:
        yield Notice(level="caution", text=against)


def _same_commit(comparison: BatchComparison) -> Iterator[Notice]:
    """Yield the notice that two batches are of one commit, so that what differs is not that commit's doing."""
    commits = {batch.header.commit for batch in (comparison.baseline, comparison.candidate)}
    if comparison.compared and len(commits) == 1 and None not in commits and comparison.baseline.id != comparison.candidate.id:
        text = (
            f"Both batches are of commit {short_commit(commits.pop())}: no committed change lies between them. "
            "What differs is chance, or has a cause outside the commit."
        )
        yield Notice(level="note", text=text)


def _facts(comparison: BatchComparison) -> Iterator[Fact]:
    for side, batch in (("Baseline", comparison.baseline), ("Candidate", comparison.candidate)):
        header = batch.header
        said = {"agent": header.agent, "model": header.model, "judge": header.judge, "branch": header.branch}
        named = [f"{name} {value}" for name, value in said.items() if value is not None]
        then = "" if batch.retention == "whole" else AS_RECORDED
        yield Fact(label=side, value="; ".join([*named, f"{batch.graded_runs:,} of {plural(batch.run_count, 'run')} graded{then}"]))
    yield Fact(label="Project", value=comparison.candidate.header.project)
    yield Fact(label="Compared", value=f"of each scenario one run on each side: {COMPARED_RUN}")


def _filters(comparison: BatchComparison) -> Iterator[Filter]:
    for name in LISTED_CLASSES:
        if comparison.counts.get(name):
            yield Filter(key=name, label=f"{comparison.counts[name]:,} {CLASS_WORDS[name]}")


def _columns(comparison: BatchComparison) -> tuple[Column, ...]:
    """Return the columns; that of violations only where a row has one to show, which may be all that it is listed for."""
    differ = any(change.new_violations or change.resolved_violations for change in comparison.changes)
    return (*COLUMNS, VIOLATIONS_COLUMN) if differ else COLUMNS


def _row(change: ScenarioChange, pages: Mapping[str, str], columns: tuple[Column, ...]) -> tuple[Cell, ...]:
    cells = (
        Cell(text=with_visible_spaces(change.scenario_id), href=pages.get(change.scenario_id)),
        Cell(text=change_words(change), tone=TONES.get(change.change, "plain")),
        Cell(text=run_words(change.baseline)),
        Cell(text=run_words(change.candidate)),
        Cell(text=words.points(change.score_change_points, signed=True)),
        Cell(text=path_words(change), tone="muted" if change.within_tolerance or not change.path_changed else "plain"),
        Cell(text=counts_of_both(change)),
        _violations_cell(change),
    )
    return cells[: len(columns)]


def _violations_cell(change: ScenarioChange) -> Cell:
    """Return the policies that the candidate newly breaches, and those that it no longer does."""
    parts = (("new", change.new_violations), ("resolved", change.resolved_violations))
    named = [f"{said}: {', '.join(dict.fromkeys(found.policy for found in violations))}" for said, violations in parts if violations]
    return Cell(text="; ".join(named), tone="caution" if change.new_violations else "muted")


def _unlisted(comparison: BatchComparison) -> Iterator[str]:
    listed = sum(change.change == "unchanged" for change in comparison.changes)
    unlisted = comparison.counts.get("unchanged", 0) - listed
    if unlisted:
        yield f"{plural(unlisted, 'unchanged scenario')} not listed; the JSON form has a row for each."


def _violations(comparison: BatchComparison, pages: Mapping[str, str]) -> Passage | None:
    if comparison.verdict == "incomparable" and not comparison.compared:
        return None
    items = [
        Item(
            scenario_id=with_visible_spaces(line.scenario_id),
            text=line.text,
            tone="caution" if line.is_new else "muted",
            href=pages.get(line.scenario_id),
        )
        for line in violation_lines(comparison)
    ]
    return Passage(key="violations", title="Violations", items=tuple(items), notes=tuple(violation_summary(comparison)))


def _run_sets(comparison: BatchComparison, pages: Mapping[str, str], *, is_decided_by_policy: bool) -> Passage | None:
    report = comparison.run_sets
    if report is None:
        return None
    items = [
        Item(
            scenario_id=with_visible_spaces(drop.scenario_id),
            text=f" {drop_words(drop)}",  # set off by two spaces, as in a table
            tone="worse" if drop.reading == "drop" else "plain",
            href=pages.get(drop.scenario_id),
        )
        for drop in report.drops
    ]
    return Passage(
        key="run-sets",
        title=run_set_title(report),
        items=tuple(items),
        notes=(*run_set_summary(report), *([BESIDE_A_GATE] if is_decided_by_policy else [])),
        figure=pass_count_figure(comparison.changes),
    )


def _one_run(comparison: BatchComparison) -> Passage | None:
    sentences = tuple(one_run_sentences(comparison))
    return Passage(key="one-run", title="What one run a side can tell", intro=sentences) if sentences else None


def _not_compared(comparison: BatchComparison) -> Passage | None:
    left = [change for change in comparison.changes if change.change == "not_compared"]
    items = tuple(Item(scenario_id=with_visible_spaces(change.scenario_id), text=f"— {not_compared_reason(change)}") for change in left)
    return Passage(key="not-compared", title="Not compared", items=items) if items else None
