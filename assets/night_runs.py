"""What Dagster knows of the runs of nights, by partition, and of the sentinel's schedule."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

# What the instance knows of switches; there is no public way to it.
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.scheduler.instigation import InstigatorStatus, ScheduleInstigatorData

from assets.monitoring_partitions import ATTEMPT_TAG, NIGHT_TAG
from assets.unfinished import PARTITION_TAG, UNFINISHED_RUNS
from evalplatform.stages.night_legs import is_being_recorded

SENTINEL_SCHEDULE = "sentinel_schedule"
ENDED_RUNS = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)


@dataclass(frozen=True)
class NightRuns:
    """The runs of nights, as Dagster's instance has them.

    Attributes:
        instance: which.
        nights_folder: where the bundles of nights lie: a run that Dagster took for dead may still be recording into one.
    """

    instance: dg.DagsterInstance
    nights_folder: Path

    def is_under_way(self, night_key: str) -> bool:
        """Say whether a run of that night waits or is going on."""
        return self.is_asked_for(night_key) or is_being_recorded(self.nights_folder, night_key)

    def is_asked_for(self, partition: str) -> bool:
        """Say whether a run over that partition has not ended."""
        wanted = dg.RunsFilter(tags={PARTITION_TAG: partition}, statuses=list(UNFINISHED_RUNS))
        return self.instance.get_runs_count(wanted) > 0

    def ended_attempts(self, night_key: str) -> int:
        """Return how many runs over that partition are over, however they ended."""
        return self.instance.get_runs_count(dg.RunsFilter(tags={PARTITION_TAG: night_key}, statuses=list(ENDED_RUNS)))


def night_request(partitions: dg.DynamicPartitionsDefinition, key: str, *, attempt: int) -> dg.RunRequest:
    """Return what a sensor or schedule asks for to have a night run. Of one attempt at one night there is one run.

    Args:
        partitions: what the key is of.
        key: the partition; it may be one that is just being added.
        attempt: which start of the night it is.
    """
    # With the partition's tags Dagster takes the key as resolved. It would otherwise look it up, which it cannot do for one just added.
    tags = {**partitions.get_tags_for_partition_key(key), NIGHT_TAG: key, ATTEMPT_TAG: str(attempt)}
    return dg.RunRequest(run_key=f"night:{key}:{attempt}", partition_key=key, tags=tags)


def switched_on_at(instance: dg.DagsterInstance) -> datetime | None:
    """Return when the sentinel's schedule was last started in an instance; None where it is stopped, or never was."""
    if instance.schedule_storage is None:  # one of a process alone, which runs no schedule
        return None
    states = instance.all_instigator_state(instigator_type=InstigatorType.SCHEDULE)
    started = [
        state.instigator_data.start_timestamp
        for state in states
        if state.instigator_name == SENTINEL_SCHEDULE
        and state.status == InstigatorStatus.RUNNING
        and isinstance(state.instigator_data, ScheduleInstigatorData)
        and state.instigator_data.start_timestamp is not None
    ]
    return datetime.fromtimestamp(max(started), tz=UTC) if started else None
