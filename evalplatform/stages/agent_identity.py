"""Who a scenario set's agent is, from its settings alone: known before anything of it is opened."""

from typing import NamedTuple

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
        cell = project.cell(chosen.cell)
        return AgentIdentity(f"model {cell.key} {chosen.arm}", cell.model)
    return AgentIdentity(chosen.identity, chosen.model if isinstance(chosen, HttpAgent) else None)
