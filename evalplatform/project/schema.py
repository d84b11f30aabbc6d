"""The project file's schema: what `evalplatform.yaml` may say. Field meanings are published in docs/evalplatform.schema.json."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from evalplatform.calls.limiter import Limits
from evalplatform.calls.retry import RetryPolicy
from evalplatform.kernel.keys import KEY_PATTERN
from evalplatform.kernel.values import Value
from evalplatform.ports.model_client import Sampling
from evalplatform.project.entitlements import Entitlements
from evalplatform.project.plugin_list import PluginRefs
from evalplatform.project.policy import Policy, SuiteChecks
from evalplatform.project.timezones import known_timezone
from evalplatform.runs.mail_address import checked_mail_address
from evalplatform.runs.schedule import MOST_RECIPIENTS

Id = Annotated[str, StringConstraints(pattern=f"^{KEY_PATTERN.pattern}$", max_length=60)]
Text = Annotated[str, StringConstraints(min_length=1)]
TimeOfDay = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
MailAddress = Annotated[str, AfterValidator(checked_mail_address)]
Recipients = Annotated[tuple[MailAddress, ...], AfterValidator(lambda given: tuple(dict.fromkeys(given)))]
"""Each is mailed once, however often it is named."""
TimezoneName = Annotated[str, AfterValidator(known_timezone)]
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class EndpointPrices(Value):
    """What a million tokens cost at an endpoint, in US dollars; these go before the dated price table."""

    input_per_million_usd: float = Field(strict=True, ge=0)
    output_per_million_usd: float = Field(strict=True, ge=0)
    cached_input_per_million_usd: float | None = Field(default=None, strict=True, ge=0)


class EndpointSettings(Value):
    """A server that models are asked at. The key itself stands in the environment variable that `key_env` names."""

    provider: Text
    base_url: Text | None = None
    key_env: VariableName | None = None
    stream: bool = Field(default=False, description="Stream replies, which measures the time to the first token.")
    timeout_seconds: float = Field(default=120.0, strict=True, gt=0)
    limits: Limits = Limits()
    retry: RetryPolicy = RetryPolicy()
    prices: EndpointPrices | None = None


class CellSettings(Value):
    """A model cell: who answers, and how."""

    model: Text
    endpoint: Id
    harness: Text = "arms-runner"
    plugins: PluginRefs = Field(default=(), description="Plugins that modify every arm, in order, such as `caveman:lite` or `truncate:80`.")
    sampling: Sampling = Sampling()


class JudgeDeclaration(Value):
    """A judge: who grades, by which kind of judging. `rubric` is a text file with further instructions."""

    kind: Text
    model: Text
    endpoint: Id
    rubric: Text | None = None
    roles: tuple[Text, ...] | None = Field(
        default=None, min_length=1, description="Who votes, of a panel, in order: all of its roles where left out."
    )
    grounded_from_topics: bool = False
    sampling: Sampling = Sampling()


class ProductSettings(Value):
    """What a suite is about. `library_id` is its id at Context7; `sources` name document specs that arms can use as `docs:<name>`."""

    library_id: Text | None = None
    sources: dict[Id, Text] = Field(default_factory=dict)


class ArmDeclaration(Value):
    """An arm with a name of its own."""

    name: Text
    spec: Text


class SuiteSettings(Value):
    """An evaluation: which questions, which arms, answered by which cells, graded by which judges."""

    product: Text
    questions: Text
    arms: tuple[ArmDeclaration | Text, ...] = Field(min_length=1)
    baseline_arm: Text = "baseline"
    cells: tuple[Id, ...] = Field(min_length=1)
    judges: tuple[Id, ...] = ()
    draws: int = Field(default=1, strict=True, ge=1, le=100)
    top_k: int = Field(default=5, strict=True, ge=1)
    rerank_threshold: float = Field(default=0.3, strict=True, ge=0, le=1)
    correction: Literal["holm", "bh"] = "holm"
    cluster_field: Text | None = Field(default=None, description="A question field; standard errors are then clustered by it.")
    pass_points: float | None = Field(default=None, strict=True, ge=0, le=100, description="An answer passes at this many points.")
    checks: SuiteChecks = Field(default=SuiteChecks(), description="Limits of the checks on what was made, and which of them block.")

    @property
    def policy(self) -> Policy:
        """The threshold and the limits of this suite, defaults filled in."""
        return Policy(pass_points=self.pass_points, checks=self.checks)

    @property
    def arm_specs(self) -> tuple[str, ...]:
        """The spec of every arm, in order."""
        return tuple(arm if isinstance(arm, str) else arm.spec for arm in self.arms)


class BudgetSettings(Value):
    """The most that one run of a suite may pay, in US dollars."""

    max_cost_usd: float = Field(strict=True, gt=0)


class SentinelSettings(Value):
    """The nightly drift check of the scenario file."""

    at: TimeOfDay = Field(default="02:30", description="The time of day, on the clock of `timezone`, that the check is due at.")
    timezone: TimezoneName = Field(default="UTC", description="An IANA time zone, such as `Europe/Berlin`.")
    runs: int = Field(default=1, strict=True, ge=1, le=50, description="Live runs of each scenario a night.")
    reference_fail_rate: float = Field(
        default=0.1, strict=True, gt=0, lt=1, description="How often a run fails while nothing has changed; drift is told against it."
    )
    max_cost_usd: float | None = Field(default=None, strict=True, gt=0, description="The most that a night may spend on the agent.")
    recipients: Recipients = Field(
        default=(), max_length=MOST_RECIPIENTS, description="Who is mailed when what stands after a night has changed."
    )


class RetentionSettings(Value):
    """How long the runs of batches are kept; without a word about it, for ever."""

    compact_after_days: int | None = Field(
        default=None, strict=True, ge=1, description="From this age on a batch keeps one run of each scenario."
    )
    expire_after_days: int | None = Field(default=None, strict=True, ge=1, description="From this age on a batch keeps no run.")

    @model_validator(mode="after")
    def _compacts_before_it_expires(self) -> "RetentionSettings":
        if self.compact_after_days and self.expire_after_days and self.expire_after_days <= self.compact_after_days:
            raise ValueError("expire_after_days must be more than compact_after_days")
        return self

    @property
    def is_set(self) -> bool:
        """Whether runs go at any age."""
        return self.compact_after_days is not None or self.expire_after_days is not None


SECTIONS = ("endpoints", "cells", "judges", "products", "suites", "budgets", "sentinel", "retention", "entitlements")


def _with_empty_sections(schema: dict[str, Any]) -> None:
    for name in SECTIONS:
        declared = schema["properties"][name]
        about = {key: declared.pop(key) for key in ("title", "description", "default") if key in declared}
        schema["properties"][name] = {"anyOf": [declared, {"type": "null"}], **about}


class ProjectFile(Value):
    """evalplatform.yaml. Paths are relative to the file; unknown keys are refused. A section without entries is as good as none."""

    model_config = ConfigDict(json_schema_extra=_with_empty_sections)

    version: Literal[1]
    project: Id
    tenant: Id = "default"
    storage: Text = ".evalplatform/store"
    database: Text = "sqlite:///.evalplatform/evalplatform.db"
    endpoints: dict[Id, EndpointSettings] = Field(default_factory=dict)
    cells: dict[Id, CellSettings] = Field(default_factory=dict)
    judges: dict[Id, JudgeDeclaration] = Field(default_factory=dict)
    products: dict[Text, ProductSettings] = Field(default_factory=dict)
    suites: dict[Id, SuiteSettings] = Field(default_factory=dict)
    budgets: dict[Id, BudgetSettings] = Field(default_factory=dict)
    scenarios: Text | None = Field(default=None, description="The scenario file: what agents are asked, and what is checked of their runs.")
    sentinel: SentinelSettings = Field(default=SentinelSettings(), description="The nightly drift check of the scenario file.")
    retention: RetentionSettings = Field(default=RetentionSettings(), description="How long the runs of batches are kept.")
    entitlements: Entitlements = Field(
        default=Entitlements(), description="What this project may use of what the deployment grants its tenant; it never widens that."
    )

    @model_validator(mode="before")
    @classmethod
    def _without_empty_sections(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if value is not None or name not in SECTIONS}
