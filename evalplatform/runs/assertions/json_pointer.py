"""JSON pointers (RFC 6901), by which an assertion names a place in a tool's arguments."""

import re
from typing import Annotated

from pydantic import AfterValidator, JsonValue

_STRAY_TILDE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]*")


class Absent:
    """What a pointer that leads nowhere finds; JSON has no such value."""

    def __repr__(self) -> str:
        return "(absent)"


ABSENT = Absent()
"""Found where a pointer leads nowhere."""


def _checked_pointer(pointer: str) -> str:
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"is no JSON pointer: it starts with '/', as in '/{pointer}'")
    if _STRAY_TILDE.search(pointer):
        raise ValueError("is no JSON pointer: in a name '~' is written '~0', and '/' is written '~1'")
    return pointer


JsonPointer = Annotated[str, AfterValidator(_checked_pointer)]
"""`/order/id`, `/items/0`; the empty text is the whole document."""


def value_at(document: JsonValue, pointer: str) -> JsonValue | Absent:
    """Return what a pointer names in a document, or ABSENT.

    Names are unescaped as RFC 6901 says: `~1` is `/`, then `~0` is `~`. Of a list, an index is a number without leading zeros; `-`, the
    place after the last entry, is never there.
    """
    found: JsonValue = document
    for escaped in pointer.split("/")[1:]:
        name = escaped.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and _INDEX.fullmatch(name) and len(name) < 10 and int(name) < len(found):
            found = found[int(name)]
        else:
            return ABSENT
    return found
