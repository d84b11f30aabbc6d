"""A loaded scenario set: every name resolved, every pattern and schema checked."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pydantic import JsonValue

from evalplatform.judging.judge import JudgeSettings
from evalplatform.judging.structural import STRUCTURAL_JUDGE
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import UnknownNameError
from evalplatform.kernel.values import Value
from evalplatform.runs.agent_settings import AgentSettings
from evalplatform.runs.gate_policy import GatePolicy, HeldPolicy
from evalplatform.runs.records import GateTier, PlannedScenario
from evalplatform.runs.scenario import Scenario


class RunJudgeCell(Value):
    """The model judge of a scenario set. `identity` changes with all that decides its verdicts, and with nothing else."""

    id: str
    identity: str
    endpoint: str
    settings: JudgeSettings


@dataclass(frozen=True)
class ScenarioSet:
    """What a scenario file says.

    Attributes:
        file: where it was read from; relative paths in it start at its folder.
        scenarios: in the order of the file.
        agent: how the agent is run; None where the file does not say.
        model_judge: the judge of the scenarios that ask for one, or None.
        policy: the `gate` block with its defaults filled in; None where the file has none, and then run sets never decide.
        recordings: the digest of each replayed file's bytes, by the path as it is written.
    """

    file: Path
    scenarios: tuple[Scenario, ...]
    agent: AgentSettings | None = None
    model_judge: RunJudgeCell | None = None
    policy: GatePolicy | None = None
    recordings: tuple[tuple[str, str], ...] = ()

    @cached_property
    def digest(self) -> str:
        """The digest of its content, recordings included; neither the file's path nor the order of the scenarios counts."""
        return json_digest(
            {
                "scenarios": sorted(scenario.digest for scenario in self.scenarios),
                "agent": None if self.agent is None else self.agent.model_dump(mode="json"),
                "model_judge": None if self.model_judge is None else self.model_judge.identity,
                "policy": self.policy_json,
                "recordings": dict(self.recordings),
            }
        )

    @property
    def policy_json(self) -> dict[str, JsonValue] | None:
        """The gate policy as a batch records it."""
        return None if self.policy is None else self.policy.model_dump(mode="json")

    @property
    def judge_identity(self) -> str:
        """Who grades, as a batch records it: the structural judge, and the model judge where a scenario asks for it."""
        asked = self.model_judge is not None and any(scenario.model_judge for scenario in self.scenarios)
        return f"{STRUCTURAL_JUDGE}+{self.model_judge.identity}" if asked and self.model_judge is not None else STRUCTURAL_JUDGE

    @property
    def default_runs(self) -> int:
        """How often a live scenario runs where nothing else is asked for: what `gate.runs` says, or once without a gate."""
        return 1 if self.policy is None else self.policy.runs

    def scenario(self, scenario_id: str) -> Scenario:
        """Return a scenario by id, or raise UnknownNameError with the nearest one."""
        for scenario in self.scenarios:
            if scenario.id == scenario_id:
                return scenario
        raise UnknownNameError("scenario", scenario_id, [scenario.id for scenario in self.scenarios], file=self.file)

    def tier(self, scenario: Scenario) -> GateTier:
        """Return a scenario's gate tier: its own, else by its tags, else standard."""
        if scenario.gate_tier is not None:
            return scenario.gate_tier
        return "standard" if self.policy is None else self.policy.tier_of(scenario.tags)

    @property
    def live_tiers(self) -> dict[str, GateTier]:
        """The tier of each live scenario, by id."""
        return {scenario.id: self.tier(scenario) for scenario in self.scenarios if scenario.replay is None}

    def under_policy(self, policy: HeldPolicy) -> "ScenarioSet":
        """Return the same scenarios under a policy that the platform holds; it moves single scenarios before the file's own tiers do."""
        moved = policy.tier_by_scenario
        scenarios = tuple(one.with_changes(gate_tier=moved[one.id]) if one.id in moved else one for one in self.scenarios)
        return replace(self, policy=policy, scenarios=scenarios)

    def planned(self, scenario: Scenario, runs: int | None = None) -> PlannedScenario:
        """Return what a batch declares of a scenario. A replay is the same every time, so it is planned once whatever `runs` says."""
        is_replay = scenario.replay is not None
        return PlannedScenario(
            tier=self.tier(scenario),
            tolerance=scenario.path_tolerance,
            planned_runs=1 if is_replay else (runs or self.default_runs),
            leg="replay" if is_replay else "live",
        )

    def planned_all(self, runs: int | None = None) -> dict[str, PlannedScenario]:
        """Return what a batch declares of every scenario, by id."""
        return {scenario.id: self.planned(scenario, runs) for scenario in self.scenarios}

    def recording_of(self, scenario: Scenario) -> Path | None:
        """Return the file that a scenario replays, or None for a live one."""
        return None if scenario.replay is None else self.file.parent / scenario.replay

    def watched_recording_of(self, scenario: Scenario) -> Path | None:
        """Return the file that the sentinel compares a scenario's live runs with, or None where it has none."""
        named = scenario.replay or scenario.recording
        return None if named is None else self.file.parent / named


def repeated(names: Iterable[str]) -> Iterable[tuple[int, int, str]]:
    """Iterate over the names that stood there before: the place of the first, the place of this one, and the name."""
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        if name in first:
            yield first[name], place, name
        else:
            first[name] = place
