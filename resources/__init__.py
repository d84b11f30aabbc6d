"""Dagster resources: the opened project and the IO manager on its object store."""

import os

import dagster as dg

from evalplatform.project.load import Project
from resources.artifact_io_manager import ArtifactIOManager
from resources.project import ProjectResource


def project_resources(project: Project) -> dict[str, object]:
    """Return the resources of a project's code location, by the names that assets ask for."""
    if project.file is None:
        raise dg.DagsterInvariantViolationError("a code location needs a project file")
    file = os.fspath(project.file)
    return {"project": ProjectResource(project_file=file), "io_manager": ArtifactIOManager(project_file=file)}
