"""Unstable scenarios: the same commit, recorded in separate batches, with different outcomes.

Shown for context: it decides nothing, remembers nothing and is computed anew from the runs that the store holds. A mix within one batch is
its run set's own k of n and no instability, so two mixed batches agree; replayed runs repeat what was recorded and are left out.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from pydantic import AwareDatetime, Field

from evalplatform.kernel.values import Value
from evalplatform.runs.recordings import most_complete
from evalplatform.runs.records import Batch, OneLine, Run
from evalplatform.stats.pass_counts import PassCount

WINDOW_DAYS = 30
MOST_BATCHES = 200

BatchOutcome = Literal["passed", "failed", "mixed"]
Identity = Literal["agent", "model", "judge"]
IDENTITIES: tuple[Identity, ...] = ("agent", "model", "judge")

RunsOf = Callable[[str], Iterable[Run]]
"""Gives the runs of a batch by its id, as a batch store does."""


class BatchWindow(NamedTuple):
    """The batches that are read, newest first, and how many of the window are not.

    `continued` ones were gone on with and stored again, so that another batch holds their runs; `compacted` and `expired` batches no longer
    hold whole run sets; `beyond_limit` whole ones are older than the newest `MOST_BATCHES`.
    """

    since: datetime
    until: datetime
    batches: tuple[Batch, ...]
    continued: int
    compacted: int
    expired: int
    beyond_limit: int


class BatchEvidence(Value):
    """What one batch says of a scenario: passes among its live graded runs."""

    batch_id: str
    commit: str
    recorded_at: AwareDatetime
    passes: PassCount

    @property
    def outcome(self) -> BatchOutcome:
        """All of them passed, none did, or both occurred."""
        return _outcome(self.passes.passed, self.passes.graded)


class UnstableScenario(Value):
    """A scenario whose batches on one commit disagree.

    Attributes:
        scenario_id: which.
        passes: summed over the batches of the commits on which it disagrees with itself, all of which are in `batches`, newest first.
        differs_in: what else than chance may be behind it: which identities are not the same in all batches of one of those commits.
    """

    scenario_id: OneLine
    passes: PassCount
    batches: tuple[BatchEvidence, ...]
    differs_in: tuple[Identity, ...] = ()

    @property
    def failed_runs(self) -> int:
        """How many of its graded runs failed."""
        return self.passes.graded - self.passes.passed


class InstabilityReading(Value):
    """What the batches of the last `WINDOW_DAYS` days say, with the counts that it rests on.

    Attributes:
        since, until: the window of recorded times, in which a batch from a clock that is ahead is taken in as well.
        batches_read: whole batches of the window, at most `MOST_BATCHES`.
        continued, compacted, expired, beyond_limit: batches of the window that were not read, as in `BatchWindow`.
        without_commit: of the batches read, those that name no commit and so are comparable with none.
        repeated_commits: commits with live graded runs in two or more of the batches read.
        scenarios_compared: scenarios that have such runs in two or more batches of one commit.
        unstable: those of them that disagree, most failed runs first, then by name.
    """

    since: AwareDatetime
    until: AwareDatetime
    batches_read: int = Field(ge=0)
    continued: int = Field(default=0, ge=0)
    compacted: int = Field(ge=0)
    expired: int = Field(ge=0)
    beyond_limit: int = Field(ge=0)
    without_commit: int = Field(ge=0)
    repeated_commits: int = Field(ge=0)
    scenarios_compared: int = Field(ge=0)
    unstable: tuple[UnstableScenario, ...] = ()

    @property
    def has_evidence(self) -> bool:
        """Whether any scenario ran twice on one commit. Without that, no unstable scenario means nothing."""
        return self.scenarios_compared > 0


class _Passes(NamedTuple):
    """A scenario's live graded runs in one batch of a commit, the batch by its place: small, since a commit may have millions of them."""

    place: int
    passed: int
    graded: int


class _OnCommit(NamedTuple):
    """A scenario's runs on one commit: the commit's batches, newest first, and those of them that have such runs."""

    commit: str
    batches: Sequence[Batch]
    passes: Sequence[_Passes]


def window_start(now: datetime) -> datetime:
    """Return the earliest recorded time that is read at `now`."""
    return now - timedelta(days=WINDOW_DAYS)


