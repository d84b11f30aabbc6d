"""What a retention did, or would do, as text and JSON."""

from collections.abc import Iterator
from typing import Any

from evalplatform.kernel.text import plural
from evalplatform.monitoring.retention import NIGHT_DAYS, Holder, RetainedBatch, RetentionOutcome
from evalplatform.project.schema import RetentionSettings
from evalplatform.reports import words
from evalplatform.reports.view import Cell, Column, Table
from evalplatform.reports.visible import one_line

TITLES = ("Batch", "Recorded (UTC)", "Was", "Becomes", "Runs kept", "Runs removed", "Why")
NUMERIC = ("Runs kept", "Runs removed")
KEEPS_ALL = "Every run is kept: the project file has no `retention:` block, or an empty one."


def retention_lines(outcome: RetentionOutcome) -> Iterator[str]:
    """Yield the rule, the batches that lose runs, then those that something holds, columns aligned, and what it comes to."""
    yield rule_sentence(outcome.settings)
    rows = [_cells(batch, outcome.settings) for batch in (*outcome.changed, *outcome.held)]
    if rows:
        yield ""
        table = [TITLES, *(tuple(one_line(cell) for cell in row) for row in rows)]
        widths = [max(len(row[column]) for row in table) for column in range(len(TITLES))]
        for row in table:
            yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield ""
    yield summary_sentence(outcome)


def retention_table(outcome: RetentionOutcome, *, most_rows: int) -> Table | None:
    """Return the batches that lose runs, then those that something holds, at most so many; None where there is neither."""
    batches = (*outcome.changed, *outcome.held)[:most_rows]
    if not batches:
        return None
    rows = (tuple(Cell(text=text) for text in _cells(batch, outcome.settings)) for batch in batches)
    return Table(columns=tuple(Column(label=title, numeric=title in NUMERIC) for title in TITLES), rows=tuple(rows))


def retention_json(outcome: RetentionOutcome) -> dict[str, Any]:
    """Return the outcome as JSON: each batch with what it was and becomes, the runs that stay and go, and why."""
    return {
        "decided_at": outcome.decided_at.isoformat(),
        "retention": outcome.settings.model_dump(mode="json"),
        "dry_run": outcome.is_dry_run,
        "batches": [
            {
                **batch.step.model_dump(mode="json"),
                "kept_runs": batch.kept_runs,
                "removed_runs": batch.removed_runs,
                "why": _why(batch, outcome.settings),
            }
            for batch in outcome.batches
        ],
        "states": dict(outcome.states),
        "removed_trajectories": outcome.removed_trajectories,
    }


def rule_sentence(settings: RetentionSettings) -> str:
    """Return from which ages on batches are compacted and expire."""
    ages = (("are compacted", settings.compact_after_days), ("expire", settings.expire_after_days))
    said = [f"{what} {plural(days, 'day')} after they were recorded" for what, days in ages if days is not None]
    return f"Batches {' and '.join(said)}." if said else KEEPS_ALL


def summary_sentence(outcome: RetentionOutcome) -> str:
    """Return how many batches lose how many runs, how many are held, what the project has then, and whether anything was changed."""
    changed, held = outcome.changed, outcome.held
    removed_runs = sum(batch.removed_runs or 0 for batch in changed)
    verb = "would lose" if outcome.is_dry_run else "lost"
    parts = [f"{_batches(len(changed))} {verb} {plural(removed_runs, 'run')}" if changed else f"No batch {verb} a run"]
    if held:
        parts.append(f"{len(held):,} {'stays as it is' if len(held) == 1 else 'stay as they are'}, being needed")
    if outcome.removed_trajectories is not None:
        gone = outcome.removed_trajectories
        parts.append(f"{gone:,} {'trajectory' if gone == 1 else 'trajectories'} went that no run names any more")
    states = ", ".join(f"{number:,} {state}" for state, number in outcome.states.items())
    nothing = " Nothing was changed: a dry run." if outcome.is_dry_run else ""
    return f"{'; '.join(parts)}. {'Then there would be' if outcome.is_dry_run else 'There are now'} {states}.{nothing}"


def _cells(batch: RetainedBatch, settings: RetentionSettings) -> tuple[str, ...]:
    step = batch.step
    return (
        step.batch_id,
        f"{step.recorded_at:%Y-%m-%d %H:%M}",
        step.before,
        step.after if step.changes else f"stays {step.before}",
        words.count(batch.kept_runs),
        words.count(batch.removed_runs),
        _why(batch, settings),
    )


def _batches(number: int) -> str:
    return f"{number:,} {'batch' if number == 1 else 'batches'}"


def _why(batch: RetainedBatch, settings: RetentionSettings) -> str:
    step = batch.step
    days = settings.expire_after_days if step.due == "expired" else settings.compact_after_days
    age = f"{plural(days or 0, 'day')} old or older"
    return age if step.holder is None else f"{age}, but {_holder_words(step.holder)}"


def _holder_words(holder: Holder) -> str:
    if holder.kind == "gate":
        return f"the remembered gate {holder.name} names it"
    if holder.kind == "night":
        return f"the night {holder.name} of the last {NIGHT_DAYS} days names it"
    return f"the schedule {holder.name} pins a run of it"
