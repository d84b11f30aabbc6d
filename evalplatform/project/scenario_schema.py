"""The scenario file's schema: what `scenarios.yaml` may say. Published, with the assertions, as docs/scenarios.schema.json."""

from typing import Literal

from pydantic import Field, JsonValue, field_validator, model_validator
from pydantic_core import PydanticCustomError

from evalplatform.kernel.values import Value
from evalplatform.project.schema import Id, JudgeDeclaration, Text
from evalplatform.runs.agent_settings import AgentSettings
from evalplatform.runs.gate_policy import GatePolicy
from evalplatform.runs.records import GateTier, OneLine
from evalplatform.runs.scenario import WHAT_THE_AGENT_WROTE, ScannedPart, ScenarioId
from evalplatform.runs.tolerance import PathTolerance

AssertionEntry = dict[str, JsonValue]
"""A mapping of one key, the assertion's kind, to its argument; `project.scenario_assertions` reads it."""


class Written(Value):
    """What a person wrote: a key with nothing under it is refused, because it would count as left out and seldom is meant so."""

    @field_validator("*", mode="before")
    @classmethod
    def _says_something(cls, given: object) -> object:
        if given is None:
            raise PydanticCustomError("nothing_under_it", "has nothing under it")
        return given


class PolicyEntry(Written):
    """What breaches a policy: a regular expression (Python's syntax) or a named detector, one of the two."""

    pattern: Text | None = None
    detector: Text | None = None
    look_in: tuple[ScannedPart, ...] = Field(
        default=WHAT_THE_AGENT_WROTE, min_length=1, description="Where it is looked for: by default in what the agent itself wrote."
    )

    @model_validator(mode="after")
    def _is_one_of_two(self) -> "PolicyEntry":
        if (self.pattern is None) == (self.detector is None):
            raise ValueError("a policy has either a pattern or a detector")
        return self


class LimitSettings(Written):
    """A run's own limits: the run that comes to one is stopped and fails (`budget_stop`). To grade only, use an assertion."""

    max_seconds: float | None = Field(default=None, strict=True, gt=0)
    max_cost_usd: float | None = Field(default=None, strict=True, gt=0)
    max_steps: int | None = Field(default=None, strict=True, ge=1)


class ScenarioEntry(Written):
    """One scenario: what is asked of the agent, and what is checked of what it did."""

    id: ScenarioId
    message: Text | None = Field(default=None, description="What the user asks, where that is one message.")
    messages: tuple[Text, ...] | None = Field(default=None, min_length=1, description="What the user says, one message after the other.")
    tags: tuple[OneLine, ...] = ()
    assertions: tuple[AssertionEntry, ...] = Field(default=(), description="What the structural judge checks; each counts alike.")
    policies: tuple[OneLine, ...] | None = Field(
        default=None, description="Names of the policies that its runs are scanned for: all of the file's where left out."
    )
    gate_tier: GateTier | None = None
    path_tolerance: PathTolerance | None = None
    replay: Text | None = Field(default=None, description="The file of a recorded trajectory that stands for a live run.")
    recording: Text | None = Field(
        default=None, description="The file of a recorded trajectory that the sentinel compares live runs with; `run` asks the agent."
    )
    limits: LimitSettings = LimitSettings()
    model_judge: bool = Field(default=False, strict=True, description="Whether the file's model judge grades it as well.")

    @model_validator(mode="after")
    def _is_asked_once(self) -> "ScenarioEntry":
        if (self.message is None) == (self.messages is None):
            raise ValueError("a scenario has either a message or messages")
        if self.replay is not None and self.recording is not None:
            raise ValueError("a scenario has either a replay or a recording: what it replays is its recording")
        return self

    @property
    def all_messages(self) -> tuple[str, ...]:
        """The user's messages, however they were written."""
        return self.messages or (self.message or "",)


JudgeReference = Id | JudgeDeclaration


class ScenarioFile(Written):
    """scenarios.yaml. Paths are relative to the file; unknown keys are refused."""

    version: Literal[1]
    scenarios: tuple[ScenarioEntry, ...] = Field(min_length=1)
    agent: AgentSettings | None = Field(default=None, description="How the agent is run; not needed to grade imported traces.")
    judge: JudgeReference | None = Field(
        default=None, description="The model judge of the scenarios with `model_judge`: a judge of the project file, or its settings."
    )
    policies: dict[OneLine, PolicyEntry] = Field(default_factory=dict)
    gate: GatePolicy | None = Field(default=None, description="Makes run sets decide the gate.")
