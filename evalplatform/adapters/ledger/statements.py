"""The ledger's SQL: look calls up, record them, add up what runs have paid. Everything here works on many calls at once."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, cast

import zstandard
from pydantic import ValidationError
from sqlalchemy import Connection, RowMapping, Table, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite

from evalplatform.adapters.tables.calls import calls, run_spend
from evalplatform.kernel.errors import StorageError
from evalplatform.ports.ledger import CallKey, LedgerRow, Purpose, Spend
from evalplatform.ports.model_client import ModelReply

LOOKUP_CHUNK = 400  # keys a statement: well below the 32,766 parameters that SQLite takes

KeyTuple = tuple[str, str, int, int]


def key_tuple(key: CallKey) -> KeyTuple:
    """Return the key as a tuple, which hashes faster than the value."""
    return (key.scope, key.request_digest, key.draw, key.attempt)


def find_calls(connection: Connection, project: str, keys: Iterable[KeyTuple]) -> dict[KeyTuple, LedgerRow]:
    """Return the rows that have one of the keys."""
    wanted = set(keys)
    ordered = sorted(wanted)
    found: dict[KeyTuple, LedgerRow] = {}
    for start in range(0, len(ordered), LOOKUP_CHUNK):
        for record in connection.execute(_LOOKUP, _lookup_values(project, ordered[start : start + LOOKUP_CHUNK])).mappings():
            key = (record["scope"], record["request_digest"], record["draw"], record["attempt"])
            if key in wanted:
                found[key] = decode(record)
    return found


def record_calls(connection: Connection, project: str, rows: Sequence[LedgerRow]) -> dict[KeyTuple, LedgerRow]:
    """Insert the rows whose keys are free, and return for every key the row that stays.

    What the rows cost is added to their runs in the same transaction. A row that comes second to another run's was paid for all the same
    and counts; one that comes second to its own run's is the same call told again and does not. Rows go in by the order of their keys, so
    that two processes that record the same keys wait for each other and never both.
    """
    by_key: dict[KeyTuple, LedgerRow] = {}
    for row in rows:
        by_key.setdefault(key_tuple(row.key), row)
    ordered = sorted(by_key)
    compressor = zstandard.ZstdCompressor()  # made once a batch: making one costs as much as compressing a reply
    returned = connection.execute(_insert(connection.dialect.name), [encode(by_key[key], compressor) for key in ordered])
    inserted = {(scope, digest, draw, attempt) for scope, digest, draw, attempt in returned}
    taken = [key for key in ordered if key not in inserted]
    kept = find_calls(connection, project, taken) if taken else {}
    _add_spend(connection, project, [row for key, row in by_key.items() if key not in kept or kept[key].run_id != row.run_id])
    return by_key | kept


def read_spend(connection: Connection, project: str, run_ids: Iterable[str]) -> dict[str, Spend]:
    """Return what each run has paid; a run that has paid nothing has no entry."""
    statement = select(run_spend).where(run_spend.c.project == project, run_spend.c.run_id.in_(sorted(set(run_ids))))
    return {
        record["run_id"]: Spend(known_usd=record["known_usd"], calls=record["calls"], unpriced_calls=record["unpriced_calls"])
        for record in connection.execute(statement).mappings()
    }


def encode(row: LedgerRow, compressor: zstandard.ZstdCompressor) -> dict[str, object]:
    """Return the row's columns."""
    usage = row.reply.usage
    return {
        "project": row.project,
        "scope": row.key.scope,
        "request_digest": row.key.request_digest,
        "draw": row.key.draw,
        "attempt": row.key.attempt,
        "run_id": row.run_id,
        "purpose": row.purpose,
        "provider": row.provider,
        "model": row.model,
        "reply": compressor.compress(row.reply.model_dump_json().encode()),
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "latency_seconds": row.reply.latency_seconds,
        "cost_usd": row.cost_usd,
        "price_table": row.price_table,
        "finished_at": row.finished_at,
    }


def decode(record: RowMapping) -> LedgerRow:
    """Return the row that the columns hold, validated.

    Raises:
        StorageError: its reply cannot be read.
    """
    try:
        reply = ModelReply.model_validate_json(zstandard.decompress(record["reply"]))
    except (zstandard.ZstdError, ValidationError) as error:
        raise StorageError(f"the ledger's row of {record['request_digest']} is damaged: its reply cannot be read ({error}).") from error
    return LedgerRow(
        key=CallKey(scope=record["scope"], request_digest=record["request_digest"], draw=record["draw"], attempt=record["attempt"]),
        project=record["project"],
        run_id=record["run_id"],
        purpose=cast("Purpose", record["purpose"]),
        provider=record["provider"],
        model=record["model"],
        reply=reply,
        cost_usd=record["cost_usd"],
        price_table=record["price_table"],
        finished_at=record["finished_at"],
    )


# Statements are built once: SQLAlchemy takes longer to build one than to run it. Row values, (scope, digest, draw, attempt) IN (...), would
# say the lookup exactly, but SQLite 3.40 then reads the whole project, while lists on single columns go down the index. The few neighbours
# that come along (another draw of a request) are left out by the caller.
_KEY_COLUMNS = ("scope", "request_digest", "draw", "attempt")
_LOOKUP = select(calls).where(
    calls.c.project == bindparam("wanted_project"),
    *(calls.c[name].in_(bindparam(f"wanted_{name}", expanding=True)) for name in _KEY_COLUMNS),
)


def _lookup_values(project: str, keys: Sequence[KeyTuple]) -> dict[str, object]:
    columns = zip(_KEY_COLUMNS, zip(*keys, strict=True), strict=True)
    return {"wanted_project": project, **{f"wanted_{name}": sorted(set(values)) for name, values in columns}}


def _insert_into(dialect_name: str, table: Table) -> Any:
    insert = postgresql.insert if dialect_name == "postgresql" else sqlite.insert
    return insert(table)


@cache
def _insert(dialect_name: str) -> Any:
    return _insert_into(dialect_name, calls).on_conflict_do_nothing().returning(*(calls.c[name] for name in _KEY_COLUMNS))


@cache
def _upsert_spend(dialect_name: str) -> Any:
    insert = _insert_into(dialect_name, run_spend)
    added = {name: run_spend.c[name] + insert.excluded[name] for name in ("known_usd", "calls", "unpriced_calls")}
    return insert.on_conflict_do_update(index_elements=["project", "run_id"], set_=added)


def _add_spend(connection: Connection, project: str, rows: Sequence[LedgerRow]) -> None:
    if not rows:
        return
    totals: dict[str, dict[str, Any]] = {}
    for row in rows:
        total = totals.setdefault(row.run_id, {"project": project, "run_id": row.run_id, "known_usd": 0.0, "calls": 0, "unpriced_calls": 0})
        total["known_usd"] += row.cost_usd or 0.0
        total["calls"] += 1
        total["unpriced_calls"] += row.cost_usd is None
    connection.execute(_upsert_spend(connection.dialect.name), [totals[run_id] for run_id in sorted(totals)])
