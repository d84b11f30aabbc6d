"""What a benchmark reports: named figures, each with the bound it must keep."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Figure:
    """One measured number. `allowed` is the most it may be, None for a number that is only told. `detail` says what it was made from."""

    name: str
    measured: float
    unit: str
    allowed: float | None = None
    detail: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether the bound holds; a figure without one always does."""
        return self.allowed is None or self.measured <= self.allowed

    @property
    def verdict(self) -> str:
        """`kept`, `MISSED`, or nothing where there is no bound."""
        return "" if self.allowed is None else ("kept" if self.is_kept else "MISSED")


def ratio_figure(name: str, ours: Sequence[float], ideal: Sequence[float], *, unit: str, allowed: float) -> Figure:
    """Return the median of the ratios of pairs that were measured one after the other, so that a busy machine slows both sides."""
    ratios = [one / other for one, other in zip(ours, ideal, strict=True)]
    medians = f"{median(ours):.2f} {unit} against {median(ideal):.2f}"
    return Figure(name, median(ratios), "x", allowed, f"{medians}; ratios of {len(ratios)} pairs {min(ratios):.2f} to {max(ratios):.2f}")


def spread(numbers: Sequence[float]) -> str:
    """Return how far apart repeats lay."""
    return f"median of {len(numbers)}, {min(numbers):.2f} to {max(numbers):.2f}"


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as one table: name, measured, allowed, verdict, detail."""
    rows = [("figure", "measured", "allowed", "verdict", "detail")]
    for figure in figures:
        allowed = "" if figure.allowed is None else f"{figure.allowed:g} {figure.unit}"
        rows.append((figure.name, f"{figure.measured:.2f} {figure.unit}", allowed, figure.verdict, figure.detail))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in [*widths, 6]))
    return "\n".join(lines)
