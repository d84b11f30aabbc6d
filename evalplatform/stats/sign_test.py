"""The sign test of paired differences: only which side wins counts, not by how much."""

from collections.abc import Iterable

from pydantic import Field

from evalplatform.kernel.values import Value

TIE = 1e-9
"""A difference of at most this is none: means of draws miss equality by their last binary digit."""


class SignTest(Value):
    """How often each side won, and how often chance alone would be at least as lopsided.

    `wins` are differences above 0, `losses` below, `ties` the rest. `p_value` is two-sided and uncorrected; 1.0 where nothing was won or
    lost.
    """

    wins: int = Field(ge=0)
    losses: int = Field(ge=0)
    ties: int = Field(ge=0)
    p_value: float = Field(gt=0, le=1)


def sign_test(differences: Iterable[float]) -> SignTest:
    """Return the exact two-sided sign test of paired differences.

    Under the null hypothesis a pair that is no tie is won as often as lost, so wins are binomial with probability 1/2. Ties say nothing
    about the side and are left out. Unlike a test of the mean it takes no judge's scale at its word: a judge that spreads its points wider
    has no more weight.

    Args:
        differences: candidate minus baseline, one per independent pair.

    Example:
        >>> sign_test([1.0, 2.0, 3.0, 1.5, 0.5, 4.0, -1.0, 0.0]).p_value
        0.125

    References:
        Arbuthnot, Philosophical Transactions 27, 1710. Dixon and Mood, Journal of the American Statistical Association 41(236), 1946
        (ties).
    """
    wins = losses = ties = 0
    for difference in differences:
        wins += difference > TIE
        losses += difference < -TIE
        ties += abs(difference) <= TIE
    return SignTest(wins=wins, losses=losses, ties=ties, p_value=sign_test_p_value(wins, losses))


def sign_test_p_value(wins: int, losses: int) -> float:
    """Return how often a fair coin lands at least as lopsided as so many wins and losses, on either side.

    The binomial with probability 1/2 is symmetric, so this is twice its smaller tail, and never above 1.

    Raises:
        ValueError: a count below 0.
    """
    if wins < 0 or losses < 0:
        raise ValueError(f"{wins} wins and {losses} losses; counts are not below 0")
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5)))
