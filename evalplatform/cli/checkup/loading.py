"""Loads a project for the doctor: settings of the deployment that cannot be used are set aside, so that the rest can be looked at."""

from collections.abc import Mapping
from pathlib import Path

from evalplatform.kernel.errors import InputError
from evalplatform.project.deployment import DeploymentSettings, variable_of
from evalplatform.project.entitlements import read_entitlements
from evalplatform.project.load import Project, load_project


def usable_project(file: Path, environ: Mapping[str, str]) -> tuple[Project, dict[str, InputError]]:
    """Return the project as the usable part of the environment makes it, and what is wrong with the other part, by variable.

    Raises:
        ProjectFileError: the project file itself cannot be used.
    """
    refused = {str(error.field): error for error in DeploymentSettings.refusals(environ)}
    variable = variable_of("entitlements")
    if named := environ.get(variable):
        try:
            read_entitlements(Path(named).expanduser())
        except InputError as error:
            refused[variable] = error
    usable = {name: value for name, value in environ.items() if name not in refused}
    return load_project(file, environ=usable), refused
