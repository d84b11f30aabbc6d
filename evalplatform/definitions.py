"""The composition root for Dagster: one project, one code location."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg

from assets.agent_side import AgentSidePart, agent_side_parts
from assets.declared import group_name
from assets.drift_history import history_definitions
from assets.monitoring import monitoring_definitions
from assets.pools import suite_pools
from assets.retention import retention_definitions
from assets.run_scenarios import run_scenarios_definitions
from assets.runs import batch_definitions, scenario_definitions
from assets.suites import suite_definitions
from evalplatform.kernel.errors import ProjectFileError
from evalplatform.kernel.text import plural
from evalplatform.project.load import PROJECT_FILE_NAME, Project
from evalplatform.stages.comparison_stages import project_comparisons, wanted_comparisons
from resources import project_resources
from resources.project import project_of_code_location
from sensors.alerts import alert_sensor
from sensors.batches import recorded_batches_sensor
from sensors.drift_history import drift_history_sensor
from sensors.failed_nights import failed_nights_sensor
from sensors.monitoring import monitoring_sensor
from sensors.new_judges import new_judges_sensor
from sensors.night_freshness import night_freshness_sensor
from sensors.partitions import partitions_sensor
from sensors.sentinel_schedule import sentinel_schedule


def build_definitions(project: Project) -> dg.Definitions:
    """Return everything that Dagster is told about a project.

    Raises:
        ProjectFileError: two suites would share a group, since Dagster's names have no `-` and no `.`.
    """
    _refuse_shared_groups(project)
    file = project.file or project.root / PROJECT_FILE_NAME
    suites = (
        suite_definitions(
            suite_id,
            settings,
            description=f"Product {settings.product}, {plural(len(settings.arms), 'arm')}.",
            pools=suite_pools(project, suite_id),
            comparisons=wanted_comparisons(project.cells_of(suite_id)),
        )
        for suite_id, settings in project.settings.suites.items()
    )
    parts = agent_side_parts(project)
    shared = dg.Definitions(
        sensors=[
            partitions_sensor(file, suites=tuple(project.settings.suites), comparisons=project_comparisons(project), agent_side=parts),
            *(new_judges_sensor(file, suite_id) for suite_id in project.settings.suites),
        ],
        resources=project_resources(file),
        executor=dg.in_process_executor,  # a step is one stage; model calls are concurrent inside it
    )
    return dg.Definitions.merge(shared, *suites, *_agent_side(project, file, parts))


def _agent_side(project: Project, file: Path, parts: Sequence[AgentSidePart]) -> Iterator[dg.Definitions]:
    if "batches" in parts:
        yield batch_definitions()
        yield retention_definitions(project.settings.retention)
        yield dg.Definitions(sensors=[recorded_batches_sensor(file)])
    if "scenarios" in parts:
        yield scenario_definitions()
        yield run_scenarios_definitions()
        yield monitoring_definitions()
        yield history_definitions()
        yield dg.Definitions(
            schedules=[sentinel_schedule(file, project.settings.sentinel)],
            sensors=[
                sensor_of(file)
                for sensor_of in (monitoring_sensor, failed_nights_sensor, night_freshness_sensor, drift_history_sensor, alert_sensor)
            ],
        )


def _refuse_shared_groups(project: Project) -> None:
    suite_of_group: dict[str, str] = {}
    for suite_id in project.settings.suites:
        other = suite_of_group.setdefault(group_name(suite_id), suite_id)
        if other != suite_id:
            raise ProjectFileError(
                f"the suites {other!r} and {suite_id!r} would share the group {group_name(suite_id)!r} in Dagster; rename one.",
                file=project.file,
                field=f"suites.{suite_id}",
            )


@dg.definitions
def defs() -> dg.Definitions:
    """The project that EVALPLATFORM_PROJECT names, or the nearest one above the working directory."""
    return build_definitions(project_of_code_location())
