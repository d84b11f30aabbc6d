"""Asset checks of nights: whether a night was a check at all, whether it saw drift, and whether nights come when they are due.

None blocks: a night that saw drift is a night that did its work, and what reads it goes on.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from assets.checks import check_spec, checked_materialization
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.monitoring.late_nights import GRACE_SECONDS, LateStream
from evalplatform.stages.monitoring_facts import NightFacts, night_facts

COULD_CHECK = "could_check"
NO_DRIFT = "no_drift"
ON_TIME = "nights_on_time"
_COULD_CHECK = "Fails where the check failed, with the reason: what was to be watched was not. Such a night is never clean."
_NO_DRIFT = "Fails where a scenario drifted, and as well where the check failed: what was not checked is not known to be fine."
ON_TIME_WORDS = (
    f"Fails where a night was due more than {GRACE_SECONDS // 60} minutes ago and was neither started nor recorded: the daemon, a sensor "
    "or the schedule does not do its work. Made again by the sensor `night_freshness`, which reports it when it changes."
)


def night_check_specs(asset: dg.AssetKey, partitions: dg.PartitionsDefinition[str]) -> list[dg.AssetCheckSpec]:
    """Return the declarations of the checks of a night."""
    return [
        check_spec(COULD_CHECK, asset, description=_COULD_CHECK, partitions=partitions),
        check_spec(NO_DRIFT, asset, description=_NO_DRIFT, partitions=partitions),
    ]


def night_checks(
    instance: dg.DagsterInstance, asset: dg.AssetKey, manifest: ArtifactManifest, partition: str
) -> Iterator[dg.AssetCheckEvaluation]:
    """Yield what the checks found of a stored night, as results of the partition's last materialization."""
    facts = night_facts(manifest)
    target = checked_materialization(instance, asset, partition)
    passed = {COULD_CHECK: facts.state != "check_failed", NO_DRIFT: facts.state == "checked_clean"}
    for name in (COULD_CHECK, NO_DRIFT):
        yield dg.AssetCheckEvaluation(
            asset_key=asset,
            check_name=name,
            passed=passed[name],
            metadata={"partition": partition, "state": facts.state, **_counts(facts)},
            target_materialization_data=target,
            severity=dg.AssetCheckSeverity.ERROR,
            description=facts.sentence,
            blocking=False,
            partition=partition,
        )


def on_time_result(asset: dg.AssetKey, late: Sequence[LateStream], *, watched: str) -> dg.AssetCheckEvaluation:
    """Return what the check of an asset's nights found.

    Args:
        asset: whose nights.
        late: the streams that have none for a slot that is past.
        watched: what was looked at, as a sentence, for when nothing is late.
    """
    named = "; ".join(f"{one.stream} has no night for {one.slot.at:%Y-%m-%d %H:%M} UTC" for one in late)
    return dg.AssetCheckEvaluation(
        asset_key=asset,
        check_name=ON_TIME,
        passed=not late,
        metadata={"late": len(late), "streams": dg.MetadataValue.json([one.stream for one in late])},
        severity=dg.AssetCheckSeverity.ERROR,
        description=f"{named}." if late else watched,
        blocking=False,
    )


def _counts(facts: NightFacts) -> dict[str, int | str]:
    reason = {} if facts.reason is None else {"reason": facts.reason}
    return {**reason, "scenarios": facts.scenarios, "drifted": len(facts.drifted), "dead_sensors": len(facts.dead)}
