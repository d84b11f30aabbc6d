"""What stands after a night, and what a change of it is told with.

A failed check changes no verdict about the agent: what was last checked goes on standing behind it. So flagged, failed, clean is a
recovery, and clean, failed, clean is none.
"""

from collections.abc import Iterable
from typing import Literal

from evalplatform.kernel.values import Value
from evalplatform.runs.night import AlertKind, Night, NightState


class Standing(Value):
    """What stands in one stream of nights.

    Attributes:
        now: the state of its last finished night; None before the first.
        last_checked: the last one that is an answer; None before the first such night.
    """

    now: Literal["checked_clean", "checked_flagged", "check_failed"] | None = None
    last_checked: Literal["checked_clean", "checked_flagged"] | None = None

    def after(self, state: NightState) -> "Standing":
        """Return what stands after another night; a pending one changes nothing."""
        if state == "pending":
            return self
        return Standing(now=state, last_checked=self.last_checked if state == "check_failed" else state)

    def alert_of(self, state: NightState) -> AlertKind | None:
        """Return what another night is told with, or None where nothing changed.

        `drift_detected`: flagged, and the last checked night was clean or there was none. `recovered`: clean, and the last checked night
        was flagged. `monitor_failed`: the first failed check of a streak. Failed checks in between change neither of the first two.
        """
        if state == "check_failed":
            return None if self.now == "check_failed" else "monitor_failed"
        if state == "checked_flagged":
            return None if self.last_checked == "checked_flagged" else "drift_detected"
        if state == "checked_clean":
            return "recovered" if self.last_checked == "checked_flagged" else None
        return None


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
