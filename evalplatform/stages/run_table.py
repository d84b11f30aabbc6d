"""The Parquet table of a batch's runs: declared columns, one row a run; what is nested stands in it as JSON."""

from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

from evalplatform.kernel.usage import Usage
from evalplatform.runs.records import Run
from evalplatform.stages.tables import Table

if TYPE_CHECKING:
    import pyarrow

USAGE_COLUMNS = tuple(Usage.model_fields)
JSON_COLUMNS = ("assertions", "model_verdict", "violations")


@cache
def _schema() -> "pyarrow.Schema":
    import pyarrow as pa

    fields: list[pa.Field[Any]] = [
        pa.field("scenario_id", pa.string(), nullable=False),
        pa.field("order", pa.int32(), nullable=False),
        pa.field("run_id", pa.string(), nullable=False),
        pa.field("created_at", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("leg", pa.string(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
        pa.field("score_points", pa.float64()),
        pa.field("assertions", pa.string(), nullable=False),
        pa.field("model_verdict", pa.string()),
        pa.field("violations", pa.string()),
        pa.field("scan_given_up", pa.bool_(), nullable=False),
        pa.field("trajectory_digest", pa.string()),
        pa.field("tools", pa.list_(pa.string()), nullable=False),
        pa.field("step_count", pa.int32(), nullable=False),
        *(pa.field(name, pa.int64()) for name in USAGE_COLUMNS),
        pa.field("cost_usd", pa.float64()),
        pa.field("seconds", pa.float64()),
    ]
    return pa.schema(fields)


def _row(run: Run) -> dict[str, Any]:
    fields = run.model_dump()
    fields.update(fields.pop("usage"))
    fields.update({name: None if fields[name] is None else orjson.dumps(fields[name]).decode() for name in JSON_COLUMNS})
    return {**fields, "run_id": run.id, "tools": list(run.tools)}


def _run(row: dict[str, Any]) -> Run:
    fields = dict(row)
    del fields["run_id"]
    fields["usage"] = {name: fields.pop(name) for name in USAGE_COLUMNS}
    fields.update({name: None if fields[name] is None else orjson.loads(fields[name]) for name in JSON_COLUMNS})
    return Run.model_validate(fields)


RUNS: Table[Run] = Table(_schema, _row, _run)
