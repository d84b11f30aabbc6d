"""Looks whether nights come when they are due, and reports it where that has changed."""

from pathlib import Path

import dagster as dg

from assets.monitoring import late_results
from evalplatform.kernel.digests import json_digest
from evalplatform.project.load import load_project
from evalplatform.wiring import OpenedProject

SENSOR_NAME = "night_freshness"
EVERY_SECONDS = 300

_DESCRIPTION = (
    "Makes the checks `nights_on_time` again, and reports them where their result has changed: a schedule or the sentinel that should have "
    "had a night and has none. Starts no run."
)


def night_freshness_sensor(project_file: Path) -> dg.SensorDefinition:
    """Return the sensor. It runs from the start, apart from what it watches. Its cursor is the digest of what it last reported."""

    @dg.sensor(
        name=SENSOR_NAME,
        minimum_interval_seconds=EVERY_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=_DESCRIPTION,
    )
    def night_freshness(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        with OpenedProject(load_project(project_file)) as opened:
            results = late_results(context.instance, opened.monitoring_context())
        digest = json_digest([[result.asset_key.to_user_string(), result.passed, result.description] for result in results])
        if digest == context.cursor:
            return dg.SkipReason(" ".join(result.description or "" for result in results))
        return dg.SensorResult(asset_events=results, cursor=digest)

    return night_freshness
