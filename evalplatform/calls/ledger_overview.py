"""What a ledger holds, added up in every way that people ask for."""

from collections.abc import Callable, Iterable, Sequence

from evalplatform.kernel.usage import known_sum
from evalplatform.kernel.values import Value
from evalplatform.ports.ledger import CallGroup, CallSums

DIMENSIONS: dict[str, Callable[[CallGroup], str]] = {
    "purpose": lambda group: group.purpose,
    "provider": lambda group: group.provider,
    "model": lambda group: group.model,
    "scope": lambda group: group.scope,
    "day": lambda group: group.day.isoformat(),
}


class LedgerOverview(Value):
    """The sums of all calls, and by purpose, provider, model, scope and day (UTC), each in the order of its names."""

    total: CallSums
    by: dict[str, dict[str, CallSums]]


def ledger_overview(groups: Sequence[CallGroup]) -> LedgerOverview:
    """Return the groups added up over each of their names."""
    by: dict[str, dict[str, CallSums]] = {}
    for dimension, name_of in DIMENSIONS.items():
        names = sorted({name_of(group) for group in groups})
        by[dimension] = {name: added_sums(group.sums for group in groups if name_of(group) == name) for name in names}
    return LedgerOverview(total=added_sums(group.sums for group in groups), by=by)


def added_sums(sums: Iterable[CallSums]) -> CallSums:
    """Return sums of sums; what no part knows stays None."""
    parts = list(sums)
    return CallSums(
        calls=sum(part.calls for part in parts),
        cost_usd=known_sum(part.cost_usd for part in parts),
        unpriced_calls=sum(part.unpriced_calls for part in parts),
        prompt_tokens=_known_count(part.prompt_tokens for part in parts),
        completion_tokens=_known_count(part.completion_tokens for part in parts),
        uncounted_calls=sum(part.uncounted_calls for part in parts),
        first_finished_at=min((part.first_finished_at for part in parts if part.first_finished_at is not None), default=None),
        last_finished_at=max((part.last_finished_at for part in parts if part.last_finished_at is not None), default=None),
    )


def _known_count(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
