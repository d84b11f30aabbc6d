"""The paired comparison of two arms: effect, interval, tests."""

from pydantic import Field

from evalplatform.kernel.values import Value


class PairedEffect(Value):
    """The effect of a treatment over pairs, unrounded.

    Differences are candidate minus baseline, in points. `d_z` is their mean over their standard deviation; None when there is no spread and
    the mean is not 0. `p_t`, `p_wilcoxon` and `p_permutation` are two-sided and uncorrected; None below six pairs or without spread.
    `ci_method` is `student_t`, `cluster_t` or `degenerate` (no spread: the interval is the point).
    """

    n: int = Field(ge=2)
    delta_mean: float
    delta_sd: float
    standard_error: float
    d_z: float | None
    effect: str
    ci_lo: float
    ci_hi: float
    ci_confidence: float = 0.95
    ci_method: str
    p_t: float | None
    p_wilcoxon: float | None
    n_wilcoxon: int | None
    p_permutation: float | None
    clusters: int | None = None
