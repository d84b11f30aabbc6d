"""The Parquet tables that stages write: declared columns, and one place that turns records into rows and back."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import orjson
from pydantic import JsonValue

from evalplatform.answering.records import ArmAnswer, CallTiming
from evalplatform.artifacts.parquet import parquet_bytes, parquet_rows
from evalplatform.comparisons.records import JudgedScore, ScoreCost, ScorePoints, ScoreProvenance
from evalplatform.kernel.compact import Compactor
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import DigestMismatchError
from evalplatform.kernel.usage import Usage
from evalplatform.kernel.values import Value

if TYPE_CHECKING:
    import pyarrow

Record = TypeVar("Record", bound=Value)
USAGE_COLUMNS = tuple(Usage.model_fields)


class Text(Value):
    """A text by its digest: a context, a system prompt, or what a judge may see."""

    digest: str
    text: str


class AnswerShape(NamedTuple):
    """The part of an answer that comparisons across runs need. A hundred thousand are read in a fraction of the time of whole answers."""

    question_id: str
    arm: str
    draw: int
    state: str
    answer: str | None
    raw_answer: str | None
    used_system_prompt: bool
    material_digest: str | None
    metadata: dict[str, JsonValue]


@dataclass(frozen=True)
class Table(Generic[Record]):
    """One table: its schema, and how a record becomes a row and comes back."""

    schema: Callable[[], "pyarrow.Schema"]
    to_row: Callable[[Record], dict[str, Any]]
    from_row: Callable[[dict[str, Any]], Record]

    def write(self, records: Iterable[Record]) -> bytes:
        """Return the records as Parquet; equal records give equal bytes."""
        return parquet_bytes(self.schema(), (self.to_row(record) for record in records))

    def read(self, data: bytes) -> Iterator[Record]:
        """Iterate over the records of a Parquet file, validated; equal parts of them are one in memory."""
        compactor = Compactor()
        for rows in parquet_rows(data):
            for row in rows:
                record = self.from_row(row)
                compactor.compact(record)
                yield record


def read_score_points(data: bytes) -> Iterator[ScorePoints]:
    """Iterate over the points of a table of scores, its other columns unread. The points are within 0-100 by the table's own writing."""
    for rows in parquet_rows(data, columns=ScorePoints._fields):
        for row in rows:
            yield ScorePoints(**{**row, "reason": _text_in(row["reason"])})


def read_score_costs(data: bytes) -> Iterator[ScoreCost]:
    """Iterate over the calls and costs of a table of scores, its other columns unread."""
    for rows in parquet_rows(data, columns=ScoreCost._fields):
        for row in rows:
            yield ScoreCost(**row)


def read_score_provenance(data: bytes) -> Iterator[ScoreProvenance]:
    """Iterate over what the scores of a table were given and took, its other columns unread."""
    for rows in parquet_rows(data, columns=ScoreProvenance._fields):
        for row in rows:
            yield ScoreProvenance(**row)


def read_answer_shapes(data: bytes) -> Iterator[AnswerShape]:
    """Iterate over the parts of a table of answers that comparisons across runs need, its other columns unread."""
    for rows in parquet_rows(data, columns=AnswerShape._fields):
        for row in rows:
            texts = {name: _text_in(row[name]) for name in ("answer", "raw_answer")}
            yield AnswerShape(**{**row, **texts, "metadata": _json_in(row["metadata"])})


def texts_table(texts: Mapping[str, str]) -> bytes:
    """Return texts as Parquet, one copy each, in the order of their digests."""
    return TEXTS.write(Text(digest=digest, text=text) for digest, text in sorted(texts.items()))


def read_texts(data: bytes) -> dict[str, str]:
    """Return texts by digest.

    Raises:
        DigestMismatchError: a text is not the one that its digest names.
    """
    texts = {row.digest: row.text for row in TEXTS.read(data)}
    for digest, text in texts.items():
        if text_digest(text) != digest:
            raise DigestMismatchError(f"the stored text {digest} is not the text that was written.")
    return texts


# Texts of users and models may hold a lone surrogate, which no UTF-8 column can. They are written escaped where they do, see _text_out.
_ESCAPE = "\x00surrogates:"


def _text_out(text: str | None) -> str | None:
    if text is None or (_is_utf8(text) and not text.startswith(_ESCAPE)):
        return text
    import json

    return _ESCAPE + json.dumps(text)


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text_in(text: str | None) -> str | None:
    if text is not None and text.startswith(_ESCAPE):
        import json

        return str(json.loads(text.removeprefix(_ESCAPE)))
    return text


