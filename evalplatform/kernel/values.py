"""The base class of every record: frozen, closed, and free of NaN."""

from typing import Self

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen record whose fields are declared once and serve as domain value, JSON and API schema.

    Unknown fields are refused, and so are NaN and the infinities: what is missing is `None`, with a reason beside it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="null")

    def with_changes(self, **changes: object) -> Self:
        """Return a validated copy with some fields replaced."""
        return self.__class__.model_validate({**{name: getattr(self, name) for name in type(self).model_fields}, **changes})
