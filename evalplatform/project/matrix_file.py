"""A matrix file: model cells by name, in any of the three shapes that evaluation tools write (treatment-arms spec, section 11)."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import InputError, UnknownNameError, nearest_name
from evalplatform.kernel.keys import slug
from evalplatform.kernel.values import Value
from evalplatform.plugins.harness import refuse_unsupported_harness
from evalplatform.plugins.plugin_set import parse_plugins, plugin_refs, plugin_set_label
from evalplatform.project.yaml_file import plain, read_utf8, read_yaml

HARNESSES = ("arms-runner", "single-shot", "agent", "openclaw-agent", "terminal-bench:<agent>")
"""The harnesses that a matrix file may name; the last is a family of names."""

RUN_HERE = "arms-runner"
FIELDS = ("id", "name", "model", "provider", "harness", "plugins")
REQUIRED = ("model", "provider", "harness")
MAX_NAME_CHARS = 100
"""Files are called after two cells at once, and a file's name has at most 255."""

MAX_ID_CHARS = 60
NOT_OF_A_CELL = {
    **dict.fromkeys(
        ("sampling", "temperature", "top_p", "max_tokens", "seed"),
        "no cell of a matrix file has a sampling of its own. Say it for all of them with --temperature, --max-tokens or --seed; for one, "
        "in `cells.<id>.sampling` of the project file, and run the suite's own cells, without a matrix file.",
    ),
    **dict.fromkeys(
        ("base_url", "endpoint"),
        "no cell of a matrix file has an endpoint but its provider. Say the address in `endpoints.<id>.base_url` of the project file, and "
        "that id as the cell's provider.",
    ),
}
"""Keys that would change what is asked if they meant something here, each with the place that has them."""

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_.-]")
_TERMINAL_BENCH = re.compile(r"terminal-bench:.+")


class MatrixCell(Value):
    """A cell of a matrix file. `name` is as the file has it; `plugins` are refs in the order in which they are applied.

    `field` is where it stands in the file, such as `matrix.cells.3`.
    """

    name: str
    model: str
    provider: str
    harness: str
    plugins: tuple[str, ...] = ()
    field: str

    @property
    def id(self) -> str:
        """The cell's id in the platform: its name where that is an id, else a slug of it with four hex digits of the name's digest.

        It depends on the name alone, so that a cell keeps what it has been asked when others join the file.
        """
        if (as_id := slug(self.name)) == self.name and len(as_id) <= MAX_ID_CHARS:
            return as_id
        tail = f"-{text_digest(self.name).removeprefix('sha256:')[:4]}"
        return (as_id[: MAX_ID_CHARS - len(tail)].rstrip("-._") or "cell") + tail

    @property
    def file_stem(self) -> str:
        """The name of the cell's files, without their ending."""
        return safe_name(self.name)


def safe_name(name: str) -> str:
    """Return a cell's name as a file's: what is neither letter, digit, `-`, `_` nor `.` becomes `-`, and `-` at the ends goes.

    Letters and digits are those of ASCII, so that the name is plain to every file system and in every link. A name that leaves nothing, or
    one that the file system gives a meaning of its own, such as `..`, becomes `cell`.
    """
    safe = _NOT_PLAIN.sub("-", name).strip("-")
    return safe if safe.strip(".") else "cell"


def read_matrix_cells(path: Path) -> tuple[MatrixCell, ...]:
    """Return the cells of a matrix file, in its order.

    The file is JSON, or YAML where its name ends in .yaml or .yml: `{"matrix": {"cells": [...]}}`, `{"cells": [...]}`, or the list alone. A
    cell has an `id` or a `name`, `model`, `provider`, `harness`, and perhaps `plugins`: a comma list, or a list of refs or of objects with
    a `ref`; empty entries of a comma list are dropped. Other keys mean nothing, but one that looks like a misspelt field is refused, and so
    is one of `NOT_OF_A_CELL`.

    Raises:
        InputError: the file cannot be read or repeats a key, names no cell, leaves out a field, says what is not of a cell, has a name that
            is too long, or repeats one, also one that only differs in what file names do not keep.
        UnknownNameError: no such harness or plugin.
    """
    where, entries = _cells_list(_loaded(path), path)
    if not entries:
        raise InputError("names no cell.", file=path, field=where)
    cells = tuple(_cell(entry, path, f"{where}.{position}") for position, entry in enumerate(entries))
    _refuse_equal_names(cells, path)
    return cells


def named_cell(cells: Sequence[MatrixCell], name: str, *, file: Path) -> MatrixCell:
    """Return the cell of that name. Raises UnknownNameError with the nearest name."""
    for cell in cells:
        if cell.name == name:
            return cell
    raise UnknownNameError("cell", name, [cell.name for cell in cells], file=file, field="--matrix-cell")


def refuse_other_harnesses(cells: Sequence[MatrixCell], *, file: Path) -> None:
    """Raise InputError for the first cell that is to run in a harness of another program."""
    for cell in cells:
        if cell.harness != RUN_HERE:
            raise InputError(
                f"is {cell.harness!r}: a matrix runs cells of the harness {RUN_HERE} alone.",
                file=file,
                field=f"{cell.field}.harness",
                nearest=RUN_HERE,
            )


def _loaded(path: Path) -> object:
    if path.suffix.lower() in (".yaml", ".yml"):
        return plain(read_yaml(path))
    try:
        data = json.loads(read_utf8(path), object_pairs_hook=_JsonObject)
    except json.JSONDecodeError as error:
        raise InputError(f"is not valid JSON: {error.msg}.", file=path, line=error.lineno) from error
    except RecursionError:
        raise InputError("is not valid JSON: it is nested too deeply.", file=path) from None
    _refuse_repeated_keys(data, path)
    return data


