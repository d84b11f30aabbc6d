"""Whether the tenant's monitored scenarios fit what it is granted, over all of its projects."""

from evalplatform.kernel.errors import EntitlementError, MonitoringError
from evalplatform.kernel.text import plural
from evalplatform.monitoring.schedule_rules import FEATURE
from evalplatform.stages.monitoring_context import MonitoringContext


def require_monitoring(context: MonitoringContext) -> None:
    """Do nothing where the tenant may have agents monitored. Raises MonitoringError: allowance_unavailable."""
    try:
        context.project.entitlements.require(FEATURE, tenant=context.project.settings.tenant)
    except EntitlementError as error:
        raise MonitoringError("allowance_unavailable", str(error), field=FEATURE) from None


def used_allowance(context: MonitoringContext) -> dict[str, int]:
    """Return how many scenarios each of the tenant's projects has under schedules that are on; raises StorageUnavailableError."""
    used: dict[str, int] = {}
    for project, schedule in context.store.tenant_schedules():
        used[project] = used.get(project, 0) + schedule.used_allowance
    return used


def allowance_shortfall(context: MonitoringContext) -> str | None:
    """Return why no night may run now, as a sentence; None where one may. Raises StorageUnavailableError."""
    granted = context.project.entitlements
    if FEATURE in granted.withheld:
        return f"{FEATURE} is not granted any more."
    used = sum(used_allowance(context).values())
    if granted.scenario_allowance is None or used <= granted.scenario_allowance:
        return None
    return f"{plural(used, 'scenario')} in use across all projects, and {granted.scenario_allowance:,} granted."
