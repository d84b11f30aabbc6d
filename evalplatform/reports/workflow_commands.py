"""Workflow commands of GitHub Actions: the annotations that a build shows beside its result.

A command is one line, `::error title=...::message`. Percent signs and line ends are escaped in both parts, colons and commas in a property
too, so that no text of a scenario ends a command or begins another one.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from evalplatform.kernel.text import plural
from evalplatform.reports.visible import with_visible_controls

MOST_SHOWN = 10
"""So many annotations of a kind are shown of a step; the last one says how many are left."""

Level = Literal["error", "warning", "notice"]
_IN_MESSAGES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTIES = _IN_MESSAGES | {":": "%3A", ",": "%2C"}


class Annotation(NamedTuple):
    """What is shown beside a build: a title in a few words, and a sentence."""

    level: Level
    title: str
    text: str


def workflow_commands(annotations: Iterable[Annotation]) -> Iterator[str]:
    """Yield the annotations as lines, at most 10 a level: where there are more, the tenth says how many are not shown."""
    by_level: dict[Level, list[Annotation]] = {}
    for annotation in annotations:
        by_level.setdefault(annotation.level, []).append(annotation)
    for level, found in by_level.items():
        shown = found if len(found) <= MOST_SHOWN else found[: MOST_SHOWN - 1]
        yield from map(_command, shown)
        if len(shown) < len(found):
            left = len(found) - len(shown)
            yield _command(Annotation(level, "And more", f"{plural(left, 'further ' + level)} of this gate; the report names them all."))


def no_command(line: str) -> str:
    """Return a line of output as one that no build takes for a command: a table's row may begin with a scenario that is called like one."""
    return f"| {line}" if line.lstrip().startswith("::") else line


def _command(annotation: Annotation) -> str:
    title = _escaped(annotation.title, _IN_PROPERTIES)
    return f"::{annotation.level} title={title}::{_escaped(annotation.text, _IN_MESSAGES)}"


def _escaped(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in with_visible_controls(text))
