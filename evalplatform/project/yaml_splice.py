"""Adding to a YAML text without touching anything else of it.

A round trip through a YAML library keeps comments and order, but rewrites line breaks, indentation, folded lines and the spaces of flow
collections. So the library only says where things stand (ruamel.yaml's node graph, with marks), and what is new is put in as text there:
everything else stays byte for byte. Whoever adds checks the result by reading it, since aliases and merge keys can make one place serve
several.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

Scalar: TypeAlias = str | int | float | bool
Tree: TypeAlias = "Scalar | Sequence[Scalar] | Mapping[str, Tree]"

DEFAULT_STEP = 2

_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./-]*")
_BOOLEAN_ONCE = frozenset({"y", "n", "yes", "no", "on", "off"})  # to readers of YAML 1.1
_ALIAS = re.compile(r"\*[^\s,\[\]{}]+")


@dataclass(frozen=True)
class Insertion:
    """Text to be put in at an index of another text."""

    index: int
    text: str


def with_insertions(text: str, insertions: Iterable[Insertion]) -> str:
    """Return the text with the insertions made; equal ones are made once, as where an alias makes one place serve two."""
    for insertion in sorted(set(insertions), key=lambda made: made.index, reverse=True):
        text = text[: insertion.index] + insertion.text + text[insertion.index :]
    return text


def root_mapping(text: str) -> MappingNode | None:
    """Return the node of the top-level mapping, or None where there is none. The text must be readable YAML."""
    root = YAML(typ="safe", pure=True).compose(text)
    return root if isinstance(root, MappingNode) else None


def child(mapping: MappingNode, key: str) -> Node | None:
    """Return the node of a key's value, or None where the mapping itself has no such key (a merged one counts as none)."""
    return next((value for name, value in mapping.value if isinstance(name, ScalarNode) and name.value == key), None)


def entry_insertion(text: str, mapping: MappingNode, key: str, value: Tree, *, after: str | None = None) -> Insertion:
    """Return what adds `key: value` to a mapping: after the entry `after` where a block mapping has it, otherwise at its end.

    A block mapping gets lines in the form of the entry before, a flow mapping one more entry in its line.
    """
    if mapping.flow_style or not mapping.value:
        name = scalar_text(key, quoted=_is_quoted(mapping))
        return _flow_insertion(text, mapping, _value_ends(text, mapping), f"{name}: ", value)
    names = [name.value for name, _ in mapping.value]
    place = names.index(after) if after in names else len(names) - 1
    before = mapping.value[place][1]
    if isinstance(value, Mapping) and not getattr(before, "flow_style", False):
        lines = block_lines(key, value, step=_step(mapping))
    else:
        lines = [f"{scalar_text(key)}: {flow_text(value)}"]
    indent = " " * mapping.value[0][0].start_mark.column  # the mapping's own mark would be that of its anchor, where it has one
    return _line_insertion(text, _value_ends(text, mapping)[place], [indent + line for line in lines])


def section_insertion(text: str, root: MappingNode, name: str, value: Mapping[str, Tree], *, after: str) -> Insertion:
    """Return what adds a section to the top level, as `entry_insertion` does; a block one is set off by an empty line where others are."""
    inserted = entry_insertion(text, root, name, value, after=after)
    if root.flow_style or not re.match(r"\r?\n", text[inserted.index :]):
        return inserted
    return Insertion(inserted.index, _line_break(text, inserted.index) + inserted.text)


def first_entry_insertion(text: str, root: MappingNode, section: str, key: str, value: Mapping[str, Tree]) -> Insertion | None:
    """Return what adds an entry to a top-level section that has nothing behind its name; None where there is no such section."""
    empty = (name for name, node in root.value if name.value == section and isinstance(node, ScalarNode) and not node.value)
    name = next(empty, None)
    if root.flow_style or name is None:
        return None
    return _line_insertion(text, name.end_mark.index, [f"{' ' * _step(root)}{scalar_text(key)}: {flow_text(value)}"])


def item_insertion(text: str, sequence: SequenceNode, item: str) -> Insertion:
    """Return what adds an item to the end of a list: a line of its own in a block list, one more item in a flow list."""
    ends = _item_ends(text, sequence)
    if sequence.flow_style or not ends:
        return _flow_insertion(text, sequence, ends, "", item)
    column = _dash_column(text, sequence)
    spaces = max(1, sequence.value[0].start_mark.column - column - 1)
    return _line_insertion(text, ends[-1], [f"{' ' * column}-{' ' * spaces}{scalar_text(item)}"])


