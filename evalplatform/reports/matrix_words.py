"""The warnings of a matrix rollup, each as a sentence or two."""

from functools import singledispatch

from evalplatform.comparisons.matrix_rollup import (
    CellFlawed,
    CellMissing,
    DeltaOfFewPairs,
    DeltaRefused,
    MatrixWarning,
    OrphanPluginCell,
    SecondControl,
)
from evalplatform.comparisons.run_warnings import RunTruncated
from evalplatform.reports.plugin_delta_words import delta_warning
from evalplatform.reports.refusal_words import refusal_sentence
from evalplatform.reports.run_warning_words import truncated_sentence


@singledispatch
def matrix_warning(warning: MatrixWarning) -> str:
    """Return what to know before reading the numbers of a matrix."""
    raise TypeError(f"no words for {type(warning).__name__}")


@matrix_warning.register
def _(warning: CellMissing) -> str:
    return f"The cell {warning.cell} has no run, and is in none of the numbers: {warning.why}"


@matrix_warning.register
def _(warning: OrphanPluginCell) -> str:
    return (
        f"The cell {warning.cell} ({warning.plugin_set}) has no plugin-free pair, a cell of the same model, endpoint, harness and sampling "
        "without plugins, so nothing says what its plugins do."
    )


@matrix_warning.register
def _(warning: SecondControl) -> str:
    return f"{warning.cell} is the plugin-free cell {warning.used} again; deltas are taken from {warning.used}, which stands first."


@matrix_warning.register
def _(warning: DeltaRefused) -> str:
    reasons = " ".join(refusal_sentence(refusal) for refusal in warning.refused.refusals)
    return f"The delta of {warning.plugin} from {warning.control} is refused. {reasons}"


@matrix_warning.register
def _(warning: RunTruncated) -> str:
    return f"The cell {truncated_sentence(warning)} A rerun asks only what is missing."


@matrix_warning.register
def _(warning: CellFlawed) -> str:
    return f"The cell {warning.cell}: {warning.why}"


@matrix_warning.register
def _(warning: DeltaOfFewPairs) -> str:
    return f"{warning.plugin} against {warning.control}: {delta_warning(warning.few)}"
