"""All tables together, for migrations. Importing this module imports SQLModel; the ledger does not need it."""

from evalplatform.adapters.tables.audit import AuditRow
from evalplatform.adapters.tables.base import metadata
from evalplatform.adapters.tables.batches import BatchRow, BatchRunRow, BatchScenarioRow, BatchViolationRow
from evalplatform.adapters.tables.calls import calls, run_spend
from evalplatform.adapters.tables.gates import GatePolicyRow, GateRow, GateScenarioRow
from evalplatform.adapters.tables.labels import LabelRow
from evalplatform.adapters.tables.monitoring import NightRow, ScheduleRow

__all__ = [
    "AuditRow",
    "BatchRow",
    "BatchRunRow",
    "BatchScenarioRow",
    "BatchViolationRow",
    "GatePolicyRow",
    "GateRow",
    "GateScenarioRow",
    "LabelRow",
    "NightRow",
    "ScheduleRow",
    "calls",
    "metadata",
    "run_spend",
]
