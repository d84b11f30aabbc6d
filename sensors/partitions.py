"""Registers the cells and judges of the project file as partitions."""

from pathlib import Path

import dagster as dg

from assets.partitions import missing_keys
from evalplatform.project.load import load_project

EVERY_SECONDS = 30


def partitions_sensor(project_file: Path) -> dg.SensorDefinition:
    """Return the sensor that adds a partition for each new cell and judge. It asks nothing to run, so it spends nothing."""

    @dg.sensor(
        name="project_partitions",
        minimum_interval_seconds=EVERY_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Adds a partition for each cell and judge of the project file that has none yet. Runs nothing.",
    )
    def project_partitions(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        missing = missing_keys(context.instance, load_project(project_file))
        if not missing:
            return dg.SkipReason("Every cell and judge of the project file has its partition.")
        return dg.SensorResult(
            dynamic_partitions_requests=[
                dg.AddDynamicPartitionsRequest(partitions_def_name=name, partition_keys=keys) for name, keys in missing.items()
            ]
        )

    return project_partitions
