"""Which texts a database can hold."""

from pydantic import JsonValue

from evalplatform.kernel.errors import InputError
from evalplatform.kernel.values import Value

NUL = "\x00"
_ESCAPED_NUL = "\\u0000"


def refuse_nul(value: Value) -> None:
    """Return nothing if no text of the value holds a NUL character, which Postgres cannot store.

    Raises:
        InputError: one does; its `field` says which.
    """
    if _ESCAPED_NUL not in value.model_dump_json():  # nearly always, and much faster than looking at every text
        return
    field = _field_with_nul(value.model_dump(mode="json"))
    if field is not None:
        raise InputError("holds a NUL character, which a database cannot store.", field=field)


def _field_with_nul(value: JsonValue, field: str = "") -> str | None:
    """Return where the first NUL stands, as a dotted path; "" where it is the value itself."""
    if isinstance(value, str):
        return field if NUL in value else None
    if isinstance(value, dict):
        if any(NUL in key for key in value):
            return field
        parts = [(f"{field}.{key}" if field else key, item) for key, item in value.items()]
    elif isinstance(value, list):
        parts = [(f"{field}.{index}" if field else str(index), item) for index, item in enumerate(value)]
    else:
        return None
    found = (_field_with_nul(item, name) for name, item in parts)
    return next((name for name in found if name is not None), None)
