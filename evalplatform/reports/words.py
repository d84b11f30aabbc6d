"""How reports spell numbers and verdicts: the one place that rounds for show. Decisions are taken before, on unrounded numbers.

A missing number is `—`. A p-value below 1e-4 is `<0.0001`. Signs are plain `+` and `-`, so that a cell can be searched for and pasted.
"""

import math
from collections.abc import Mapping

from evalplatform.calls.failures import Failures
from evalplatform.kernel.text import plural
from evalplatform.ports.model_client import Sampling

MISSING = "—"


def fixed(number: float | None, decimals: int, *, signed: bool = False) -> str:
    """Return the number with that many decimals; never `-0.0`; `—` for None."""
    if number is None:
        return MISSING
    text = f"{number:+,.{decimals}f}" if signed else f"{number:,.{decimals}f}"
    if not text.strip("+-0.,"):
        return text.lstrip("+-")
    return text


def points(number: float | None, *, signed: bool = False) -> str:
    """Return points with one decimal."""
    return fixed(number, 1, signed=signed)


def interval(lo: float | None, hi: float | None, *, decimals: int = 1, signed: bool = False) -> str:
    """Return `[lo, hi]`, or `—` unless both ends are known."""
    if lo is None or hi is None:
        return MISSING
    return f"[{fixed(lo, decimals, signed=signed)}, {fixed(hi, decimals, signed=signed)}]"


def p_value(p: float | None) -> str:
    """Return a p-value with four decimals, `<0.0001` below that, `—` where there was no test."""
    if p is None:
        return MISSING
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def count(number: int | None) -> str:
    """Return a whole number with thousands separators."""
    return MISSING if number is None else f"{number:,}"


def share(rate: float | None) -> str:
    """Return a rate as a percentage with one decimal, rounded down: a shortfall is never shown as none."""
    if rate is None:
        return MISSING
    # 0.29 * 1000 is 289.99999999999994: the nudge keeps a rate that is exact in decimals where it is.
    return f"{math.floor(rate * 1000 + 1e-9) / 10:.1f}%"


def percent(rate: float | None) -> str:
    """Return a rate as a percentage with one decimal, rounded to the nearest: for rates that are no shortfall of anything."""
    return MISSING if rate is None else f"{fixed(rate * 100, 1)}%"


def share_up(rate: float) -> str:
    """Return a rate as a percentage with one decimal, rounded up: what should be none is never shown as none."""
    return f"{math.ceil(rate * 1000 - 1e-9) / 10:.1f}%"


def usd(amount: float | None) -> str:
    """Return US dollars without a sign: two decimals from 1 up, four below, `<0.0001` for what is less, `—` for an unknown price."""
    if amount is None:
        return MISSING
    if 0 < amount < 1e-4:
        return "<0.0001"
    return fixed(amount, 2 if amount >= 1 or amount == 0 else 4)


def seconds(duration: float | None) -> str:
    """Return a duration as `1.24 s`, below 10 ms as `0.42 ms`."""
    if duration is None:
        return MISSING
    if duration < 0.01:
        return f"{duration * 1000:.2f} ms"
    return f"{duration:.2f} s"


def yes_no(decision: bool | None) -> str:
    """Return `yes`, `no`, or `—` where nothing was decided."""
    return MISSING if decision is None else "yes" if decision else "no"


def direction(significant: bool | None, delta: float | None) -> str:
    """Return the verdict on a delta: `higher`, `lower`, `no difference shown`, or `—` where there was no test.

    "No difference shown" is not "no difference": the interval says how large one could still be.
    """
    if significant is None or delta is None:
        return MISSING
    if not significant:
        return "no difference shown"
    return "higher" if delta > 0 else "lower"


def synergy(significant: bool | None, interaction: float) -> str:
    """Return the verdict on an interaction: `synergy`, `interference`, `no interaction shown`, or `—` where there was no test."""
    if significant is None:
        return MISSING
    if not significant:
        return "no interaction shown"
    return "synergy" if interaction > 0 else "interference"


def sampling(settings: Sampling) -> str:
    """Return how replies were drawn, such as `temperature 0, max_tokens 800, seed 7`; what is not set is the provider's default."""
    named = {"temperature": settings.temperature, "top_p": settings.top_p, "max_tokens": settings.max_tokens, "seed": settings.seed}
    parts = [f"{name} {value:g}" for name, value in named.items() if value is not None]
    parts += [f"{name} {value}" for name, value in sorted(settings.extra.items())]
    return ", ".join(parts) or "provider defaults"


def tally(counts: Mapping[str, int]) -> str:
    """Return counts by name, largest first: `malformed_reply 3, out_of_range 1`; `none` when there are none."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {number:,}" for name, number in ordered if number) or "none"


def failures(noun: str, found: Failures) -> str:
    """Return failures as words: `3 answers failed (generation_failed: auth 3), such as: generation_failed: auth: HTTP 401, ...`.

    There is no such reason where it would say no more than the counts.
    """
    text = f"{plural(sum(found.counts.values()), noun)} failed ({tally(found.counts)})"
    return text if found.first is None or found.first in found.counts else f"{text}, such as: {found.first}"


def listed(names: list[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def reason_head(reason: str) -> str:
    """Return the stable part of a reason: what stands before a colon and a space (`judge_failed: timeout` counts as `judge_failed`)."""
    return reason.split(": ", 1)[0]
