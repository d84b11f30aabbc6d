"""Schedules of monitored agents as values: which scenarios, pinned to which runs, how often, at which endpoint, and who is told."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, model_validator

from evalplatform.kernel.keys import KEY_PATTERN
from evalplatform.kernel.values import Value
from evalplatform.runs.records import OneLine, UtcMoment

HOUR_SECONDS = 3_600
DAY_SECONDS = 86_400
WEEK_SECONDS = 7 * DAY_SECONDS
MOST_SCENARIOS = 50
MOST_RECIPIENTS = 10
MOST_RUNS = 4
MOST_URL_CHARS = 2_048
MOST_HEADER_CHARS = 4_096
DEFAULT_TIMEOUT_SECONDS = 60.0
MOST_TIMEOUT_SECONDS = 600.0
MOST_SCHEDULE_ID_CHARS = 40
LAST_CHARS = 4
USUAL_PORTS = {"http": 80, "https": 443}

ScheduleId = Annotated[str, StringConstraints(pattern=f"^{KEY_PATTERN.pattern}$", max_length=MOST_SCHEDULE_ID_CHARS)]


class Pin(Value):
    """The passing run that a monitored scenario is held to, with the digest that its trajectory had when it was pinned."""

    scenario_id: OneLine
    batch_id: OneLine
    run_id: OneLine
    trajectory_digest: str


class StoredHeader(Value):
    """An Authorization value as it is stored: encrypted, with what may be shown of it, and the address that it may be sent to.

    `address` is `scheme://host:port`; it stands inside the encrypted text as well, so that nobody who edits the one row gets the value sent
    elsewhere.
    """

    token: str
    last_chars: str = Field(max_length=LAST_CHARS)
    address: str


class Schedule(Value):
    """One schedule of a project.

    Attributes:
        id: its name, unique in the project; nights keep it after the schedule is gone.
        pins: the monitored scenarios, 1 to 50, by scenario id.
        runs: live runs of each scenario a night, 1 to 4.
        cadence_seconds: from one hour to seven days.
        first_at: the slot that all others are counted from. A cadence of whole days keeps its time of day in `timezone`; any other counts
            in seconds.
        timezone: an IANA name.
        endpoint_url, timeout_seconds: where the agent is asked, and how long one call may take.
        auth: the stored Authorization value, or None.
        recipients: who is mailed, 1 to 10 addresses.
        is_on: whether slots are due; a paused schedule uses none of the allowance.
        active_since: slots before this are not due: when it was last switched on, or its cadence changed.
        saved_by, saved_at: who saved it last, and when.
    """

    id: ScheduleId
    pins: tuple[Pin, ...] = Field(min_length=1, max_length=MOST_SCENARIOS)
    runs: int = Field(default=1, ge=1, le=MOST_RUNS)
    cadence_seconds: int = Field(default=DAY_SECONDS, ge=HOUR_SECONDS, le=WEEK_SECONDS)
    first_at: UtcMoment
    timezone: str = "UTC"
    endpoint_url: str = Field(max_length=MOST_URL_CHARS)
    timeout_seconds: float = Field(default=DEFAULT_TIMEOUT_SECONDS, gt=0, le=MOST_TIMEOUT_SECONDS)
    auth: StoredHeader | None = None
    recipients: tuple[OneLine, ...] = Field(min_length=1, max_length=MOST_RECIPIENTS)
    is_on: bool = True
    active_since: UtcMoment
    saved_by: OneLine
    saved_at: UtcMoment

    @model_validator(mode="after")
    def _pins_each_scenario_once(self) -> "Schedule":
        names = [pin.scenario_id for pin in self.pins]
        if len(set(names)) < len(names):
            raise ValueError("a scenario is pinned twice")
        return self

    @property
    def endpoint_address(self) -> str:
        """`scheme://host:port` of the endpoint: what a stored Authorization value is bound to."""
        return address_of(self.endpoint_url)

    @property
    def used_allowance(self) -> int:
        """How many scenarios it counts for, however many live runs each gets; none while it is paused."""
        return len(self.pins) if self.is_on else 0


def address_of(url: str) -> str:
    """Return `scheme://host:port` of an http or https URL, in lower case, the usual port written out."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port or USUAL_PORTS.get(parts.scheme)}"
