"""Unstable scenarios as a page, as lines for a terminal, and as JSON."""

from collections.abc import Iterator

import orjson

from evalplatform.drift.instability import MOST_BATCHES, WINDOW_DAYS, BatchEvidence, InstabilityReading, UnstableScenario
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.page import Page
from evalplatform.reports.view import Cell, Column, Fact, Notice, Section, Table
from evalplatform.reports.visible import with_visible_spaces

SCHEMA_VERSION = 1
SHOWN_BATCHES = 6
SHOWN_COMMIT_CHARS = 12

_CONTEXT = "Shown for context: it changes no verdict, no comparison and no gate."
_MEANING = (
    "A scenario is unstable where separate batches of one commit came out differently: all of its live graded runs passed, none did, or "
    "both occurred. A mix within one batch is that run set's own k of n and no instability; replayed runs and runs that were not graded "
    "are left out."
)


def headline(reading: InstabilityReading) -> str:
    """Return what was found, in a sentence; that there is not enough evidence is a finding of its own."""
    if reading.repeated_commits == 0:
        return "Not enough evidence: no commit ran twice."
    if not reading.has_evidence:
        return "Not enough evidence: no scenario ran in two batches of one commit."
    compared = f"{plural(reading.scenarios_compared, 'scenario')} that ran in several batches of one commit"
    if not reading.unstable:
        return f"None of the {compared} came out differently." if reading.scenarios_compared > 1 else f"The {compared} came out the same."
    return f"{len(reading.unstable):,} of {compared} came out differently."


def unstable_page(reading: InstabilityReading) -> Page:
    """Return the report."""
    return Page(
        kind="Unstable scenarios",
        title="Same commit, different outcome",
        subtitle=headline(reading),
        notices=tuple(Notice(level="note", text=sentence) for sentence in (*left_out_sentences(reading), _CONTEXT)),
        sections=(_section(reading),) if reading.unstable else (),
        facts=tuple(_facts(reading)),
    )


def unstable_lines(reading: InstabilityReading) -> Iterator[str]:
    """Yield the report for a terminal: what was found, one line a scenario with what its batches said below it, what it rests on."""
    yield headline(reading)
    for one in reading.unstable:
        yield f"{with_visible_spaces(one.scenario_id)}: {passes_words(one)}{_differing_words(one)}"
        yield from (f"    {evidence_words(batch)}" for batch in one.batches[:SHOWN_BATCHES])
        if len(one.batches) > SHOWN_BATCHES:
            yield f"    and {len(one.batches) - SHOWN_BATCHES:,} more, all of them with --json"
    yield read_sentence(reading)
    yield from left_out_sentences(reading)


def unstable_json(reading: InstabilityReading) -> bytes:
    """Return the reading as JSON, with the sentence of what was found and each batch's outcome."""
    found = reading.model_dump(mode="json")
    for shown, one in zip(found["unstable"], reading.unstable, strict=True):
        shown["failed_runs"] = one.failed_runs
        for batch, evidence in zip(shown["batches"], one.batches, strict=True):
            batch["outcome"] = evidence.outcome
    result = {"schema_version": SCHEMA_VERSION, "headline": headline(reading), "has_evidence": reading.has_evidence, **found}
    return orjson.dumps(result, option=orjson.OPT_INDENT_2)


def read_sentence(reading: InstabilityReading) -> str:
    """Return what was read."""
    batches = f"{reading.batches_read:,} whole {'batch' if reading.batches_read == 1 else 'batches'}"
    return f"Read: {batches} of the last {WINDOW_DAYS} days (since {reading.since:%Y-%m-%d %H:%M} UTC), live graded runs only."


def left_out_sentences(reading: InstabilityReading) -> Iterator[str]:
    """Yield which batches of the window say nothing here, and why."""
    if reading.continued:
        yield f"Left out: {reading.continued:,} {_batches(reading.continued)} that went on as another batch, which is read."
    gone = [f"{count:,} {state}" for state, count in (("compacted", reading.compacted), ("expired", reading.expired)) if count]
    if gone:
        yield f"Left out: {words.listed(gone)} {_batches(reading.compacted + reading.expired)}, which no longer hold whole run sets."
    if reading.beyond_limit:
        yield f"Left out: {reading.beyond_limit:,} older {_batches(reading.beyond_limit)}: only the newest {MOST_BATCHES} are read."
    if reading.without_commit:
        count = reading.without_commit
        yield f"{count:,} {_batches(count)} {'names' if count == 1 else 'name'} no commit, and so can be set beside no other."


def passes_words(one: UnstableScenario) -> str:
    """Return passes over graded runs, with the batches they are summed over."""
    return f"{one.passes.passed}/{one.passes.graded} runs passed over {len(one.batches):,} {_batches(len(one.batches))}"


def evidence_words(evidence: BatchEvidence) -> str:
    """Return what one batch says of a scenario."""
    passes = evidence.passes
    return f"{evidence.outcome} {passes.passed}/{passes.graded} in {evidence.batch_id} on {evidence.commit[:SHOWN_COMMIT_CHARS]}"


def _differing_words(one: UnstableScenario) -> str:
    return f"; not the same in all of them: {words.listed(list(one.differs_in))}" if one.differs_in else ""


def _section(reading: InstabilityReading) -> Section:
    columns = (
        Column(label="Scenario", numeric=False),
        Column(label="Passed", meaning="Passes over graded runs, summed over the batches of the commits that disagree."),
        Column(label="Failed", meaning="Graded runs that failed; agent errors and stops by a run's own limits are failures."),
        Column(label="By batch, newest first", numeric=False),
        Column(label="Differs as well", numeric=False, meaning="Agent, model or judge, where the batches of one commit do not share it."),
    )
    rows = (
        (
            Cell(text=with_visible_spaces(one.scenario_id)),
            Cell(text=f"{one.passes.passed}/{one.passes.graded}"),
            Cell(text=words.count(one.failed_runs)),
            Cell(text=_batches_cell(one)),
            Cell(text=words.listed(list(one.differs_in)) if one.differs_in else "nothing", tone="caution" if one.differs_in else "muted"),
        )
        for one in reading.unstable
    )
    return Section(key="unstable", title="Unstable scenarios", intro=_MEANING, table=Table(columns=columns, rows=tuple(rows)))


def _batches_cell(one: UnstableScenario) -> str:
    shown = [evidence_words(evidence) for evidence in one.batches[:SHOWN_BATCHES]]
    left = len(one.batches) - len(shown)
    return "; ".join([*shown, *([f"and {left} more in the JSON"] if left else [])])


def _facts(reading: InstabilityReading) -> Iterator[Fact]:
    yield Fact(label="Window", value=f"{reading.since:%Y-%m-%d %H:%M} to {reading.until:%Y-%m-%d %H:%M} UTC, {WINDOW_DAYS} days")
    yield Fact(label="Batches read", value=words.count(reading.batches_read))
    gone = f"{reading.continued:,} gone on with, {reading.compacted:,} compacted, {reading.expired:,} expired"
    yield Fact(label="Left out", value=f"{gone}, {reading.beyond_limit:,} older")
    yield Fact(label="Without a commit", value=words.count(reading.without_commit))
    yield Fact(label="Commits that ran twice or more", value=words.count(reading.repeated_commits))
    yield Fact(label="Scenarios compared", value=words.count(reading.scenarios_compared))


def _batches(count: int) -> str:
    return "batch" if count == 1 else "batches"
