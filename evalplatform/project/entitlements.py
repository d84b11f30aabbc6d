"""What a tenant may use: granted by the deployment, narrowed by the project file.

There is one edition and everything is in it. An operator who hosts several teams withholds some of it; everyone else never meets this page.
"""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from evalplatform.kernel.errors import EntitlementError
from evalplatform.kernel.values import Value
from evalplatform.project.yaml_file import error_from_validation, plain, read_yaml_mapping

Feature = Literal["monitoring.managed", "comparison.history", "drift.history"]

HOUR_SECONDS = 3_600
WEEK_SECONDS = 604_800


class Entitlements(Value):
    """What may be used; without a word about it, everything.

    `scenario_allowance` is shared by all projects of a tenant.
    """

    withheld: tuple[Feature, ...] = Field(default=(), description="What may not be used.")
    scenario_allowance: int | None = Field(
        default=None,
        strict=True,
        ge=0,
        description="The most scenarios monitored at once, over all projects of the tenant; none is no limit.",
    )
    shortest_cadence_seconds: int = Field(
        default=HOUR_SECONDS, strict=True, ge=HOUR_SECONDS, le=WEEK_SECONDS, description="The shortest time between two scheduled checks."
    )
    most_recipients: int = Field(default=10, strict=True, ge=1, le=10, description="The most recipients of a schedule's alerts.")

    def require(self, feature: Feature, *, tenant: str) -> None:
        """Do nothing where the feature may be used.

        Raises:
            EntitlementError: it is withheld.
        """
        if feature in self.withheld:
            raise EntitlementError(
                feature, f"{feature} is not granted to the tenant {tenant!r} here; who operates this deployment can grant it."
            )

    def narrowed_by(self, wanted: "Entitlements") -> "Entitlements":
        """Return what both sides allow, so that neither side widens the other."""
        allowances = [side.scenario_allowance for side in (self, wanted) if side.scenario_allowance is not None]
        return Entitlements(
            withheld=tuple(sorted({*self.withheld, *wanted.withheld})),
            scenario_allowance=min(allowances, default=None),
            shortest_cadence_seconds=max(self.shortest_cadence_seconds, wanted.shortest_cadence_seconds),
            most_recipients=min(self.most_recipients, wanted.most_recipients),
        )


class EntitlementsFile(Value):
    """The deployment's file: what each tenant may use, and what those may that it does not name."""

    default: Entitlements = Entitlements()
    tenants: dict[str, Entitlements] = Field(default_factory=dict)

    def of_tenant(self, tenant: str) -> Entitlements:
        """Return what a tenant is granted. A tenant of its own line gets nothing from `default`."""
        return self.tenants.get(tenant, self.default)


def read_entitlements(path: Path) -> EntitlementsFile:
    """Return the deployment's entitlements; JSON is read as the YAML it is.

    Raises:
        ProjectFileError: the file cannot be read or used, with line, field, rule and the nearest name.
    """
    data = read_yaml_mapping(path)
    try:
        return EntitlementsFile.model_validate(plain(data))
    except ValidationError as error:
        raise error_from_validation(error, model=EntitlementsFile, data=data, path=path) from None
