"""A scenario: what is asked of an agent, and what is checked of what it did."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.values import Value
from evalplatform.runs.records import GateTier, OneLine
from evalplatform.runs.tolerance import PathTolerance

ScenarioId = Annotated[OneLine, Field(min_length=1, max_length=200)]


class AssertionSpec(Value):
    """One assertion as it was written: a kind of the registry `assertion_kinds`, and what it is given."""

    kind: str
    argument: JsonValue


ScannedPart = Literal["agent_messages", "tool_arguments", "tool_results", "user_messages", "system_messages"]
WHAT_THE_AGENT_WROTE: tuple[ScannedPart, ...] = ("agent_messages", "tool_arguments")


class PolicySpec(Value):
    """One policy: a name, what breaches it (a regular expression or a named detector, one of the two), and where that is looked for.

    By default `look_in` is what the agent itself wrote: what a user or a tool says is not the agent's breach until it repeats it.
    """

    name: OneLine
    pattern: str | None = None
    detector: str | None = None
    look_in: tuple[ScannedPart, ...] = WHAT_THE_AGENT_WROTE


class Scenario(Value):
    """One scenario of the scenario set.

    Attributes:
        id: unique in the set.
        messages: the user's messages, one after the other.
        tags: for tiers and filters.
        assertions: the structural judge's checks.
        policies: names of the set's policies that it is scanned for, resolved; () scans for none and still counts as scanned.
        gate_tier: critical or standard; None leaves it to the tags.
        path_tolerance: None where nothing is declared.
        replay: the file of a recorded trajectory that is replayed in place of a live run; None runs the agent.
        recording: the file of a recorded trajectory that the sentinel compares live runs with.
        model_judge: whether the set's model judge grades it as well.
        max_seconds, max_cost_usd, max_steps: the run's own limits, whose breach is a `budget_stop`.
    """

    id: ScenarioId
    messages: tuple[str, ...] = Field(min_length=1)
    tags: tuple[OneLine, ...] = ()
    assertions: tuple[AssertionSpec, ...] = ()
    policies: tuple[PolicySpec, ...] = ()
    gate_tier: GateTier | None = None
    path_tolerance: PathTolerance | None = None
    replay: str | None = None
    recording: str | None = None
    model_judge: bool = False
    max_seconds: float | None = Field(default=None, gt=0)
    max_cost_usd: float | None = Field(default=None, gt=0)
    max_steps: int | None = Field(default=None, ge=1)

    @property
    def digest(self) -> str:
        """The digest of all that it says of its runs, so not of what a sentinel compares them with."""
        return json_digest(self.model_dump(mode="json", exclude={"recording"}))
