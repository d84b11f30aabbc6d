"""The tables of the ledger: `calls`, one row per finished model call, and `run_spend`, what each run has paid.

They are plain SQLAlchemy Core tables. A `LedgerRow` is nested (key, reply), so no flat row class can inherit it, and every run opens the
ledger: without SQLModel that takes half the CPU.
"""

from sqlalchemy import BigInteger, Column, Float, Integer, LargeBinary, Table, Text, UniqueConstraint

from evalplatform.adapters.tables.base import ROW_ID, UtcDateTime, metadata

calls = Table(
    "calls",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    Column("project", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("request_digest", Text, nullable=False),
    Column("draw", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    # The reply is compressed JSON: text of any kind, NUL included, which Postgres refuses in a text column.
    Column("reply", LargeBinary, nullable=False),
    Column("prompt_tokens", BigInteger),
    Column("completion_tokens", BigInteger),
    Column("cache_read_tokens", BigInteger),
    Column("reasoning_tokens", BigInteger),
    Column("latency_seconds", Float(53), nullable=False),
    Column("cost_usd", Float(53)),
    Column("price_table", Text),
    Column("finished_at", UtcDateTime, nullable=False),
    # The digest comes second: it is what tells calls apart, so a lookup reads one leaf of the index.
    UniqueConstraint("project", "request_digest", "scope", "draw", "attempt", name="uq_calls_key"),
)

run_spend = Table(
    "run_spend",
    metadata,
    Column("project", Text, primary_key=True),
    Column("run_id", Text, primary_key=True),
    Column("known_usd", Float(53), nullable=False),
    Column("calls", BigInteger, nullable=False),
    Column("unpriced_calls", BigInteger, nullable=False),
)
