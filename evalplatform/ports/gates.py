"""The gate store port: remembered gates, and the gate policy that the platform holds."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from evalplatform.kernel.values import Value
from evalplatform.ports.audit import AuditEntry
from evalplatform.runs.gate_policy import HeldPolicy
from evalplatform.runs.remembered_gate import GatedScenario, RememberedGate, StoredPolicy


class AddedGate(Value):
    """A remembered gate, and whether it was remembered already: the same key again."""

    gate: RememberedGate
    already_there: bool


class ScenarioAtGate(NamedTuple):
    """One scenario at one remembered gate."""

    gate: RememberedGate
    scenario: GatedScenario


class GateStore(Protocol):
    """The remembered gates and the held policy of one project of one tenant. Safe for concurrent writers, across processes too."""

    def remember(self, gate: RememberedGate, scenarios: Sequence[GatedScenario], *, entry: AuditEntry) -> AddedGate:
        """Store a gate with its scenarios and the audit entry in one transaction, or nothing; the same key again is one gate.

        Args:
            gate: what was recomputed.
            scenarios: of the candidate; none of a check that failed.
            entry: who asked for it; kept only where it is added.

        Raises:
            InputError: a text holds a NUL.
            StorageUnavailableError: the store does not answer; remembering again is safe.
        """
        ...

    def gate(self, key: str) -> RememberedGate | None:
        """Return the gate of that key, or None."""
        ...

    def gates(self, *, branch: str | None = None, candidate: str | None = None, limit: int | None = None) -> Iterator[RememberedGate]:
        """Iterate over the gates, newest first (by received time, then the order they were stored in): those of a branch, of a candidate
        batch, at most `limit`."""
        ...

    def of_scenario(self, scenario_id: str) -> Iterator[ScenarioAtGate]:
        """Iterate over every remembered gate that compared a scenario, oldest first."""
        ...

    def policy(self) -> StoredPolicy | None:
        """Return the policy that is held, or None where none is."""
        ...

    def set_policy(self, policy: StoredPolicy, *, replaces: HeldPolicy | None, entry: AuditEntry) -> None:
        """Hold another policy, with the audit entry, in one transaction.

        Raises:
            InputError: another one than `replaces` is held by now: somebody changed it meanwhile.
            StorageUnavailableError: the store does not answer.
        """
        ...

    def close(self) -> None:
        """Close; calling it twice is fine."""
        ...