def _json_out(value: object) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # a lone surrogate, which json writes escaped and orjson not at all
        import json

        return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _json_in(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        import json

        return json.loads(text)


def _schema(*fields: "pyarrow.Field[Any]") -> "pyarrow.Schema":
    import pyarrow as pa

    return pa.schema(list(fields))


def _usage_fields() -> "list[pyarrow.Field[Any]]":
    import pyarrow as pa

    return [pa.field(name, pa.int64()) for name in USAGE_COLUMNS]


@cache
def _answer_schema() -> "pyarrow.Schema":
    import pyarrow as pa

    return _schema(
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("arm", pa.string(), nullable=False),
        pa.field("draw", pa.int32(), nullable=False),
        pa.field("state", pa.string(), nullable=False),
        pa.field("answer", pa.string()),
        pa.field("raw_answer", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("request_digest", pa.string()),
        pa.field("material_digest", pa.string()),
        pa.field("context_digest", pa.string()),
        pa.field("system_prompt_digest", pa.string()),
        pa.field("used_system_prompt", pa.bool_(), nullable=False),
        pa.field("same_call", pa.bool_(), nullable=False),
        pa.field("context_chunks", pa.string(), nullable=False),
        *_usage_fields(),
        pa.field("cost_usd", pa.float64()),
        pa.field("calls", pa.int32(), nullable=False),
        pa.field("metadata", pa.string(), nullable=False),
    )


def _answer_row(answer: ArmAnswer) -> dict[str, Any]:
    return {
        "question_id": answer.question_id,
        "arm": answer.arm,
        "draw": answer.draw,
        "state": answer.state,
        "answer": _text_out(answer.answer),
        "raw_answer": _text_out(answer.raw_answer),
        "reason": _text_out(answer.reason),
        "request_digest": answer.request_digest,
        "material_digest": answer.material_digest,
        "context_digest": answer.context_digest,
        "system_prompt_digest": answer.system_prompt_digest,
        "used_system_prompt": answer.used_system_prompt,
        "same_call": answer.same_call,
        "context_chunks": _json_out([chunk.model_dump() for chunk in answer.context_chunks]),
        **answer.usage.model_dump(),
        "cost_usd": answer.cost_usd,
        "calls": answer.calls,
        "metadata": _json_out(answer.metadata),
    }


def _answer_of(row: dict[str, Any]) -> ArmAnswer:
    fields = dict(row)
    fields["usage"] = {name: fields.pop(name) for name in USAGE_COLUMNS}
    for name in ("answer", "raw_answer", "reason"):
        fields[name] = _text_in(fields[name])
    for name in ("context_chunks", "metadata"):
        fields[name] = _json_in(fields[name])
    return ArmAnswer.model_validate(fields)


@cache
def _timing_schema() -> "pyarrow.Schema":
    import pyarrow as pa

    return _schema(
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("arm", pa.string(), nullable=False),
        pa.field("draw", pa.int32(), nullable=False),
        pa.field("latency_seconds", pa.float64()),
        pa.field("time_to_first_token_seconds", pa.float64()),
        pa.field("replayed", pa.bool_(), nullable=False),
    )


@cache
def _text_schema() -> "pyarrow.Schema":
    import pyarrow as pa

    return _schema(pa.field("digest", pa.string(), nullable=False), pa.field("text", pa.string(), nullable=False))


def _text_row(text: Text) -> dict[str, Any]:
    return {"digest": text.digest, "text": _text_out(text.text)}


def _text_of(row: dict[str, Any]) -> Text:
    return Text(digest=row["digest"], text=_text_in(row["text"]) or "")


@cache
def _score_schema() -> "pyarrow.Schema":
    import pyarrow as pa

    return _schema(
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("arm", pa.string(), nullable=False),
        pa.field("draw", pa.int32(), nullable=False),
        pa.field("task_id", pa.string(), nullable=False),
        pa.field("points", pa.float64()),
        pa.field("reason", pa.string()),
        pa.field("dimensions", pa.string(), nullable=False),
        pa.field("caps", pa.string(), nullable=False),
        pa.field("unread_claims", pa.list_(pa.int32()), nullable=False),
        pa.field("grounded", pa.bool_(), nullable=False),
        pa.field("material_digest", pa.string()),
        pa.field("material_source", pa.string(), nullable=False),
        pa.field("redraws", pa.int32(), nullable=False),
        pa.field("raw_reply", pa.string()),
        pa.field("notes", pa.string(), nullable=False),
        *_usage_fields(),
        pa.field("cost_usd", pa.float64()),
        pa.field("calls", pa.int32(), nullable=False),
        pa.field("panel", pa.string()),
    )


_JUDGEMENT_JSON = ("dimensions", "caps", "notes")


def _score_row(score: JudgedScore) -> dict[str, Any]:
    judgement = score.judgement
    fields = judgement.model_dump()
    fields.update(fields.pop("usage"))
    fields.update({name: _json_out(fields[name]) for name in _JUDGEMENT_JSON})
    fields["panel"] = None if judgement.panel is None else _json_out(fields["panel"])
    fields.update(raw_reply=_text_out(judgement.raw_reply), reason=_text_out(judgement.reason), unread_claims=list(judgement.unread_claims))
    return {"question_id": score.question_id, "arm": score.arm, "draw": score.draw, **fields}


def _score_of(row: dict[str, Any]) -> JudgedScore:
    fields = dict(row)
    fields["usage"] = {name: fields.pop(name) for name in USAGE_COLUMNS}
    place = {name: fields.pop(name) for name in ("question_id", "arm", "draw")}
    fields.update({name: _json_in(fields[name]) for name in _JUDGEMENT_JSON})
    panel = fields.pop("panel", None)  # files of earlier versions have no such column
    fields["panel"] = None if panel is None else _json_in(panel)
    fields.update(raw_reply=_text_in(fields["raw_reply"]), reason=_text_in(fields["reason"]))
    return JudgedScore.model_validate({**place, "judgement": fields})


ANSWERS: Table[ArmAnswer] = Table(_answer_schema, _answer_row, _answer_of)
TIMINGS: Table[CallTiming] = Table(_timing_schema, CallTiming.model_dump, CallTiming.model_validate)
TEXTS: Table[Text] = Table(_text_schema, _text_row, _text_of)
SCORES: Table[JudgedScore] = Table(_score_schema, _score_row, _score_of)
