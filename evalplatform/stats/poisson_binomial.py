"""How often at least so many of many independent events happen, fast enough for thousands of them."""

from collections.abc import Mapping


def chance_of_as_many(events: int, numbers_by_rate: Mapping[float, int]) -> float:
    """Return how often at least `events` of independent events happen, each with a rate of its own (the Poisson-binomial's upper tail).

    The events are taken in one after the other; what has come to `events` stays there. Only sums of products of numbers that are not
    negative are formed, so nothing cancels: with n events the relative error is at most about 3n rounding units, 1e-11 at 10,000.
    `repeated_runs.chance_of_at_least` is exact, in fractions, and slow beyond some hundred events.

    Args:
        events: how many; 0 or fewer always happen.
        numbers_by_rate: for each rate, in [0, 1], how many events have it.

    Raises:
        ValueError: a rate outside [0, 1], or a negative number of events.

    Example:
        >>> round(chance_of_as_many(1, {1 / 70: 1, 0.0: 1}), 4)
        0.0143

    References:
        Hong, Computational Statistics and Data Analysis 59, 2013.
    """
    for rate, number in numbers_by_rate.items():
        if not 0 <= rate <= 1 or number < 0:
            raise ValueError(f"{number} events with the rate {rate!r}")
    if events <= 0:
        return 1.0
    possible = {rate: number for rate, number in numbers_by_rate.items() if rate > 0}
    if sum(possible.values()) < events:
        return 0.0
    import numpy as np

    chances = np.zeros(events)  # of 0, 1, ... events - 1
    chances[0] = 1.0
    reached = 0.0
    for rate in sorted(possible):
        for _ in range(possible[rate]):
            reached += float(chances[-1]) * rate
            comes = chances[:-1] * rate
            chances *= 1 - rate
            chances[1:] += comes
    return min(reached, 1.0)
