"""What many nights say together: each scenario's trend, what stands in each stream, and whether alarms are as rare as was promised."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Literal, NamedTuple

from pydantic import AwareDatetime, Field

from evalplatform.kernel.values import Value
from evalplatform.monitoring.standings import Standing, standing_after
from evalplatform.runs.night import Alert, Night, NightReason, NightSource, Slot, WatchedScenario
from evalplatform.stats.exact_rate import exact_rate_interval
from evalplatform.stats.poisson_binomial import chance_of_as_many

WINDOW = timedelta(days=90)
MOST_NIGHTS = 2_500
"""The most nights that are read at once: of an hourly cadence about the window."""

Mark = Literal["quiet", "verdict", "path", "both", "unseen", "dead", "failed"]
"""How a night reads for one scenario: quiet; drifted by verdict, by tool path, or by both; live runs of which none could be graded; a dead
sensor; or a check that failed as a whole. The last three are never quiet."""


class TrendMark(Value):
    """One scenario at one night."""

    night: str
    slot: Slot
    mark: Mark
    failed: int = Field(ge=0)
    graded: int = Field(ge=0)
    path_differing: int = Field(ge=0)
    path_graded: int = Field(ge=0)
    replay_batch: str | None
    live_batch: str | None


class ScenarioTrend(Value):
    """One scenario of one stream over the nights that were to watch it, oldest first."""

    stream: str
    scenario_id: str
    marks: tuple[TrendMark, ...]

    @property
    def checked(self) -> int:
        """On how many nights it was seen."""
        return sum(mark.mark in ("quiet", "verdict", "path", "both") for mark in self.marks)

    @property
    def drifted(self) -> int:
        """On how many nights it drifted, those on which nothing was seen aside."""
        return sum(mark.mark in ("verdict", "path", "both") for mark in self.marks)


class QuietRate(Value):
    """How often an alarm was raised, beside how often the rule promises one while nothing changes.

    Attributes:
        checks: scenarios at nights that were judged by the rule.
        alarms: how many of them were flagged.
        promised_rate: the mean of the chances that the rule stated for them; None without a check.
        ci_lo, ci_hi: the exact 95% interval of the measured rate; None without a check.
        chance_of_as_many: how often at least so many alarms come while every scenario fails at just the reference rate.

    Interval and chance take the checks as independent. Scenarios of one night share the agent's day, so real alarms come in clumps.
    """

    checks: int = Field(ge=0)
    alarms: int = Field(ge=0)
    promised_rate: float | None = Field(default=None, ge=0, le=1)
    ci_lo: float | None = Field(default=None, ge=0, le=1)
    ci_hi: float | None = Field(default=None, ge=0, le=1)
    chance_of_as_many: float = Field(default=1.0, ge=0, le=1)

    @property
    def measured_rate(self) -> float | None:
        """Alarms among the checks; None without a check."""
        return self.alarms / self.checks if self.checks else None

    @property
    def reading(self) -> Literal["no_checks", "as_promised", "more_than_promised", "fewer_than_promised"]:
        """How the measured rate lies to the promised one.

        More alarms are what drift looks like, and fewer what scenarios look like that fail less often than the reference rate: the promise
        is of a rate at most as high.
        """
        if self.promised_rate is None or self.ci_lo is None or self.ci_hi is None:
            return "no_checks"
        if self.promised_rate < self.ci_lo:
            return "more_than_promised"
        return "fewer_than_promised" if self.promised_rate > self.ci_hi else "as_promised"


class StreamStanding(Value):
    """What stands in one stream.

    Attributes:
        stream, source: whose nights.
        standing: its last state and the last one that is an answer.
        since: the slot from which `standing.now` has held without a break, among the nights that were read.
        held_before: whether there are older nights that were not read, all that were read being alike: it may have held longer.
        last: the key of its last finished night; `last_checked` of the last one with an answer, None before the first.
        reason: why the last night failed, where it did.
        alert: what the last alert told, and whether it arrived; None where there was none.
        pending: the key of a night that is under way, or None.
    """

    stream: str
    source: NightSource
    standing: Standing
    since: Slot | None = None
    held_before: bool = False
    last: str | None = None
    last_checked: str | None = None
    reason: NightReason | None = None
    alert: Alert | None = None
    pending: str | None = None


class DriftHistory(Value):
    """The nights of a window read together.

    Attributes:
        since, until: the window of slots.
        nights: how many nights were read, by state; `truncated` says that there were more.
        reasons: how many failed, by reason.
        trends: every scenario of every stream, most drifted first, then by name.
        verdict_rate, path_rate: alarms by failures, and by tool paths.
    """

    since: AwareDatetime
    until: AwareDatetime
    nights: dict[str, int]
    reasons: dict[NightReason, int]
    trends: tuple[ScenarioTrend, ...]
    verdict_rate: QuietRate
    path_rate: QuietRate
    truncated: bool = False

    @property
    def night_count(self) -> int:
        """How many nights were read."""
        return sum(self.nights.values())


class _Checks(NamedTuple):
    """Alarms and the chances stated for them."""

    alarms: int
    chances: Counter[float]


def drift_history(newest_first: Sequence[Night], *, since: AwareDatetime, until: AwareDatetime, truncated: bool = False) -> DriftHistory:
    """Return what nights say together.

    Args:
        newest_first: the nights of the window, pending ones included.
        since, until: the window.
        truncated: whether older ones of the window were left out.
    """
    states = Counter(night.state for night in newest_first)
    reasons = Counter(night.reason for night in newest_first if night.reason is not None)
    return DriftHistory(
        since=since,
        until=until,
        nights={str(state): number for state, number in states.items()},
        reasons=dict(reasons),
        trends=tuple(_trends(newest_first)),
        verdict_rate=_quiet_rate(_verdict_checks(newest_first)),
        path_rate=_quiet_rate(_path_checks(newest_first)),
        truncated=truncated,
    )


def stream_standings(newest_first: Iterable[Night], *, older_unread: Collection[str] = ()) -> list[StreamStanding]:
    """Return what stands in each stream that has a night, by stream.

    Args:
        newest_first: the nights, of each stream as many of the newest ones as it takes to find its last checked one.
        older_unread: streams that have older nights.
    """
    of_streams: dict[str, list[Night]] = {}
    for night in newest_first:
        of_streams.setdefault(night.stream, []).append(night)
    return [_stream_standing(stream, of_streams[stream], older_unread=stream in older_unread) for stream in sorted(of_streams)]


def mark_of(scenario: WatchedScenario) -> Mark:
    """Return how a checked night reads for a scenario."""
    if scenario.dead is not None:
        return "dead"
    if scenario.graded == 0:
        return "unseen"
    if scenario.verdict_drifted:
        return "both" if scenario.path_drifted else "verdict"
    return "path" if scenario.path_drifted else "quiet"


def _trends(newest_first: Sequence[Night]) -> list[ScenarioTrend]:
    marks: dict[tuple[str, str], list[TrendMark]] = {}
    watched = {night.stream: [scenario.scenario_id for scenario in night.scenarios] for night in newest_first if night.scenarios}
    for night in reversed(newest_first):
        if night.state == "pending":
            continue
        seen = {scenario.scenario_id: scenario for scenario in night.scenarios}
        # A check that failed as a whole names no scenario: it was to watch what the night before it did; before the first, what that did.
        watched[night.stream] = list(seen) or watched.get(night.stream, [])
        for scenario_id in watched[night.stream]:
            marks.setdefault((night.stream, scenario_id), []).append(_mark(night, seen.get(scenario_id)))
    trends = [ScenarioTrend(stream=stream, scenario_id=one, marks=tuple(found)) for (stream, one), found in marks.items()]
    return sorted(trends, key=lambda trend: (-trend.drifted, trend.stream, trend.scenario_id))


def _mark(night: Night, scenario: WatchedScenario | None) -> TrendMark:
    return TrendMark(
        night=night.key,
        slot=night.slot,
        mark="failed" if scenario is None else mark_of(scenario),
        failed=0 if scenario is None else scenario.failed,
        graded=0 if scenario is None else scenario.graded,
        path_differing=0 if scenario is None else scenario.path_differing,
        path_graded=0 if scenario is None else scenario.path_graded,
        replay_batch=night.replay_batch,
        live_batch=night.live_batch,
    )


def _verdict_checks(nights: Iterable[Night]) -> _Checks:
    """Count what was judged by its failures. Scenarios without a graded run are flagged by another rule, and are left out."""
    seen = [scenario for scenario in _scenarios(nights) if scenario.graded]
    return _Checks(sum(scenario.verdict_drifted for scenario in seen), Counter(scenario.null_rate for scenario in seen))


def _path_checks(nights: Iterable[Night]) -> _Checks:
    seen = [scenario for scenario in _scenarios(nights) if scenario.path_null_rate is not None]
    return _Checks(
        sum(scenario.path_drifted for scenario in seen), Counter(one.path_null_rate for one in seen if one.path_null_rate is not None)
    )


def _scenarios(nights: Iterable[Night]) -> Iterator[WatchedScenario]:
    return (scenario for night in nights for scenario in night.scenarios if scenario.dead is None)


def _quiet_rate(checks: _Checks) -> QuietRate:
    count = checks.chances.total()
    interval = exact_rate_interval(checks.alarms, count)
    if interval is None:
        return QuietRate(checks=0, alarms=0)
    return QuietRate(
        checks=count,
        alarms=checks.alarms,
        promised_rate=sum(chance * number for chance, number in checks.chances.items()) / count,
        ci_lo=interval.ci_lo,
        ci_hi=interval.ci_hi,
        chance_of_as_many=chance_of_as_many(checks.alarms, checks.chances),
    )


def _stream_standing(stream: str, newest_first: Sequence[Night], *, older_unread: bool) -> StreamStanding:
    finished = [night for night in newest_first if night.state != "pending"]
    pending = next((night.key for night in newest_first if night.state == "pending"), None)
    standing = standing_after(finished)
    since: Slot | None = None
    for night in finished:
        if night.state != standing.now:
            break
        since = night.slot
    return StreamStanding(
        stream=stream,
        source=newest_first[0].source,
        standing=standing,
        since=since,
        held_before=older_unread and since is not None and since == finished[-1].slot,
        last=finished[0].key if finished else None,
        last_checked=next((night.key for night in finished if night.is_checked), None),
        reason=finished[0].reason if finished else None,
        alert=next((night.alert for night in finished if night.alert is not None), None),
        pending=pending,
    )
