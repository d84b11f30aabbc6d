"""What may mislead about one run, as sentences."""

from evalplatform.comparisons.run_warnings import RunTruncated
from evalplatform.reports.arms_notices import STOPS


def truncated_sentence(warning: RunTruncated) -> str:
    """Return that a run ended too early, and why."""
    return f"{warning.run} ended before its last question: {STOPS.get(warning.why, warning.why)}."
