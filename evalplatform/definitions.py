"""The composition root for Dagster: one project, one code location."""

import dagster as dg

from assets.suites import suite_definitions
from evalplatform.kernel.text import plural
from evalplatform.project.load import Project
from resources import project_resources
from resources.project import project_of_code_location
from sensors.partitions import partitions_sensor


def build_definitions(project: Project) -> dg.Definitions:
    """Return everything that Dagster is told about a project."""
    assert project.file is not None  # project_resources refuses a project without a file
    suites = (
        suite_definitions(suite_id, description=f"Product {settings.product}, {plural(len(settings.arms), 'arm')}.")
        for suite_id, settings in project.settings.suites.items()
    )
    shared = dg.Definitions(
        sensors=[partitions_sensor(project.file)],
        resources=project_resources(project),
        executor=dg.in_process_executor,  # a step is one stage; model calls are concurrent inside it
    )
    return dg.Definitions.merge(shared, *suites)


@dg.definitions
def defs() -> dg.Definitions:
    """The project that EVALPLATFORM_PROJECT names, or the nearest one above the working directory."""
    return build_definitions(project_of_code_location())
