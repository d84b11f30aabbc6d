"""What a call used: tokens. Unknown is None, never 0."""

from collections.abc import Iterable, Sequence

from pydantic import Field

from evalplatform.kernel.values import Value


class Usage(Value):
    """Tokens of one or more calls, as the provider counted them; None where it did not say.

    `cache_read_tokens` is the part of `prompt_tokens` that a provider cache served; `reasoning_tokens` the part of `completion_tokens` that
    was spent before the visible answer.
    """

    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)
    cache_read_tokens: int | None = Field(default=None, ge=0)
    reasoning_tokens: int | None = Field(default=None, ge=0)

    @property
    def total_tokens(self) -> int | None:
        """Prompt and completion tokens together; None unless both are known."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens


def known_sum(numbers: Iterable[float | None]) -> float | None:
    """Return the sum of the known numbers, or None when none is known: a sum of unknowns is unknown, not 0."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def whole_sum(numbers: Iterable[float | None]) -> float | None:
    """Return the sum, or None where a number is not known, or there is none: the known part of a cost is not the cost."""
    total: float | None = None
    for number in numbers:
        if number is None:
            return None
        total = number + (total or 0.0)
    return total


def summed_usage(usages: Sequence[Usage]) -> Usage:
    """Return what several calls used together; a count that one of them does not state is unknown for all of them."""

    def whole(counts: list[int | None]) -> int | None:
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else None

    return Usage(
        prompt_tokens=whole([usage.prompt_tokens for usage in usages]),
        completion_tokens=whole([usage.completion_tokens for usage in usages]),
        cache_read_tokens=whole([usage.cache_read_tokens for usage in usages]),
        reasoning_tokens=whole([usage.reasoning_tokens for usage in usages]),
    )
