"""The base of row classes, and the one way between a row and its value."""

from typing import Any, TypeVar

from pydantic import ConfigDict
from sqlmodel import SQLModel

from evalplatform.adapters.tables.base import metadata as shared_metadata
from evalplatform.kernel.values import Value

V = TypeVar("V", bound=Value)
R = TypeVar("R", bound="TableRow")


# SQLAlchemy sets a row's attributes when it loads it.
ROW_CONFIG: Any = ConfigDict(frozen=False)


class TableRow(SQLModel):
    """A stored record: a value's fields, plus keys and JSON columns and nothing else."""

    metadata = shared_metadata


def to_row(row_class: type[R], value: Value, **keys: Any) -> R:
    """Return the value as a row with its keys, validated: a table class checks nothing by itself."""
    checked = type(value).model_validate(value.model_dump())
    return row_class(**checked.model_dump(), **keys)


def from_row(value_class: type[V], row: TableRow) -> V:
    """Return a row's value, validated.

    Raises:
        pydantic.ValidationError: the row holds something the value does not allow, so it was not written by `to_row`.
    """
    return value_class.model_validate({name: getattr(row, name) for name in value_class.model_fields})
