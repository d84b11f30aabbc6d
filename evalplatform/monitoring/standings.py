"""What stands after a night, and what a change of it is told with.

A failed check changes no verdict about the agent: what was last checked goes on standing behind it. So flagged, failed, clean is a
recovery, and clean, failed, clean is none.
"""

from collections.abc import Iterable
from typing import Literal

from evalplatform.kernel.values import Value
from evalplatform.runs.night import AlertKind, Night


class Standing(Value):
    """What stands in one stream of nights.

    Attributes:
        now: the state of its last finished night; None before the first.
        last_checked: the last one that is an answer; None before the first such night.
    """

    now: Literal["checked_clean", "checked_flagged", "check_failed"] | None = None
    last_checked: Literal["checked_clean", "checked_flagged"] | None = None


def change_of(before: Standing, after: Standing) -> AlertKind | None:
    """Return what one more night is told with, by what stood without it and what stands with it; None where nothing changed.

    `drift_detected`: what was last checked is flagged, and was clean or there was none. `recovered`: it is clean, and was flagged.
    `monitor_failed`: the first failed check of a streak. A night that ends after a later one may change nothing, or only what was last
    checked behind a failed check.
    """
    if after.last_checked != before.last_checked:
        if after.last_checked == "checked_flagged":
            return "drift_detected"
        return "recovered" if before.last_checked == "checked_flagged" else None
    return "monitor_failed" if after.now == "check_failed" != before.now else None


def standing_after(newest_first: Iterable[Night]) -> Standing:
    """Return what stands after the nights of one stream, newest first; they are read only as far as needed."""
    now: Literal["checked_clean", "checked_flagged", "check_failed"] | None = None
    for night in newest_first:
        if night.state == "pending":
            continue
        now = now or night.state
        if night.state != "check_failed":
            return Standing(now=now, last_checked=night.state)
    return Standing(now=now)
