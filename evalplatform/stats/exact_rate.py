"""The exact interval of a rate: it holds at its level or better whatever the rate and however few the trials."""

from evalplatform.stats.mean import CONFIDENCE
from evalplatform.stats.wilson import RateInterval


def exact_rate_interval(successes: int, trials: int) -> RateInterval | None:
    """Return the share of successes with the 95% interval of Clopper and Pearson.

    It is wider than Wilson's, and never holds less often than it says: what a promise is measured against.

    Args:
        successes: how many trials succeeded.
        trials: how many there were, independent of each other and with one rate.

    Returns:
        The rate and its interval, or None without a trial.

    Raises:
        ValueError: successes are below 0 or above the trials.

    Example:
        >>> interval = exact_rate_interval(0, 10)
        >>> round(interval.ci_hi, 4)
        0.3085

    References:
        Clopper and Pearson, Biometrika 26(4), 1934.
    """
    from scipy.stats import beta

    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials")
    if trials == 0:
        return None
    tail = (1 - CONFIDENCE) / 2
    lo = 0.0 if successes == 0 else float(beta.ppf(tail, successes, trials - successes + 1))
    hi = 1.0 if successes == trials else float(beta.ppf(1 - tail, successes + 1, trials - successes))
    return RateInterval(rate=successes / trials, ci_lo=lo, ci_hi=hi)
