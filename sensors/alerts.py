"""Sends what changed standings are told with."""

from pathlib import Path

import dagster as dg

from evalplatform.kernel.text import plural
from evalplatform.project.load import load_project
from evalplatform.stages.deliver_alerts import DeliveredAlerts, deliver_alerts
from evalplatform.wiring import OpenedProject

SENSOR_NAME = "alerts"
EVERY_SECONDS = 30

_DESCRIPTION = (
    "Sends an alert once for every change of a standing, by mail and webhook: the first try, then three more after 1, 5 and 25 minutes. "
    "How each ended stands on its night. Starts no run."
)


def alert_sensor(project_file: Path) -> dg.SensorDefinition:
    """Return the sensor. It runs from the start: without a mail server and a webhook it has nothing to send.

    A delivery is claimed before it is sent, so that two looks never send it twice; a look that is cut short is gone on with by the next.
    """

    @dg.sensor(
        name=SENSOR_NAME,
        minimum_interval_seconds=EVERY_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=_DESCRIPTION,
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        with OpenedProject(load_project(project_file)) as opened:
            return dg.SkipReason(_words(deliver_alerts(opened.monitoring_context())))

    return alerts


def _words(delivered: DeliveredAlerts) -> str:
    if not any(delivered):
        return "No alert is due."
    parts = [f"{plural(delivered.sent, 'message')} sent"]
    if delivered.to_try_again:
        parts.append(f"{delivered.to_try_again:,} to be tried again")
    if delivered.failed:
        parts.append(f"{delivered.failed:,} failed for good")
    if delivered.left:
        parts.append(f"{delivered.left:,} left for the next look")
    return f"{', '.join(parts)}."
