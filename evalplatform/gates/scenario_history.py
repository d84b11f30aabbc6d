"""When did it change: one scenario at every remembered gate that compared it, and the first one where its verdict or its path did."""

from collections.abc import Iterable, Sequence

from evalplatform.kernel.values import Value
from evalplatform.runs.remembered_gate import GatedScenario, RememberedGate


class HistoryEntry(Value):
    """A scenario at one remembered gate.

    Attributes:
        gate: the gate.
        scenario: what the scenario was there.
        verdict_flipped: whether its verdict is another than at the gate before that had one.
        path_changed: whether its tool path is another than at the gate before that had one.
    """

    gate: RememberedGate
    scenario: GatedScenario
    verdict_flipped: bool = False
    path_changed: bool = False


class ScenarioHistory(Value):
    """A scenario at every remembered gate that compared it, oldest first."""

    scenario_id: str
    entries: tuple[HistoryEntry, ...]

    @property
    def first_flip(self) -> HistoryEntry | None:
        """The first gate where its verdict flipped; None where it never did."""
        return next((entry for entry in self.entries if entry.verdict_flipped), None)

    @property
    def first_path_change(self) -> HistoryEntry | None:
        """The first gate where its path changed; None where it never did."""
        return next((entry for entry in self.entries if entry.path_changed), None)


def scenario_history(scenario_id: str, oldest_first: Iterable[tuple[RememberedGate, GatedScenario]]) -> ScenarioHistory:
    """Return the history of a scenario. A gate at which it had no verdict, or no path, is passed over when the next one is looked at.

    Args:
        scenario_id: which.
        oldest_first: every remembered gate that compared it.
    """
    entries: list[HistoryEntry] = []
    for gate, scenario in oldest_first:
        entries.append(
            HistoryEntry(
                gate=gate,
                scenario=scenario,
                verdict_flipped=_differs(scenario.verdict, [entry.scenario.verdict for entry in entries]),
                path_changed=_differs(scenario.path_digest, [entry.scenario.path_digest for entry in entries]),
            )
        )
    return ScenarioHistory(scenario_id=scenario_id, entries=tuple(entries))


def _differs(now: str | None, before: Sequence[str | None]) -> bool:
    last = next((value for value in reversed(before) if value is not None), None)
    return now is not None and last is not None and now != last
