"""Gate readiness as a page, as lines for a terminal, and as JSON: what the gate catches, what it costs, and each scenario's history."""

from collections.abc import Iterator

import orjson

from evalplatform.comparisons.label_records import VerdictAgreement
from evalplatform.gates.policy_standing import PolicyStanding
from evalplatform.gates.readiness import Readiness, ReadinessReading, ReadinessRow, WhatIf
from evalplatform.gates.records import FEWEST_POOLED_RUNS, MOST_POOLED_RUNS, HistoryPool
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.gate_plan_words import plan_notes
from evalplatform.reports.gate_policy_words import OFFER, difference_lines, policy_words
from evalplatform.reports.page import Page
from evalplatform.reports.view import Cell, Column, Fact, Notice, Section, Table, Tone
from evalplatform.reports.visible import with_visible_spaces
from evalplatform.stats.repeated_runs import flake_detection_rate

SCHEMA_VERSION = 1
PASSED_MARK, FAILED_MARK = "●", "○"
FALSE_GATE_BOUND = "a gate without critical scenarios in which nothing changed fails at most 1 time in 20, at any suite size"
READING_WORDS: dict[ReadinessReading, str] = {
    "stable": "stable",
    "some_failures": "some failures",
    "not_covered": "not covered by the target",
    "always_failing": "always failing",
    "unstable_critical": "unstable critical: it will fail on noise; consider the standard tier",
    "not_enough_history": "not enough history: the gate uses the baseline batch",
}
ROW_COLUMNS = (
    Column(label="Scenario", numeric=False),
    Column(label="Tier", numeric=False),
    Column(label="History", numeric=False, meaning=f"One mark a pooled run, oldest first: {PASSED_MARK} passed, {FAILED_MARK} failed."),
    Column(label="Passed", meaning="Passed of pooled runs, and why the pool holds no older one."),
    Column(label="Runs", meaning="What the target gives it in the next gate."),
    Column(label="Reading", numeric=False),
)
WHAT_IF_COLUMNS = (Column(label="Target drop", numeric=False), Column(label="Runs per gate"), Column(label="Scenarios caught"))
DESIGN_TARGET = (
    "Each history's pass rate is taken as the true one. With 20 runs it is itself uncertain, so read “8 times in 10” as what the gate "
    "is designed for, and not as a promise about one gate."
)


def readiness_sentence(readiness: Readiness) -> str:
    """Return what the gate catches, in a sentence; without enough history, that nothing can be said yet."""
    scenarios = len(readiness.rows)
    if not scenarios:
        return "There is no live scenario, so there is nothing that a gate could catch."
    if readiness.is_day_one:
        return (
            f"There is not enough history yet: {readiness.with_enough_history:,} of {plural(scenarios, 'scenario')} have "
            f"{FEWEST_POOLED_RUNS} or more baseline runs."
        )
    return (
        f"This gate catches a {readiness.target_drop_points}-point drop 8 times in 10 on {readiness.caught:,} of "
        f"{plural(scenarios, 'scenario')}, for {plural(readiness.plan.total_runs, 'run')} per gate."
    )


def readiness_facts(readiness: Readiness) -> tuple[Fact, ...]:
    """Return the four figures: target drop, false-gate bound, full histories, the judge's agreement with labels."""
    full = f"{readiness.with_full_history:,} of {plural(len(readiness.rows), 'scenario')} have all {MOST_POOLED_RUNS} runs"
    return (
        Fact(label="Target drop", value=f"{readiness.target_drop_points} points, caught 8 times in 10"),
        Fact(label="False gates", value=FALSE_GATE_BOUND),
        Fact(label="Full history", value=full),
        Fact(label="Judge agreement", value=agreement_words(readiness.agreement)),
    )


def agreement_words(agreement: VerdictAgreement) -> str:
    """Return how far the model judge agrees with people's labels of runs, with its interval and kappa, or why that is not shown."""
    if agreement.agreement is None:
        return agreement.agreement_reason or words.MISSING
    found, kappa = agreement.agreement, agreement.kappa
    interval = f"[{words.percent(found.ci_lo)}, {words.percent(found.ci_hi)}]"
    beside = agreement.kappa_reason or words.MISSING
    if kappa is not None:
        beside = f"kappa {words.fixed(kappa.kappa, 2, signed=True)}"
        if kappa.ci_lo is not None and kappa.ci_hi is not None:
            beside += f" [{words.fixed(kappa.ci_lo, 2, signed=True)}, {words.fixed(kappa.ci_hi, 2, signed=True)}]"
    return f"{words.percent(found.rate)} {interval} of {plural(agreement.pairs, 'labelled run')}, {beside}"


