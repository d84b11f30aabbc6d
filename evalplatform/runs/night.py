"""Nights as values: one scheduled check of an agent against what it did before, in one of three states, with its alert and its cost."""

from datetime import UTC, date, datetime
from typing import Literal, get_args

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.runs.records import OneLine, UtcMoment, Words
from evalplatform.runs.schedule import ScheduleId

NightSource = Literal["sentinel", "monitor"]
NightState = Literal["pending", "checked_clean", "checked_flagged", "check_failed"]
"""`pending` while it runs; then one of three. A night that could not run is `check_failed`, and never clean."""
NightReason = Literal[
    "missed_slot",
    "endpoint_unreachable",
    "baseline_not_pinned",
    "dead_sensor",
    "allowance_exceeded",
    "credential_unreadable",
    "budget",
]
"""Why a check failed. `detail` of the night says more."""
NIGHT_REASONS: tuple[NightReason, ...] = get_args(NightReason)
AlertKind = Literal["drift_detected", "recovered", "monitor_failed"]
Channel = Literal["email", "webhook"]
DeliveryState = Literal["pending", "sent", "failed"]
SENTINEL = "sentinel"
"""What stands for a schedule's id in the nights of `evalplatform sentinel`."""
_INSTANT = "%Y%m%dt%H%M%Sz"


class Slot(Value):
    """When a night is due: an instant, and the date that it has where the schedule's clock hangs.

    Two slots are the same where their instants are: a day with a clock change has one night like any other.
    """

    at: UtcMoment
    local_date: date

    @property
    def id(self) -> str:
        """`<yyyymmddThhmmssz of the instant>-<local date>`, a safe key that sorts by time."""
        return f"{self.at:{_INSTANT}}-{self.local_date.isoformat()}"

    @classmethod
    def of_id(cls, slot_id: str) -> "Slot":
        """Return the slot of an id, to the second; ValueError where it is none."""
        instant, _, local_date = slot_id.partition("-")
        slot = cls(at=datetime.strptime(instant, _INSTANT).replace(tzinfo=UTC), local_date=date.fromisoformat(local_date))
        if slot.id != slot_id:
            raise ValueError(f"{slot_id!r} is no id of a slot")
        return slot


class DeadSensor(Value):
    """Why a scenario could not be watched this night: its pin is gone, or what it stands on no longer passes."""

    kind: Literal["pin_gone", "not_what_was_pinned", "no_longer_passes", "not_in_scenario_file", "cannot_be_replayed"]
    detail: Words


class WatchedScenario(Value):
    """What a night saw of one scenario.

    Attributes:
        scenario_id: which.
        dead: why its live leg did not run; None where it did.
        replay_path: whether there is a baseline path to compare with: there is none for a scenario without a recording or pin.
        graded, failed: its graded live runs, and how many of them failed. Agent errors and budget stops are failures.
        could_not_run, ungraded: live runs that are not graded: could not run, and left unasked or ungraded by a cap.
        drift_at: from how many failures it has drifted, of so many graded runs; 0 where none was graded, which counts as drifted.
        null_rate: how often a scenario that fails at the reference rate gets there.
        path_graded, path_differing: graded live runs with a path to compare, and how many differ beyond the tolerance.
        path_drift_at, path_null_rate: the same rule over paths; None where there is no path to compare.
    """

    scenario_id: OneLine
    dead: DeadSensor | None = None
    replay_path: bool = True
    graded: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    could_not_run: int = Field(default=0, ge=0)
    ungraded: int = Field(default=0, ge=0)
    drift_at: int = Field(default=0, ge=0)
    null_rate: float = Field(default=1.0, ge=0, le=1)
    path_graded: int = Field(default=0, ge=0)
    path_differing: int = Field(default=0, ge=0)
    path_drift_at: int | None = Field(default=None, ge=0)
    path_null_rate: float | None = Field(default=None, ge=0, le=1)

    @property
    def is_unseen(self) -> bool:
        """Whether it was to run and no live run of it could be graded. What that says depends on the night: drift, or a failed check."""
        return self.dead is None and self.graded == 0

    @property
    def verdict_drifted(self) -> bool:
        """Whether it fails oftener than the reference rate explains; also where it was to run and no run could be graded."""
        return self.dead is None and self.failed >= self.drift_at

    @property
    def path_drifted(self) -> bool:
        """Whether its tool path differs oftener than the reference rate explains."""
        return self.dead is None and self.path_drift_at is not None and self.path_graded > 0 and self.path_differing >= self.path_drift_at

    @property
    def drifted(self) -> bool:
        """Whether either did."""
        return self.verdict_drifted or self.path_drifted


