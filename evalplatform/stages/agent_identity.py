"""Who a scenario set's agent is, from its settings alone: known before anything of it is opened."""

from typing import NamedTuple

from evalplatform.project.cells import Cell
from evalplatform.project.load import Project
from evalplatform.runs.agent_settings import AgentSettings, HttpAgent, ModelAgent


class AgentIdentity(NamedTuple):
    """An agent's identity, which never holds the commit, and the model it uses where that is known."""

    agent: str
    model: str | None


def agent_identity(settings: AgentSettings, project: Project) -> AgentIdentity:
    """Return who the agent is, as batches record it.

    Raises:
        UnknownNameError: a `model` agent names a cell that the project does not have.
    """
    chosen = settings.chosen
    if isinstance(chosen, ModelAgent):
        return model_agent_identity(chosen, project.cell(chosen.cell))
    return AgentIdentity(chosen.identity, chosen.model if isinstance(chosen, HttpAgent) else None)


def model_agent_identity(settings: ModelAgent, cell: Cell) -> AgentIdentity:
    """Return who a cell of the project is under an arm: its key, which changes with all that decides an answer, and the arm."""
    return AgentIdentity(f"model {cell.key} {settings.arm}", cell.model)
