"""Which parts of the agent side a project has in Dagster: batches and what is made of them, and its scenarios.

A project that evaluates arms alone has neither, so that its graph shows nothing of batches. Scenarios are there where the project file
names a scenario file. Batches are there as well where none is named and one was pushed: runs can be imported without scenarios. The first
push of such a project needs a reload of the code location, of which `evalplatform sync` tells.
"""

from typing import Literal

from evalplatform.kernel.errors import InputError, StorageError
from evalplatform.project.load import Project
from evalplatform.wiring import OpenedProject

AgentSidePart = Literal["batches", "scenarios"]


def agent_side_parts(project: Project) -> tuple[AgentSidePart, ...]:
    """Return the parts that a project has.

    A database that cannot be looked at is taken to hold a batch: assets that cannot be read say why, and those that are not there do not.
    """
    if project.settings.scenarios is not None:
        return ("batches", "scenarios")
    with OpenedProject(project) as opened:
        try:
            return ("batches",) if opened.holds_batches() else ()
        except (StorageError, InputError):
            return ("batches",)