def scalar_text(value: Scalar, *, quoted: bool = False) -> str:
    """Return a scalar as YAML: plain where it is read back as itself by any reader, otherwise as JSON, which is YAML too."""
    if not isinstance(value, str):
        return json.dumps(value)
    plain = not quoted and _PLAIN.fullmatch(value) and value.lower() not in _BOOLEAN_ONCE and _reads_as(value)
    return value if plain else json.dumps(value, ensure_ascii=not value.isprintable())


def flow_text(value: Tree, *, quoted: bool = False) -> str:
    """Return a value in flow style, on one line; `quoted` quotes every text, as JSON does."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar_text(key, quoted=quoted)}: {flow_text(item, quoted=quoted)}" for key, item in value.items()) + "}"
    if isinstance(value, str | int | float):
        return scalar_text(value, quoted=quoted)
    return "[" + ", ".join(scalar_text(item, quoted=quoted) for item in value) + "]"


def block_lines(key: str, value: Mapping[str, Tree], *, step: int = DEFAULT_STEP) -> list[str]:
    """Return `key:` with its entries as lines below it; sections (mappings of mappings) keep their entries in flow style."""
    return [f"{scalar_text(key)}:", *(f"{' ' * step}{scalar_text(name)}: {flow_text(item)}" for name, item in value.items())]


def _reads_as(text: str) -> bool:
    try:
        return bool(YAML(typ="safe", pure=True).load(f"[{text}]") == [text])
    except YAMLError:
        return False


def _flow_insertion(text: str, node: MappingNode | SequenceNode, ends: Sequence[int], prefix: str, value: Tree) -> Insertion:
    added = prefix + flow_text(value, quoted=_is_quoted(node))
    if ends:
        return Insertion(ends[-1], f", {added}")
    opening = "[" if isinstance(node, SequenceNode) else "{"
    return Insertion(text.index(opening, node.start_mark.index) + 1, added)  # an anchor or tag may stand before


def _line_insertion(text: str, end: int, lines: Sequence[str]) -> Insertion:
    """Return what adds lines below the line that holds the index `end`, where a value has ended."""
    newline = _line_break(text, end)
    next_line = end if text[:end].endswith("\n") else text.find("\n", end) + 1
    if next_line == 0:  # the text ends without a line break, and goes on doing so
        return Insertion(len(text), "".join(newline + line for line in lines))
    return Insertion(next_line, "".join(line + newline for line in lines))


def _line_break(text: str, index: int) -> str:
    """Return the line break that is used around an index: that of its line, else the first of the text."""
    found = text.find("\n", max(0, index - 1))
    found = text.find("\n") if found < 0 else found
    return "\r\n" if found > 0 and text[found - 1] == "\r" else "\n"


def _value_ends(text: str, mapping: MappingNode) -> list[int]:
    return [_end(text, value, after=name.end_mark.index) for name, value in mapping.value]


def _item_ends(text: str, sequence: SequenceNode) -> list[int]:
    ends: list[int] = []
    for node in sequence.value:
        ends.append(_end(text, node, after=ends[-1] if ends else sequence.start_mark.index))
    return ends


def _end(text: str, node: Node, *, after: int) -> int:
    """Return the index behind a node's last character; `after` is where what stands before it ends.

    The end mark of a block collection lies behind the comments and empty lines that follow it, so its last part is asked instead.
    """
    if node.start_mark.index < after and (alias := _ALIAS.search(text, after)):
        return alias.end()  # the node itself stands where its anchor is
    if isinstance(node, MappingNode) and not node.flow_style and node.value:
        return _value_ends(text, node)[-1]
    if isinstance(node, SequenceNode) and not node.flow_style and node.value:
        return _item_ends(text, node)[-1]
    end: int = node.end_mark.index
    return end


def _dash_column(text: str, sequence: SequenceNode) -> int:
    """Return the column of a block list's dashes."""
    start: int = sequence.start_mark.index
    dash = start if text[start] == "-" else text.rindex("-", 0, sequence.value[0].start_mark.index)  # an anchor may stand before
    column: int = dash - (text.rfind("\n", 0, dash) + 1)
    return column


def _step(mapping: MappingNode) -> int:
    """Return by how much a mapping's block entries are indented, seen from one that it has, or two."""
    for name, value in mapping.value:
        if isinstance(value, MappingNode) and not value.flow_style and value.value:
            step: int = value.value[0][0].start_mark.column - name.start_mark.column
            return step
    return DEFAULT_STEP


def _is_quoted(node: MappingNode | SequenceNode) -> bool:
    """Say whether a flow collection is written as JSON is: its last name or item stands in double quotes."""
    if not node.value:
        return False
    last = node.value[-1][0] if isinstance(node, MappingNode) else node.value[-1]
    return getattr(last, "style", None) == '"'
