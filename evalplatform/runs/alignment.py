"""Two structures laid side by side: which unit of one stands for which of the other, at the least cost."""

from collections.abc import Sequence
from typing import NamedTuple

from evalplatform.runs.signature import Token

GAP_COST = 2
ARGUMENTS_COST = 2
"""The same tool, called in another way: as cheap as a gap, so that it is never told as one call missing and another added."""
OTHER_COST = 3
"""Another tool, or another role, at the same place: dearer than a gap, cheaper than the two that it would else take."""

MAX_CELLS = 100_000_000
"""One byte each: 10,000 units against 10,000. Structures that differ over more than that are paired place by place."""


class Pair(NamedTuple):
    """One line of the alignment: the places of the two units from 0, None on the side that has none."""

    a: int | None
    b: int | None


def aligned(a: Sequence[Token], b: Sequence[Token]) -> tuple[Pair, ...]:
    """Return the cheapest way to lay two structures side by side; each unit of both stands in one line, in order.

    What both begin and end with is paired first, which costs nothing as the costs are a metric. Between, it is the edit distance with the
    costs above (Wagner and Fischer, JACM 21(1), 1974). Of several cheapest ways the one that pairs earliest is taken, decided on the two
    in the order of their content: `aligned(b, a)` is `aligned(a, b)` with its sides exchanged, always.
    """
    if tuple(a) > tuple(b):
        return tuple(Pair(one, other) for other, one in aligned(b, a))
    start = _common(a, b)
    end = _common(a[start:][::-1], b[start:][::-1])
    core_a, core_b = a[start : len(a) - end], b[start : len(b) - end]
    middle = _cheapest(core_a, core_b) if len(core_a) * len(core_b) <= MAX_CELLS else _place_by_place(len(core_a), len(core_b))
    shifted = (Pair(None if i is None else i + start, None if j is None else j + start) for i, j in _calls_first(middle, core_a, core_b))
    return (
        *(Pair(place, place) for place in range(start)),
        *shifted,
        *(Pair(len(a) - left, len(b) - left) for left in range(end, 0, -1)),
    )


def _common(a: Sequence[Token], b: Sequence[Token]) -> int:
    return next((place for place, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _cheapest(a: Sequence[Token], b: Sequence[Token]) -> list[Pair]:
    """Trace the cheapest path back from the end, a gap before a pair: pairs come out as early as they can."""
    steps = _directions(a, b)
    i, j = len(a), len(b)
    path: list[Pair] = []
    while i or j:
        if j == 0 or (i and steps[i - 1][j - 1] == 1):
            i -= 1
            path.append(Pair(i, None))
        elif i == 0 or steps[i - 1][j - 1] == 2:
            j -= 1
            path.append(Pair(None, j))
        else:
            i, j = i - 1, j - 1
            path.append(Pair(i, j))
    return path[::-1]


def _directions(a: Sequence[Token], b: Sequence[Token]) -> list[bytes]:
    """For each two places whence the cheapest path comes: 1 a gap in b, 2 a gap in a, 0 a pair. One byte a cell, one row at a time."""
    import numpy as np

    codes: dict[object, int] = {}

    def coded(part: Sequence[object]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        return np.array([codes.setdefault(item, len(codes)) for item in part], dtype=np.int64)

    tokens, names, kinds = coded(b), coded([token[:2] for token in b]), coded([token.kind for token in b])
    slope = GAP_COST * np.arange(len(b) + 1)
    before = slope
    rows: list[bytes] = []
    for place, token in enumerate(a, start=1):
        pair_cost = np.where(kinds == codes.setdefault(token.kind, len(codes)), OTHER_COST, 2 * GAP_COST)
        pair_cost[names == codes.setdefault(token[:2], len(codes))] = ARGUMENTS_COST
        pair_cost[tokens == codes.setdefault(token, len(codes))] = 0
        gap_in_b = before + GAP_COST
        paired = before[:-1] + pair_cost
        best = np.concatenate(([GAP_COST * place], np.minimum(gap_in_b[1:], paired)))
        # The least over all gaps in a that may end here, in one pass: the running minimum without the slope of the gaps.
        best = np.minimum.accumulate(best - slope) + slope
        comes_from = np.where(best[1:] == gap_in_b[1:], 1, np.where(best[1:] == best[:-1] + GAP_COST, 2, 0))
        rows.append(comes_from.astype(np.uint8).tobytes())
        before = best
    return rows


def _place_by_place(count_a: int, count_b: int) -> list[Pair]:
    longest = range(max(count_a, count_b))
    return [Pair(place if place < count_a else None, place if place < count_b else None) for place in longest]


def _calls_first(path: list[Pair], a: Sequence[Token], b: Sequence[Token]) -> list[Pair]:
    """Where units of both sides stand alone at one place, put the side that begins with a tool call first: it is what is compared."""
    ordered: list[Pair] = []
    only_a: list[Pair] = []
    only_b: list[Pair] = []
    for pair in [*path, Pair(-1, -1)]:
        if pair.b is None:
            only_a.append(pair)
        elif pair.a is None:
            only_b.append(pair)
        else:
            b_first = bool(only_b) and _is_call(b, only_b[0].b) and not (only_a and _is_call(a, only_a[0].a))
            ordered += [*only_b, *only_a] if b_first else [*only_a, *only_b]
            only_a, only_b = [], []
            if pair.a != -1:
                ordered.append(pair)
    return ordered


def _is_call(tokens: Sequence[Token], place: int | None) -> bool:
    return place is not None and tokens[place].kind == "tool_call"
