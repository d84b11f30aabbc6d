"""Dagster resources: the opened project and the IO manager on its object store."""

import os
from pathlib import Path

from resources.artifact_io_manager import ArtifactIOManager
from resources.project import ProjectResource


def project_resources(project_file: Path) -> dict[str, object]:
    """Return the resources of a project's code location, by the names that assets ask for."""
    file = os.fspath(project_file)
    return {"project": ProjectResource(project_file=file), "io_manager": ArtifactIOManager(project_file=file)}
