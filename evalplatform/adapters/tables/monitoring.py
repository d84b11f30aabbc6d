"""The tables of monitoring: schedules and nights.

What is asked for by itself has a column: where a night stands, its slot, whether an alert is still to be delivered, a stored header value.
The rest of each record is one JSON document, validated whenever it is read.
"""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Column, Index, UniqueConstraint
from sqlmodel import Field

from evalplatform.adapters.tables.base import ROW_ID, UtcDateTime
from evalplatform.adapters.tables.batches import CODE_POINTS
from evalplatform.adapters.tables.rows import TableRow


class ScheduleRow(TableRow, table=True):
    """One schedule. `header_token` is the encrypted Authorization value, NULL without one; the document has all else but that."""

    __tablename__: ClassVar[str] = "schedules"

    tenant: str = Field(primary_key=True)
    project: str = Field(primary_key=True)
    schedule_id: str = Field(primary_key=True, sa_type=CODE_POINTS)
    document: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    header_token: str | None


class NightRow(TableRow, table=True):
    """One night; of one key there is one. `alert` is NULL where nothing changed, and is no part of the document."""

    __tablename__: ClassVar[str] = "nights"
    __table_args__ = (
        UniqueConstraint("tenant", "project", "night_key", name="uq_nights_key"),
        Index("ix_nights_newest", "tenant", "project", "slot_at", "night_key"),
        Index("ix_nights_stream", "tenant", "project", "stream", "slot_at", "night_key"),
        # Sensors ask for these few again and again, among years of nights.
        Index("ix_nights_state", "tenant", "project", "state", "slot_at", "night_key"),
        Index("ix_nights_open_alert", "tenant", "project", "is_alert_open", "slot_at", "night_key"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=ROW_ID)
    tenant: str
    project: str
    night_key: str = Field(sa_type=CODE_POINTS)
    source: str
    stream: str = Field(sa_type=CODE_POINTS)
    slot_at: datetime = Field(sa_type=UtcDateTime)
    state: str
    attempt: int
    document: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    alert: dict[str, Any] | None = Field(sa_column=Column(JSON(none_as_null=True)))
    is_alert_open: bool