def batch_window(batches: Iterable[Batch], *, now: datetime) -> BatchWindow:
    """Return what of the batches is read: the newest whole ones of the last `WINDOW_DAYS` days, at most `MOST_BATCHES`.

    Args:
        batches: of one project, newest first; those from before the window are passed over.
        now: the end of the window, timezone-aware.
    """
    since = window_start(now)
    stored = [batch for batch in batches if batch.header.recorded_at >= since]
    of_window = list(most_complete(stored))
    whole = [batch for batch in of_window if batch.retention == "whole"]
    states = Counter(batch.retention for batch in of_window)
    return BatchWindow(
        since=since,
        until=now,
        batches=tuple(whole[:MOST_BATCHES]),
        continued=len(stored) - len(of_window),
        compacted=states["compacted"],
        expired=states["expired"],
        beyond_limit=max(0, len(whole) - MOST_BATCHES),
    )


def unstable_scenarios(window: BatchWindow, *, runs_of: RunsOf) -> InstabilityReading:
    """Return the scenarios that came out differently in separate batches of one commit.

    A scenario's outcome in a batch is passed (all its live graded runs), failed (none) or mixed. It is unstable where one commit has two
    batches with different outcomes. Runs are read only of commits with several batches, one commit at a time.
    """
    of_commits: dict[str, list[Batch]] = {}
    for batch in window.batches:
        if batch.header.commit is not None:
            of_commits.setdefault(batch.header.commit, []).append(batch)
    repeated_commits = 0
    compared: set[str] = set()
    found: dict[str, list[_OnCommit]] = {}
    for commit, of_commit in of_commits.items():
        if len(of_commit) < 2:
            continue
        counted = _pass_counts(of_commit, runs_of)
        repeated_commits += len({passes.place for of_scenario in counted.values() for passes in of_scenario}) > 1
        for scenario_id, of_scenario in counted.items():
            if len(of_scenario) > 1:
                compared.add(scenario_id)
                if len({_outcome(passes.passed, passes.graded) for passes in of_scenario}) > 1:
                    found.setdefault(scenario_id, []).append(_OnCommit(commit, of_commit, of_scenario))
    unstable = [_unstable_scenario(scenario_id, commits) for scenario_id, commits in found.items()]
    return InstabilityReading(
        since=window.since,
        until=window.until,
        batches_read=len(window.batches),
        continued=window.continued,
        compacted=window.compacted,
        expired=window.expired,
        beyond_limit=window.beyond_limit,
        without_commit=sum(batch.header.commit is None for batch in window.batches),
        repeated_commits=repeated_commits,
        scenarios_compared=len(compared),
        unstable=tuple(sorted(unstable, key=lambda one: (-one.failed_runs, one.scenario_id))),
    )


def _pass_counts(batches: Sequence[Batch], runs_of: RunsOf) -> dict[str, list[_Passes]]:
    """Return the live graded runs of each scenario in each of the batches that has any."""
    counted: dict[str, list[_Passes]] = {}
    for place, batch in enumerate(batches):
        passed: Counter[str] = Counter()
        graded: Counter[str] = Counter()
        for run in runs_of(batch.id):
            if run.leg == "live" and run.verdict is not None:
                graded[run.scenario_id] += 1
                passed[run.scenario_id] += run.verdict == "passed"
        for scenario_id, count in graded.items():
            counted.setdefault(scenario_id, []).append(_Passes(place, passed[scenario_id], count))
    return counted


def _unstable_scenario(scenario_id: str, commits: Sequence[_OnCommit]) -> UnstableScenario:
    evidence = [
        BatchEvidence(
            batch_id=on_commit.batches[passes.place].id,
            commit=on_commit.commit,
            recorded_at=on_commit.batches[passes.place].header.recorded_at,
            passes=PassCount(passed=passes.passed, graded=passes.graded),
        )
        for on_commit in commits
        for passes in on_commit.passes
    ]
    differing = {name for on_commit in commits for name in _differing(on_commit)}
    return UnstableScenario(
        scenario_id=scenario_id,
        passes=PassCount(passed=sum(one.passes.passed for one in evidence), graded=sum(one.passes.graded for one in evidence)),
        batches=tuple(sorted(evidence, key=lambda one: (one.recorded_at, one.batch_id), reverse=True)),
        differs_in=tuple(name for name in IDENTITIES if name in differing),
    )


def _differing(on_commit: _OnCommit) -> Iterator[Identity]:
    for name in IDENTITIES:
        if len({getattr(on_commit.batches[passes.place].header, name) for passes in on_commit.passes}) > 1:
            yield name


def _outcome(passed: int, graded: int) -> BatchOutcome:
    return "passed" if passed == graded else "mixed" if passed else "failed"
