"""The table of labels: one table for every kind of subject, whoever labelled it."""

from typing import ClassVar

from pydantic import AwareDatetime
from sqlalchemy import JSON, UniqueConstraint
from sqlmodel import AutoString, Field

from evalplatform.adapters.tables.base import ROW_ID, UtcDateTime
from evalplatform.adapters.tables.rows import ROW_CONFIG, TableRow
from evalplatform.ports.labels import Label, Scale, SubjectKind, Verdict


class LabelRow(Label, TableRow, table=True):
    """One label of one project. Importing the same label twice is refused by its key, so an import can be repeated."""

    __tablename__: ClassVar[str] = "labels"
    __table_args__ = (UniqueConstraint("project", "subject_kind", "subject", "labeller", "scale", "labelled_at", name="uq_labels_key"),)
    model_config = ROW_CONFIG

    id: int | None = Field(default=None, primary_key=True, sa_type=ROW_ID)
    project: str
    subject_kind: SubjectKind = Field(sa_type=AutoString)
    scale: Scale = Field(sa_type=AutoString)
    value: float | Verdict = Field(sa_type=JSON)
    labelled_at: AwareDatetime = Field(sa_type=UtcDateTime)
