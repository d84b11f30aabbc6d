"""Types that the arguments of several assertion kinds are made of."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from evalplatform.kernel.errors import InputError
from evalplatform.runs.pattern_search import compiled_pattern

ToolName = Annotated[str, StringConstraints(min_length=1)]
SomeText = Annotated[str, StringConstraints(min_length=1)]


def _checked_pattern(pattern: str) -> str:
    try:
        compiled_pattern(pattern)
    except InputError as error:
        raise ValueError(error.rule.rstrip(".")) from None
    return pattern


Pattern = Annotated[str, StringConstraints(min_length=1), AfterValidator(_checked_pattern), Field(json_schema_extra={"format": "regex"})]
"""A regular expression in the syntax of Python's `re`, found anywhere in a text."""

WholeCount = Annotated[int, Field(strict=True, ge=0)]
Amount = Annotated[float, Field(strict=True, ge=0)]
