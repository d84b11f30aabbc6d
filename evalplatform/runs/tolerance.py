"""Path tolerance: how far two tool paths may differ before that is path drift."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

PathTolerance = Literal["exact", "any_order", "tool_set"]

STRICTEST_FIRST: tuple[PathTolerance, ...] = ("exact", "any_order", "tool_set")
DEFAULT_TOLERANCE: PathTolerance = "exact"


def stricter_tolerance(a: PathTolerance, b: PathTolerance) -> PathTolerance:
    """Return the stricter of two declarations: loosening one takes effect once both sides were recorded with it."""
    return min(a, b, key=STRICTEST_FIRST.index)


def path_drifts(a: Sequence[str], b: Sequence[str], tolerance: PathTolerance) -> bool:
    """Return whether two tool paths differ beyond what is tolerated.

    `exact` compares the names in order, `any_order` how often each tool was called, `tool_set` which tools were called. Arguments never
    count here: their shape shows in the diff. A path that drifts under a looser class drifts under every stricter one.
    """
    if tolerance == "exact":
        return list(a) != list(b)
    if tolerance == "any_order":
        return Counter(a) != Counter(b)
    return set(a) != set(b)
