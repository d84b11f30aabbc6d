"""How artifacts round numbers: the one place. Decisions are taken before, on unrounded numbers."""

SMALLEST_FIXED_P = 1e-4


def rounded(number: float, digits: int) -> float:
    """Return the number with that many decimals (half to even, as binary floats stand); never `-0.0`."""
    return round(number, digits) + 0.0


def rounded_or_none(number: float | None, digits: int) -> float | None:
    """Return the rounded number, or None for an unknown one."""
    return None if number is None else rounded(number, digits)


def rounded_p(p_value: float | None) -> float | None:
    """Return a p-value with four decimals, or with three significant digits below 1e-4, where four decimals would show an impossible 0."""
    if p_value is None:
        return None
    return round(p_value, 4) if p_value >= SMALLEST_FIXED_P else float(f"{p_value:.2e}")
