"""Why rows failed, counted by the stable part of their reasons, with one reason as it was told."""

from collections import Counter
from collections.abc import Iterable

from evalplatform.kernel.text import clip
from evalplatform.kernel.values import Value

FIRST_LIMIT_CHARS = 300


class Failures(Value):
    """Failed rows: `counts` by the stable part of their reasons; `first` is a whole reason, clipped, or None where nothing failed."""

    counts: dict[str, int]
    first: str | None


def failures_of(reasons: Iterable[str]) -> Failures:
    """Return the failures that have these reasons; `first` is the first of them that says more than its stable part, else the first."""
    counts: Counter[str] = Counter()
    first: str | None = None
    for reason in reasons:
        stable = stable_part(reason)
        counts[stable] += 1
        if first is None or (reason != stable and first in counts):
            first = reason
    return Failures(counts=dict(counts), first=None if first is None else clip(first, FIRST_LIMIT_CHARS))


def stable_part(reason: str) -> str:
    """Return what stands before the second colon and space: `generation_failed: auth` of `generation_failed: auth: HTTP 401, ...`."""
    return ": ".join(reason.split(": ")[:2])
