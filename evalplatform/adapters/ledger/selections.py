"""The ledger's SQL over many calls at once: list them, add them up, remove them."""

from collections.abc import Sequence
from datetime import date
from typing import cast

from sqlalchemy import ColumnElement, Connection, RowMapping, String, and_, case, delete, func, or_, select

from evalplatform.adapters.ledger.statements import KeyTuple, decode
from evalplatform.adapters.tables.calls import calls
from evalplatform.ports.ledger import CallGroup, CallSelection, CallSums, LedgerRow, Purpose

DELETE_CHUNK = 100  # keys a statement: each is a term of its own, and SQLite takes 1,000 of them nested

_GROUP_COLUMNS = (calls.c.scope, calls.c.purpose, calls.c.provider, calls.c.model)


def page_of_rows(
    connection: Connection, project: str, selection: CallSelection, *, after_id: int, limit: int
) -> list[tuple[int, LedgerRow]]:
    """Return at most `limit` of the selected rows that were recorded after the row `after_id`, oldest first, each with its id."""
    statement = select(calls).where(*_conditions(project, selection), calls.c.id > after_id).order_by(calls.c.id).limit(limit)
    return [(record["id"], decode(record)) for record in connection.execute(statement).mappings()]


def call_groups(connection: Connection, project: str, selection: CallSelection) -> tuple[CallGroup, ...]:
    """Return the selected calls added up by day, scope, purpose, provider and model, in that order."""
    day = _day(connection.dialect.name).label("day")
    uncounted = or_(calls.c.prompt_tokens.is_(None), calls.c.completion_tokens.is_(None))
    statement = (
        select(
            day,
            *_GROUP_COLUMNS,
            func.count().label("calls"),
            func.sum(calls.c.cost_usd).label("cost_usd"),
            func.sum(_one_if(calls.c.cost_usd.is_(None))).label("unpriced_calls"),
            func.sum(calls.c.prompt_tokens).label("prompt_tokens"),
            func.sum(calls.c.completion_tokens).label("completion_tokens"),
            func.sum(_one_if(uncounted)).label("uncounted_calls"),
            func.min(calls.c.finished_at).label("first_finished_at"),
            func.max(calls.c.finished_at).label("last_finished_at"),
        )
        .where(*_conditions(project, selection))
        .group_by(day, *_GROUP_COLUMNS)
    )
    groups = [_group(record) for record in connection.execute(statement).mappings()]
    return tuple(sorted(groups, key=lambda group: (group.day, group.scope, group.purpose, group.provider, group.model)))


def remove_calls(connection: Connection, project: str, keys: Sequence[KeyTuple]) -> int:
    """Delete the rows with those keys and return how many there were."""
    removed = 0
    ordered = sorted(set(keys))
    for start in range(0, len(ordered), DELETE_CHUNK):
        wanted = or_(*(_has_key(key) for key in ordered[start : start + DELETE_CHUNK]))
        removed += connection.execute(delete(calls).where(calls.c.project == project, wanted)).rowcount
    return removed


def _has_key(key: KeyTuple) -> ColumnElement[bool]:
    scope, request_digest, draw, attempt = key
    return and_(calls.c.request_digest == request_digest, calls.c.scope == scope, calls.c.draw == draw, calls.c.attempt == attempt)


def _conditions(project: str, selection: CallSelection) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [calls.c.project == project]
    if selection.scope is not None:
        conditions.append(calls.c.scope == selection.scope)
    if selection.purpose is not None:
        conditions.append(calls.c.purpose == selection.purpose)
    if selection.since is not None:
        conditions.append(calls.c.finished_at >= selection.since)
    if selection.before is not None:
        conditions.append(calls.c.finished_at < selection.before)
    if selection.digest_start is not None:
        conditions.append(calls.c.request_digest.startswith(selection.digest_start, autoescape=True))
    return conditions


def _one_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)


def _day(dialect_name: str) -> ColumnElement[str]:
    """Return the day of a call in UTC as `YYYY-MM-DD`. SQLite keeps UTC as text; Postgres would take the session's time zone."""
    if dialect_name == "postgresql":
        return func.to_char(func.timezone("UTC", calls.c.finished_at), "YYYY-MM-DD", type_=String)
    return func.date(calls.c.finished_at, type_=String)


def _group(record: RowMapping) -> CallGroup:
    return CallGroup(
        day=date.fromisoformat(record["day"]),
        scope=record["scope"],
        purpose=cast("Purpose", record["purpose"]),
        provider=record["provider"],
        model=record["model"],
        sums=CallSums(**{name: record[name] for name in CallSums.model_fields}),
    )
