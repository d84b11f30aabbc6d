"""What each stage of monitoring says of its artifact without opening the files, as typed values: they are the manifest's `facts`."""

from pydantic import AwareDatetime

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.kernel.values import Value
from evalplatform.monitoring.trend import QuietRate
from evalplatform.reports.view import Table
from evalplatform.runs.night import AlertKind, NightCost, NightReason, NightSource, NightState


class NightFacts(Value):
    """Of `sentinel_nights` and `monitoring_nights`: how a night came out, what it saw, what it told and what it took.

    `drifted` and `dead` are ids of scenarios; `comparison_page` says whether there is a page of the comparison of its two legs.
    """

    key: str
    source: NightSource
    stream: str
    due_at: AwareDatetime
    state: NightState
    reason: NightReason | None
    sentence: str
    scenarios: int
    drifted: tuple[str, ...]
    dead: tuple[str, ...]
    alert: AlertKind | None
    cost: NightCost | None
    replay_batch: str | None
    live_batch: str | None
    comparison_page: bool
    preview: Table | None


def night_facts(manifest: ArtifactManifest) -> NightFacts:
    """Return the facts of a stored night."""
    return NightFacts.model_validate(manifest.facts)


class DriftHistoryFacts(Value):
    """Of `drift_history`: what the nights of the window say together, and the alarms beside what was promised."""

    sentence: str
    nights: int
    failed_checks: int
    scenarios: int
    drifted_scenarios: int
    verdict_rate: QuietRate
    path_rate: QuietRate
    preview: Table | None


class StandingsFacts(Value):
    """Of `standings`: how many streams stand how, each in a sentence."""

    streams: int
    clean: int
    flagged: int
    failed: int
    sentences: tuple[str, ...]
    preview: Table | None
