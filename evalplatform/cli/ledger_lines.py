"""The ledger as lines of text."""

from collections.abc import Iterator
from pathlib import Path

from evalplatform.calls.ledger_overview import LedgerOverview
from evalplatform.kernel.text import plural
from evalplatform.ports.ledger import CallSums, LedgerRow
from evalplatform.reports.visible import one_line, with_visible_controls
from evalplatform.reports.words import MISSING

COLUMNS = ("calls", "cost", "unpriced", "prompt tokens", "completion tokens", "first", "last")


def overview_lines(overview: LedgerOverview) -> Iterator[str]:
    """Yield a line for each name that calls are added up by, and the total last, columns aligned."""
    lines: list[tuple[str, ...]] = [("", *COLUMNS)]
    for dimension, named in overview.by.items():
        lines.append((f"by {dimension}",))
        lines += [(f"  {one_line(name)}", *_cells(sums)) for name, sums in named.items()]
    lines.append(("total", *_cells(overview.total)))
    widths = [max(len(line[column]) for line in lines if len(line) > column) for column in range(len(COLUMNS) + 1)]
    for name, *cells in lines:
        numbers = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=False)]
        yield "  ".join([name.ljust(widths[0]), *numbers]).rstrip()


def sums_words(sums: CallSums) -> str:
    """Return how many calls there are, and what they cost, as one line."""
    cost = "of unknown price" if sums.cost_usd is None else f"that cost ${sums.cost_usd:,.4f}"
    unpriced = f" ({sums.unpriced_calls:,} of unknown price)" if sums.unpriced_calls and sums.cost_usd is not None else ""
    return f"{plural(sums.calls, 'call')} {cost}{unpriced}" if sums.calls else plural(0, "call")


def call_lines(row: LedgerRow) -> Iterator[str]:
    """Yield one call in full: what it is, what it used, and the reply; controls that a terminal would obey are shown as tokens."""
    usage = row.reply.usage
    facts = {
        "request": row.key.request_digest,
        "scope": row.key.scope,
        "draw, attempt": f"{row.key.draw}, {row.key.attempt}",
        "purpose": row.purpose,
        "provider": row.provider,
        "model": row.model + (f" (answered as {row.reply.model_returned})" if row.reply.model_returned not in (None, row.model) else ""),
        "run": row.run_id,
        "finished": f"{row.finished_at:%Y-%m-%d %H:%M:%S} UTC after {row.reply.latency_seconds:,.3f} s",
        "tokens": f"{_number(usage.prompt_tokens)} prompt, {_number(usage.completion_tokens)} completion",
        "cost": MISSING if row.cost_usd is None else f"${row.cost_usd:,.6f} by price table {row.price_table}",
        "ended by": row.reply.finish_reason or MISSING,
    }
    for name, value in facts.items():
        yield f"{name + ':':15}{one_line(value)}"
    yield "reply:"
    yield with_visible_controls(row.reply.text)


def _cells(sums: CallSums) -> list[str]:
    days = [MISSING if moment is None else f"{moment:%Y-%m-%d}" for moment in (sums.first_finished_at, sums.last_finished_at)]
    cost = MISSING if sums.cost_usd is None else f"${sums.cost_usd:,.4f}"
    counts = [_number(count) for count in (sums.unpriced_calls, sums.prompt_tokens, sums.completion_tokens)]
    return [f"{sums.calls:,}", cost, *counts, *days]


def _number(count: int | None) -> str:
    return MISSING if count is None else f"{count:,}"


def prune_lines(sums: CallSums, *, behind: int, deleted: int, export: Path | None, done: bool) -> Iterator[str]:
    """Yield what is or would be deleted, what it cost, and what follows from that."""
    if not sums.calls:
        yield "nothing to delete: no call is as old as that"
        return
    yield f"deleted {plural(deleted, 'call')}" if done else f"would delete {sums_words(sums)}"
    yield f"{plural(behind, 'call')} of them answered what is stored now; scores do not name their calls"
    yield "what is stored stays as it is; a rerun that needs one of these calls asks, and pays for, it again"
    if export is not None:
        yield f"{'kept in' if done else 'they would be kept in'} {export}"
    if not done:
        yield "nothing was deleted: add --yes to do it"