def readiness_notes(readiness: Readiness, standing: PolicyStanding, branch: str) -> Iterator[str]:
    """Yield what to know: what is not caught and why, how to get a history, where another policy stands."""
    if readiness.is_day_one and readiness.rows:
        runs = standing.policy.runs
        seen = words.percent(float(flake_detection_rate(0.5, runs)))
        yield (
            f"It fills as push builds of {branch} are gated with `evalplatform gate --baseline-branch {branch} --record`. To fill it now: "
            f"`evalplatform run --runs {runs} --branch {branch}`, `evalplatform push`, and that gate. {runs} runs show both outcomes of a "
            f"scenario that fails every second time {seen} of the time."
        )
    else:
        yield from plan_notes(readiness.plan)
        yield DESIGN_TARGET
    yield from difference_lines(standing)
    if standing.source == "none":
        yield OFFER


def readiness_page(readiness: Readiness, standing: PolicyStanding, branch: str) -> Page:
    """Return the report as a page."""
    sections = [Section(key="scenarios", title="Scenarios", table=_rows_table(readiness))] if readiness.rows else []
    if readiness.rows and not readiness.is_day_one:
        sections.append(Section(key="what-if", title="What if", table=_what_if_table(readiness.what_if, len(readiness.rows))))
    return Page(
        kind="Gate readiness",
        title="What the gate can catch",
        subtitle=readiness_sentence(readiness),
        headline_facts=readiness_facts(readiness),
        notices=tuple(Notice(level="note", text=note) for note in readiness_notes(readiness, standing, branch)),
        sections=tuple(sections),
        facts=(Fact(label="Branch", value=branch), Fact(label="Policy", value=policy_words(standing))),
    )


def readiness_json(readiness: Readiness, standing: PolicyStanding, branch: str) -> bytes:
    """Return the report as JSON, unrounded."""
    result = {
        "schema_version": SCHEMA_VERSION,
        "branch": branch,
        "sentence": readiness_sentence(readiness),
        "policy": standing.policy.model_dump(mode="json"),
        "policy_source": standing.source,
        "scenarios": len(readiness.rows),
        "caught": None if readiness.is_day_one else readiness.caught,
        "with_full_history": readiness.with_full_history,
        "with_enough_history": readiness.with_enough_history,
        **readiness.model_dump(mode="json"),
    }
    return orjson.dumps(result, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def marks(pool: HistoryPool) -> str:
    """Return one mark a run, oldest first."""
    return "".join(PASSED_MARK if passed else FAILED_MARK for passed in reversed(pool.newest_first))


def _rows_table(readiness: Readiness) -> Table:
    return Table(columns=ROW_COLUMNS, rows=tuple(map(_row, readiness.rows)))


def _row(row: ReadinessRow) -> tuple[Cell, ...]:
    planned, pool = row.planned, row.pool
    tone: Tone = "plain" if row.reading in ("stable", "some_failures") and planned.reaches_target else "caution"
    return (
        Cell(text=with_visible_spaces(row.scenario_id)),
        Cell(text=planned.tier),
        Cell(text=words.MISSING if pool is None else marks(pool)),
        Cell(text=words.MISSING if pool is None else f"{pool.passes.passed}/{pool.passes.graded} ({pool.stop})"),
        Cell(text=f"{planned.runs}" if planned.runs >= planned.want else f"{planned.runs} of {planned.want}"),
        Cell(text=READING_WORDS[row.reading], tone=tone),
    )


def _what_if_table(what_if: tuple[WhatIf, ...], scenarios: int) -> Table:
    return Table(columns=WHAT_IF_COLUMNS, rows=tuple(_what_if_row(other, scenarios) for other in what_if))


def _what_if_row(other: WhatIf, scenarios: int) -> tuple[Cell, ...]:
    if other.total_runs is None:
        return (Cell(text=f"{other.target_drop_points} points"), Cell(text=words.MISSING), Cell(text=other.reason or words.MISSING))
    return (
        Cell(text=f"{other.target_drop_points} points"),
        Cell(text=f"{other.total_runs:,}"),
        Cell(text=f"{other.caught:,} of {scenarios:,}"),
    )
