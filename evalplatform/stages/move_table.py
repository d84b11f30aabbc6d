"""The Parquet table of moved scores: declared columns, one row a score."""

from functools import cache
from typing import TYPE_CHECKING, Any

from evalplatform.comparisons.score_moves import ScoreMove
from evalplatform.stages.tables import Table

if TYPE_CHECKING:
    import pyarrow


@cache
def _schema() -> "pyarrow.Schema":
    import pyarrow as pa

    fields: list[pa.Field[Any]] = [
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("arm", pa.string(), nullable=False),
        pa.field("draw", pa.int32(), nullable=False),
        pa.field("state", pa.string(), nullable=False),
        pa.field("points_before", pa.float64()),
        pa.field("points_now", pa.float64()),
        pa.field("bridge", pa.string()),
        pa.field("bridge_points", pa.float64()),
        pa.field("judge_move_points", pa.float64()),
        pa.field("answers_move_points", pa.float64()),
        pa.field("reason", pa.string()),
    ]
    return pa.schema(fields)


MOVES: Table[ScoreMove] = Table(_schema, ScoreMove.model_dump, ScoreMove.model_validate)
