"""Values that JSON text, CSV or pandas can bring but no record can hold: NaN, infinities, half surrogates, integers past 64 bits."""

import math
import re
import unicodedata

from pydantic import JsonValue

MAX_NESTING = 100
_HALF_SURROGATE = re.compile("[\ud800-\udfff]")
_INT64_LIMIT = 2**63


class UncleanValueError(Exception):
    """A value that cannot be kept. `path` is where it stands below the value that was given, such as `.tags[2]`."""

    def __init__(self, why: str, path: str) -> None:
        super().__init__(why)
        self.why = why
        self.path = path


def is_nan(value: object) -> bool:
    """Say whether the value is a float NaN, which is how pandas spells a missing cell."""
    return isinstance(value, float) and math.isnan(value)


def is_nan_text(value: object) -> bool:
    """Say whether the value is the text `nan` in any case: a missing cell of pandas that became text on its way here."""
    return isinstance(value, str) and value.strip().casefold() == "nan"


def is_blank(text: str) -> bool:
    """Say whether nothing of the text can be seen: white space, characters of no width (Unicode category Cf) and of control (Cc)."""
    return all(char.isspace() or unicodedata.category(char) in ("Cf", "Cc") for char in text)


def cleaned(value: object, *, path: str = "", depth: int = 0) -> JsonValue:
    """Return the value with every NaN inside it as None.

    Raises:
        UncleanValueError: an infinity, half of a surrogate pair (it has no UTF-8 form, so no model can be sent it), an integer past 64 bits
            (its digest would have no canonical JSON), or nesting deeper than 100.
    """
    if depth > MAX_NESTING:
        raise UncleanValueError(f"is nested more than {MAX_NESTING} deep.", "")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _whole_text(value, path=path)
    if isinstance(value, int):
        if not -_INT64_LIMIT <= value < _INT64_LIMIT:
            raise UncleanValueError("is an integer that does not fit into 64 bits; write it as text.", path)
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise UncleanValueError("is an infinity, which JSON cannot hold.", path)
        return None if math.isnan(value) else value
    if isinstance(value, list):
        return [cleaned(item, path=f"{path}[{index}]", depth=depth + 1) for index, item in enumerate(value)]
    if isinstance(value, dict):
        return {_whole_text(key, path=path): cleaned(item, path=f"{path}.{key}", depth=depth + 1) for key, item in value.items()}
    raise UncleanValueError(f"is a {type(value).__name__}, which JSON cannot hold.", path)


def _whole_text(text: str, *, path: str) -> str:
    if not text.isascii() and (half := _HALF_SURROGATE.search(text)):
        code = f"\\u{ord(half.group()):04x}"
        raise UncleanValueError(f"holds {code}, half of a surrogate pair, which is no character; write the whole character.", path)
    return text
