"""Front matter of Markdown files, by a splitter of our own.

Common readers lose metadata silently: on a byte order mark, on CRLF, or by turning `id: no` into False (YAML 1.1). Here a byte order mark
is dropped, line endings stay as they are, YAML is 1.2 by its safe loader, and what cannot be read is a problem with its line and text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

BYTE_ORDER_MARK = "\ufeff"
FENCE = "---"


@dataclass(frozen=True)
class FrontMatterProblem:
    """Why the metadata could not be read: the reason, the 1-based line of the file, and that line's text."""

    reason: str
    line: int
    text: str


@dataclass(frozen=True)
class FrontMatter:
    """A file's metadata and body.

    Attributes:
        metadata: the mapping between the fences; empty where there is none or it cannot be read.
        body: everything after the closing fence; the whole text where there is no block or it is never closed.
        present: whether the file begins with a fence.
        problem: why the metadata cannot be read, or None.
        had_byte_order_mark: whether a byte order mark was dropped.
    """

    body: str
    metadata: Mapping[str, object] = field(default_factory=dict)
    present: bool = False
    problem: FrontMatterProblem | None = None
    had_byte_order_mark: bool = False


def split_front_matter(text: str) -> FrontMatter:
    """Return the metadata and body of a Markdown text. It never raises: callers decide what a problem means.

    The block begins on the first line and ends at the next line that is `---` alone; a later `---` belongs to the body. YAML that is broken
    or no mapping is a problem and leaves no metadata, but the body is kept.
    """
    had_mark = text.startswith(BYTE_ORDER_MARK)
    text = text.removeprefix(BYTE_ORDER_MARK)
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        return FrontMatter(body=text, had_byte_order_mark=had_mark)
    closing = next((number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == FENCE), None)
    if closing is None:
        problem = FrontMatterProblem("the block that begins with '---' is never closed by a second '---'", 1, lines[0].rstrip())
        return FrontMatter(body=text, present=True, problem=problem, had_byte_order_mark=had_mark)
    metadata, unreadable = _read_mapping(lines[1:closing])
    return FrontMatter(
        body="\n".join(lines[closing + 1 :]), metadata=metadata, present=True, problem=unreadable, had_byte_order_mark=had_mark
    )


def _read_mapping(lines: list[str]) -> tuple[Mapping[str, object], FrontMatterProblem | None]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    def problem(reason: str, index: int = 0) -> FrontMatterProblem:
        return FrontMatterProblem(reason, index + 2, lines[index].strip() if index < len(lines) else "")

    try:
        value = YAML(typ="safe", pure=True).load("\n".join(line.rstrip("\r") for line in lines))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return {}, problem(error.problem or "not valid YAML", mark.line if mark is not None else 0)
    except (YAMLError, ValueError, RecursionError) as error:  # unprintable characters, impossible dates, absurd nesting
        return {}, problem(f"not valid YAML ({type(error).__name__})")
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        return {}, problem("not a mapping of keys to values")
    return {str(key): item for key, item in value.items()}, None
