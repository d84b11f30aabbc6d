"""The Parquet table of a drift history: declared columns, one row for each scenario at each night that was to watch it."""

from functools import cache
from typing import TYPE_CHECKING, Any

from evalplatform.kernel.values import Value
from evalplatform.monitoring.trend import DriftHistory, TrendMark
from evalplatform.runs.night import Slot
from evalplatform.stages.tables import Table

if TYPE_CHECKING:
    import pyarrow

COUNTS = ("failed", "graded", "path_differing", "path_graded")


class MarkRow(Value):
    """One scenario of one stream at one night."""

    stream: str
    scenario_id: str
    at_night: TrendMark


@cache
def _schema() -> "pyarrow.Schema":
    import pyarrow as pa

    fields: list[pa.Field[Any]] = [
        pa.field("stream", pa.string(), nullable=False),
        pa.field("scenario_id", pa.string(), nullable=False),
        pa.field("night", pa.string(), nullable=False),
        pa.field("due_at", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("local_date", pa.date32(), nullable=False),
        pa.field("mark", pa.string(), nullable=False),
        *(pa.field(name, pa.int32(), nullable=False) for name in COUNTS),
        pa.field("replay_batch", pa.string()),
        pa.field("live_batch", pa.string()),
    ]
    return pa.schema(fields)


def _row(row: MarkRow) -> dict[str, Any]:
    fields = row.at_night.model_dump(exclude={"slot"})
    slot = row.at_night.slot
    return {"stream": row.stream, "scenario_id": row.scenario_id, "due_at": slot.at, "local_date": slot.local_date, **fields}


def _mark_row(row: dict[str, Any]) -> MarkRow:
    fields = dict(row)
    stream, scenario_id = fields.pop("stream"), fields.pop("scenario_id")
    slot = Slot(at=fields.pop("due_at"), local_date=fields.pop("local_date"))
    return MarkRow(stream=stream, scenario_id=scenario_id, at_night=TrendMark(slot=slot, **fields))


MARKS = Table(schema=_schema, to_row=_row, from_row=_mark_row)


def marks_table(history: DriftHistory) -> bytes:
    """Return the marks of every trend as Parquet, in the order of the trends, oldest night first."""
    return MARKS.write(
        MarkRow(stream=trend.stream, scenario_id=trend.scenario_id, at_night=mark) for trend in history.trends for mark in trend.marks
    )
