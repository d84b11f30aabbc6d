"""The monitored-agent port: an agent of somebody else's, asked at a public address and nowhere else."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from evalplatform.ports.agent_runner import AgentRunner


@dataclass(frozen=True)
class MonitoredEndpoint:
    """Where an agent is asked: its address, for which project, how long a call may take, and the Authorization value, if it has one."""

    url: str
    project: str
    timeout_seconds: float
    authorization: str | None = field(default=None, repr=False)


class MonitoredAgent(AgentRunner, Protocol):
    """An agent runner that counts what it asks."""

    @property
    def requests(self) -> int:
        """How many requests were sent until now."""
        ...


OpenMonitoredAgent = Callable[[MonitoredEndpoint], AbstractAsyncContextManager[MonitoredAgent]]
"""Opens an agent for a body; nothing is resolved, connected or asked before its first run. Raises EndpointRefusedError where its address is
one that no monitored agent may have."""
