"""What tests of stages share: worked texts that every store of text has to carry, and a project whose agent is monitored."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.conftest import awkward_texts
from tests.support.monitored_project import MonitoredProject
from tests.support.planned_agent import PlannedAgent, running_agent

__all__ = ["awkward_texts"]


@pytest.fixture
def agent() -> Iterator[PlannedAgent]:
    """An agent behind HTTP that does what it is told."""
    with running_agent() as served:
        yield served


@pytest.fixture
def monitored(tmp_path: Path, agent: PlannedAgent, monkeypatch: pytest.MonkeyPatch) -> MonitoredProject:
    """A project with that agent, and two scenarios pinned to runs that passed."""
    return MonitoredProject.written_to(tmp_path / "project", agent, monkeypatch)