class NightCost(Value):
    """What a night took: seconds of wall clock and of our own CPU, requests to the agent, bytes stored."""

    wall_seconds: float = Field(ge=0)
    cpu_seconds: float = Field(ge=0)
    requests: int = Field(ge=0)
    stored_bytes: int = Field(ge=0)


class Delivery(Value):
    """An alert on its way to one address. `outcome` is what the mailer or the receiver said of the last attempt."""

    channel: Channel
    address: OneLine
    state: DeliveryState = "pending"
    attempts: int = Field(default=0, ge=0)
    outcome: Words | None = None
    next_attempt_at: UtcMoment | None = None


class Alert(Value):
    """What a change of standing is told with, once. Without an address to tell it to, `deliveries` is empty."""

    kind: AlertKind
    deliveries: tuple[Delivery, ...] = ()

    @property
    def state(self) -> Literal["pending", "sent", "failed", "nobody_to_tell"]:
        """Pending while any delivery is; failed where one failed for good; else sent."""
        states = {delivery.state for delivery in self.deliveries}
        if not states:
            return "nobody_to_tell"
        return "pending" if "pending" in states else "failed" if "failed" in states else "sent"

    @property
    def attempts(self) -> int:
        """The most attempts that an address took."""
        return max((delivery.attempts for delivery in self.deliveries), default=0)


class Night(Value):
    """One scheduled check.

    Attributes:
        source: the sentinel of the scenario file, or a monitor's schedule.
        stream: the schedule's id, or `sentinel`: nights of one stream have one standing.
        slot: when it was due.
        state, reason, detail: how it ended; the reason wherever it is `check_failed`.
        attempt: which start of it this is, from 1: a night whose process died is started again.
        began_at, ended_at: when; None where it never began, or is pending.
        reference_fail_rate: the rate that `drift_at` was taken at; None where nothing was checked.
        runs_per_scenario: how many live runs each scenario was to get.
        scenarios: what it saw of each scenario, by id; empty where nothing was checked.
        not_watched: scenarios that were left out since they have no assertion to be graded by.
        replay_batch, live_batch: the stored batches of its two legs, which its comparison is of; None where there is none.
        alert: what it tells; None where the standing did not change.
        cost: what it took; None while it is pending, and where it never began.
    """

    source: NightSource
    stream: ScheduleId
    slot: Slot
    state: NightState = "pending"
    reason: NightReason | None = None
    detail: Words | None = None
    attempt: int = Field(default=1, ge=1)
    began_at: UtcMoment | None = None
    ended_at: UtcMoment | None = None
    reference_fail_rate: float | None = Field(default=None, ge=0, le=1)
    runs_per_scenario: int | None = Field(default=None, ge=1)
    scenarios: tuple[WatchedScenario, ...] = ()
    not_watched: tuple[OneLine, ...] = ()
    replay_batch: str | None = None
    live_batch: str | None = None
    alert: Alert | None = None
    cost: NightCost | None = None

    @property
    def key(self) -> str:
        """`<stream>.<slot id>`: one night of one stream at one slot; a safe partition key."""
        return f"{self.stream}.{self.slot.id}"

    @property
    def is_checked(self) -> bool:
        """Whether it has an answer: clean or flagged."""
        return self.state in ("checked_clean", "checked_flagged")

    @property
    def drifted(self) -> tuple[WatchedScenario, ...]:
        """The scenarios that drifted; a check that failed says of none that it did, though it may have seen nothing of them."""
        return tuple(scenario for scenario in self.scenarios if scenario.drifted) if self.state == "checked_flagged" else ()

    @property
    def dead_sensors(self) -> tuple[WatchedScenario, ...]:
        """The scenarios that could not be watched."""
        return tuple(scenario for scenario in self.scenarios if scenario.dead is not None)
