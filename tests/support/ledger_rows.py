"""Ledger rows for tests."""

from datetime import UTC, datetime

from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.usage import Usage
from evalplatform.ports.ledger import CallKey, LedgerRow, Purpose
from evalplatform.ports.model_client import ModelReply


def a_row(
    request: str,
    *,
    text: str = "an answer",
    scope: str = "shared",
    draw: int = 0,
    attempt: int = 0,
    run_id: str = "run-1",
    project: str = "demo",
    model: str = "small",
    cost_usd: float | None = 0.5,
    price_table: str | None = "2026-01",
    prompt_tokens: int | None = 10,
    completion_tokens: int | None = 2,
    purpose: Purpose = "answer",
    finished_at: datetime = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
) -> LedgerRow:
    """Return a finished call of the request that the text stands for."""
    return LedgerRow(
        key=CallKey(scope=scope, request_digest=text_digest(request), draw=draw, attempt=attempt),
        project=project,
        run_id=run_id,
        purpose=purpose,
        provider="openai-compatible",
        model=model,
        reply=ModelReply(
            text=text,
            finish_reason="stop",
            usage=Usage(prompt_tokens=prompt_tokens, completion_tokens=completion_tokens),
            latency_seconds=0.125,
        ),
        cost_usd=cost_usd,
        price_table=price_table,
        finished_at=finished_at,
    )