class _JsonObject(dict[str, object]):
    """An object that knows which key stands in it twice: a repeated key has no line, but its object has a place in the file."""

    def __init__(self, pairs: Sequence[tuple[str, object]]) -> None:
        super().__init__(pairs)
        keys = [key for key, _ in pairs]
        self.repeated = next((key for key in self if keys.count(key) > 1), None)


def _refuse_repeated_keys(data: object, path: Path, place: tuple[str, ...] = ()) -> None:
    if isinstance(data, _JsonObject) and data.repeated is not None:
        raise InputError("stands twice in one object; say it once.", file=path, field=".".join((*place, data.repeated)))
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, part in parts:
        _refuse_repeated_keys(part, path, (*place, str(key)))


def _cells_list(data: object, path: Path) -> tuple[str, list[object]]:
    """Return where the file's list of cells stands, and the list."""
    if isinstance(data, list):
        return "cells", data
    holders = {"matrix.cells": data.get("matrix"), "cells": data} if isinstance(data, dict) else {}
    for where, holder in holders.items():
        if isinstance(holder, dict) and "cells" in holder:
            if not isinstance(holder["cells"], list):
                raise InputError("must be a list of cells.", file=path, field=where)
            return where, holder["cells"]
    keys = [str(key) for key in data] if isinstance(data, dict) else []
    nearest = next((known for key in keys if (known := nearest_name(key, ("matrix", "cells")))), None)
    raise InputError('must be a list of cells, or hold one as "cells" or as "matrix": {"cells": [...]}.', file=path, nearest=nearest)


def _cell(entry: object, path: Path, where: str) -> MatrixCell:
    if not isinstance(entry, dict):
        raise InputError("must be an object with id, model, provider and harness.", file=path, field=where)
    for key in entry:
        if (elsewhere := NOT_OF_A_CELL.get(key)) is not None:
            raise InputError(elsewhere, file=path, field=f"{where}.{key}")
        if key not in FIELDS and (nearest := nearest_name(str(key), FIELDS)) is not None:
            raise InputError(f"unknown key (known here: {', '.join(FIELDS)}).", file=path, field=f"{where}.{key}", nearest=nearest)
    named_by = "id" if entry.get("id") is not None else "name"
    name = _text(entry.get(named_by), path, f"{where}.{named_by}", missing="is missing: a cell has an id or a name.")
    if len(name) > MAX_NAME_CHARS:
        rule = f"has {len(name):,} characters; files are called after cells, so a name has {MAX_NAME_CHARS} at most."
        raise InputError(rule, file=path, field=f"{where}.{named_by}")
    told = {field: _text(entry.get(field), path, f"{where}.{field}", missing="is missing.") for field in REQUIRED}
    if told["harness"] not in HARNESSES[:-1] and not _TERMINAL_BENCH.fullmatch(told["harness"]):
        raise UnknownNameError("harness", told["harness"], HARNESSES, file=path, field=f"{where}.harness")
    return MatrixCell(name=name, **told, plugins=_plugins(entry.get("plugins"), told["harness"], path, f"{where}.plugins"), field=where)


def _text(value: object, path: Path, where: str, *, missing: str) -> str:
    if value is None or (isinstance(value, str) and not value.strip()):
        raise InputError(missing, file=path, field=where)
    if not isinstance(value, str):
        raise InputError(
            f"must be text (got {value!r}{'; put it in quotes' if isinstance(value, int | float) else ''}).", file=path, field=where
        )
    return value.strip()


def _plugins(value: object, harness: str, path: Path, where: str) -> tuple[str, ...]:
    """Return the refs, read once to see that there are such plugins and that the harness can run them."""
    if value is None:
        return ()
    if isinstance(value, str):
        placed = [(where, ref) for ref in plugin_refs(value)]
    elif isinstance(value, list):
        placed = [_placed_ref(entry, path, f"{where}.{position}") for position, entry in enumerate(value)]
    else:
        raise InputError("must be a comma list of plugin refs, or a list of refs or of objects with a ref.", file=path, field=where)
    refs = tuple(ref for _, ref in placed)
    for read, (field, _) in enumerate(placed, start=1):
        try:
            refuse_unsupported_harness(harness, plugin_set_label(parse_plugins(refs[:read]).stamps))
        except InputError as error:
            raise InputError(error.rule, file=path, field=f"{field}: {error.field}", nearest=error.nearest) from None
    return refs


def _placed_ref(entry: object, path: Path, where: str) -> tuple[str, str]:
    if isinstance(entry, dict):
        return f"{where}.ref", _text(entry.get("ref"), path, f"{where}.ref", missing="is missing: the plugin that is meant.")
    return where, _text(entry, path, where, missing="is empty.")


def _refuse_equal_names(cells: Sequence[MatrixCell], path: Path) -> None:
    taken: dict[tuple[str, str], MatrixCell] = {}
    for cell in cells:
        # Some file systems take names that differ in case alone for one. An id may be the name of another cell.
        for what, key in (("file", cell.file_stem.casefold()), ("id", cell.id)):
            before = taken.setdefault((what, key), cell)
            if before is cell:
                continue
            if before.name == cell.name:
                raise InputError(f"two cells are called {cell.name!r}; the other is {before.field}.", file=path, field=cell.field)
            shown = cell.file_stem if what == "file" else cell.id
            raise InputError(
                f"{cell.name!r} and {before.name!r} ({before.field}) would be one {what}, {shown!r}; rename one of them.",
                file=path,
                field=cell.field,
            )
