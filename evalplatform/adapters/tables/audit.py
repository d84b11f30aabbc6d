"""The audit table: every change made through the platform, with the value before and after."""

from typing import ClassVar

from pydantic import AwareDatetime, JsonValue
from sqlalchemy import JSON, Column
from sqlmodel import Field

from evalplatform.adapters.tables.base import ROW_ID, UtcDateTime
from evalplatform.adapters.tables.rows import ROW_CONFIG, TableRow
from evalplatform.ports.audit import AuditEntry


class AuditRow(AuditEntry, TableRow, table=True):
    """One change in one project."""

    __tablename__: ClassVar[str] = "audit"
    model_config = ROW_CONFIG

    id: int | None = Field(default=None, primary_key=True, sa_type=ROW_ID)
    project: str = Field(index=True)
    old_value: JsonValue = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    new_value: JsonValue = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    happened_at: AwareDatetime = Field(sa_type=UtcDateTime)
