"""Results as lines of text: the table of arms, and what calls were made."""

from collections.abc import Iterable, Iterator, Sequence

from evalplatform.calls.counts import CallCounts
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.arms_view import InteractionRow, ResultRow
from evalplatform.reports.view import Table
from evalplatform.reports.visible import one_line
from evalplatform.stages.pipeline import CellRun
from evalplatform.stages.plan import PlannedCalls, SpendCap, SuitePlan
from evalplatform.stages.report_findings import ReportFindings

COLUMNS = (
    ("arm", "Arm"),
    ("mean_points", "Points"),
    ("mean_interval", "95% CI"),
    ("scored", "Scored"),
    ("delta_points", "Delta"),
    ("delta_interval", "95% CI"),
    ("p_adjusted", "p adj."),
    ("verdict", "Verdict"),
    ("cost_usd", "Cost (USD)"),
)
LEFT_ALIGNED = {"arm", "verdict"}
MAX_SHOWN = 10


def result_lines(rows: Sequence[ResultRow]) -> Iterator[str]:
    """Yield a result table, one line an arm, columns aligned; nothing where there is no result."""
    if not rows:
        return
    table = [[title for _, title in COLUMNS], *([str(getattr(row, name)) for name, _ in COLUMNS] for row in rows)]
    yield from _aligned(table, [name in LEFT_ALIGNED for name, _ in COLUMNS])


def interaction_lines(rows: Sequence[InteractionRow]) -> Iterator[str]:
    """Yield a line for each arm that combines two others: what it does beyond the sum of its parts, with its interval."""
    for row in rows:
        tested = f"p adj. {row.p_adjusted}, {row.questions} questions scored in all four arms"
        yield one_line(f"interaction {row.arm}: {row.interaction_points} points {row.interaction_interval}, {tested}: {row.verdict}")


def table_lines(table: Table) -> Iterator[str]:
    """Yield a report's table as lines, columns aligned."""
    rows = [[one_line(cell.text) for cell in row] for row in table.rows]
    yield from _aligned([[column.label for column in table.columns], *rows], [not column.numeric for column in table.columns])


def _aligned(table: Sequence[Sequence[str]], to_the_left: Sequence[bool]) -> Iterator[str]:
    widths = [max(len(line[column]) for line in table) for column in range(len(to_the_left))]
    for number, line in enumerate(table):
        cells = (text.ljust(width) if left else text.rjust(width) for text, width, left in zip(line, widths, to_the_left, strict=True))
        yield "  ".join(cells).rstrip()
        if number == 0:
            yield "  ".join("-" * width for width in widths)


def counts_words(counts: CallCounts) -> str:
    """Return what calls were made, and what they cost, as one line; an unknown cost is said to be unknown."""
    parts = [plural(counts.paid, "model call")]
    if counts.paid_usd is not None:
        parts.append(f"${counts.paid_usd:,.4f} paid")
    if counts.unpriced:
        parts.append(f"{plural(counts.unpriced, 'call')} of unknown price")
    parts.append(f"{counts.replayed:,} replayed from the ledger")
    if counts.shared:
        parts.append(f"{counts.shared:,} shared with an identical call")
    if counts.failed:
        parts.append(f"{counts.failed:,} failed")
    return ", ".join(parts)


def failure_lines(done: CellRun) -> list[str]:
    """Return what failed of a run: a line each for answers, scores and votes of a panel, with counts by reason and one reason in full."""
    failed = (("answer", done.failed_answers), ("score", done.failed_scores), ("vote", done.failed_votes))
    return [one_line(words.failures(noun, failures)) for noun, failures in failed if failures.counts]


def finding_lines(findings: ReportFindings) -> Iterator[str]:
    """Yield what was found of reports: a warning for each check that failed, then an error for each report that covers too little."""
    for failed in findings.failed_checks:
        where, sentence = some(failed.partitions), one_line(failed.sentence)
        if len(failed.partitions) == 1:
            yield f"warning: {failed.suite} {where}: {sentence}"
        else:
            failures = f"{failed.check} failed in {len(failed.partitions):,} partitions ({where})"
            yield f"warning: {failed.suite}: {failures}; in the first: {sentence}"
    for short in findings.shortfalls[:MAX_SHOWN]:
        yield f"error: {short.suite} {short.partition}: {one_line(short.shortfall.sentence)}"
    if (left := len(findings.shortfalls) - MAX_SHOWN) > 0:
        yield f"error: coverage is too low in {plural(left, 'further partition')}; `--json` names them all."


def some(names: Sequence[str]) -> str:
    """Return names as text: the first few, and how many more there are."""
    left = len(names) - MAX_SHOWN
    return ", ".join(names[:MAX_SHOWN]) + (f" and {left:,} more" if left > 0 else "")


def plan_lines(plan: SuitePlan) -> Iterator[str]:
    """Yield a plan as lines: what each cell and judge would ask, what is finished, tokens, price."""
    questions = plural(plan.questions, "question")
    yield f"suite {plan.suite}: {questions}, {plural(len(plan.arms), 'arm')} ({', '.join(plan.arms)}), {plural(plan.draws, 'draw')}"
    for warning in plan.warnings:
        yield f"  warning: {one_line(warning)}"
    for title, stage in (("answers", plan.answers), ("scores", plan.judgements)):
        yield from planned_lines(title, stage)
    yield f"  total: {price_words(plan.price_usd)}"
    yield from spend_cap_lines(plan.spend_cap, plan.price_usd)


def spend_cap_lines(cap: SpendCap | None, price_usd: float | None) -> Iterator[str]:
    """Yield what a spend cap means for a plan of that price; nothing where there is no cap."""
    if cap is None:
        return
    each = "a run of a cell's answers, or of its scores under a judge"
    yield f"  spend cap: ${cap.max_cost_usd_per_run:g} {each}; {plural(cap.runs, 'such run')}, at most ${cap.most_usd:,.2f} together"
    if price_usd is None:
        yield "    warning: a call of unknown price is not asked under a cap; `prices` of its endpoint says the price"


def planned_lines(title: str, stage: Iterable[PlannedCalls]) -> Iterator[str]:
    """Yield a line for each cell, or each cell under a judge, with the calls that it would make, tokens and price."""
    for planned in stage:
        shared = f"{planned.shared:,} shared with what is asked above, " if planned.shared else ""
        yield (
            f"  {title} {planned.who}: {plural(planned.calls, 'call')}, {planned.finished:,} finished, {shared}{planned.to_ask:,} to ask; "
            f"about {planned.prompt_tokens:,} prompt and at most {planned.completion_tokens_most:,} completion tokens, "
            f"{price_words(planned.price_usd)}"
        )
        if planned.unprepared:
            yield f"    warning: retrieval failed for {plural(planned.unprepared, 'prompt')}"


def price_words(price_usd: float | None) -> str:
    """Return a price as text; one that is not known is said to be unknown."""
    return "unknown price" if price_usd is None else f"${price_usd:,.4f}"
