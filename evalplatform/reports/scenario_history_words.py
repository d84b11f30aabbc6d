"""When a scenario changed, as lines: every remembered gate that compared it, with the first flip and the first change of path marked."""

from collections.abc import Iterator

from evalplatform.gates.scenario_history import HistoryEntry, ScenarioHistory
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.gate_baseline_words import STANDING_WORDS
from evalplatform.reports.view import Cell, Column, Table
from evalplatform.reports.visible import with_visible_spaces

COLUMNS = (
    Column(label="Gated", numeric=False),
    Column(label="Commit", numeric=False),
    Column(label="Branch", numeric=False),
    Column(label="Batch", numeric=False),
    Column(label="Passed"),
    Column(label="Verdict", numeric=False),
    Column(label="Gate", numeric=False),
    Column(label="What changed", numeric=False),
)


def history_sentence(history: ScenarioHistory) -> str:
    """Return when the scenario changed, in a sentence."""
    gates = plural(len(history.entries), "remembered gate")
    name = with_visible_spaces(history.scenario_id)
    flip, path = history.first_flip, history.first_path_change
    if flip is None and path is None:
        return f"{name}: neither its verdict nor its path changed at {gates}."
    said = [
        f"{what} at {_where(entry)}" for what, entry in (("its verdict flipped", flip), ("its path changed", path)) if entry is not None
    ]
    return f"{name}: of {gates}, first {' and '.join(said)}."


def history_table(history: ScenarioHistory) -> Table:
    """Return the gates as a table, oldest first."""
    return Table(columns=COLUMNS, rows=tuple(_row(entry, history) for entry in history.entries))


def _where(entry: HistoryEntry) -> str:
    commit = entry.gate.commit
    at = f"{entry.gate.received_at:%Y-%m-%d %H:%M} UTC"
    return f"the gate of {at} ({entry.gate.report.candidate})" if commit is None else f"commit {commit} ({at})"


def _row(entry: HistoryEntry, history: ScenarioHistory) -> tuple[Cell, ...]:
    gate, scenario = entry.gate, entry.scenario
    return (
        Cell(text=f"{gate.received_at:%Y-%m-%d %H:%M} UTC"),
        Cell(text=gate.commit or words.MISSING),
        Cell(text=gate.report.branch or words.MISSING),
        Cell(text=gate.report.candidate),
        Cell(text=f"{scenario.candidate.passed}/{scenario.candidate.graded}"),
        Cell(text=scenario.verdict or "could not run"),
        Cell(
            text=f"{STANDING_WORDS[gate.standing]}{', failing it' if scenario.gates else ''}", tone="worse" if scenario.gates else "plain"
        ),
        Cell(text=", ".join(_marks(entry, history)), tone="caution"),
    )


def _marks(entry: HistoryEntry, history: ScenarioHistory) -> Iterator[str]:
    if entry.verdict_flipped:
        yield "first flip" if entry is history.first_flip else "flipped"
    if entry.path_changed:
        yield "first change of path" if entry is history.first_path_change else "other path"
