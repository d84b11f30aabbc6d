"""Reading YAML so that every error can name its line."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from evalplatform.kernel.errors import ProjectFileError, nearest_name
from evalplatform.kernel.values import Value

Loc = tuple[int | str, ...]


def read_yaml_mapping(path: Path) -> CommentedMap:
    """Return the file's top-level mapping, with line numbers.

    Raises:
        ProjectFileError: the file cannot be read, is not UTF-8 or YAML, repeats a key, or is not a mapping.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProjectFileError(f"is not UTF-8 text (byte {error.start}).", file=path) from error
    except OSError as error:
        raise ProjectFileError(f"cannot be read: {error.strerror}.", file=path) from error
    try:
        data = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 1
        raise ProjectFileError(f"is not valid YAML: {error.problem or error.context}.", file=path, line=line) from error
    except YAMLError as error:
        raise ProjectFileError(f"is not valid YAML: {error}.", file=path) from error
    if not isinstance(data, CommentedMap):
        raise ProjectFileError("must hold a mapping at the top level.", file=path, line=1)
    return data


def plain(node: object) -> object:
    """Return YAML data as plain dicts, lists and scalars."""
    if isinstance(node, CommentedMap):
        return {str(key): plain(value) for key, value in node.items()}
    if isinstance(node, CommentedSeq):
        return [plain(item) for item in node]
    return node


def line_of(data: CommentedMap, loc: Sequence[int | str]) -> int | None:
    """Return the 1-based line of the deepest part of `loc` that the file holds."""
    node: object = data
    line: int | None = None
    for part in loc:
        if isinstance(node, CommentedMap) and part in node:
            line = node.lc.key(part)[0] + 1
            node = node[part]
        elif isinstance(node, CommentedSeq) and isinstance(part, int) and part < len(node):
            line = node.lc.item(part)[0] + 1
            node = node[part]
        else:
            break
    return line


def error_from_validation(error: ValidationError, *, model: type[Value], data: CommentedMap, path: Path) -> ProjectFileError:
    """Return the first problem of a validation as one error with line, dotted field and nearest valid key."""
    problems = error.errors(include_url=False)
    first = next((problem for problem in problems if problem["type"] == "extra_forbidden"), problems[0])
    loc = tuple(part for part in first["loc"] if not _is_union_branch(part, data, first["loc"]))
    field = ".".join(str(part) for part in loc)
    line = line_of(data, loc)
    if first["type"] == "extra_forbidden":
        known = _fields_at(model, loc[:-1])
        return ProjectFileError(
            f"unknown key (known here: {', '.join(sorted(known))}).",
            file=path,
            line=line,
            field=field,
            nearest=nearest_name(str(loc[-1]), known),
        )
    return ProjectFileError(_sentence(first), file=path, line=line, field=field)


def _sentence(problem: ErrorDetails) -> str:
    if problem["type"] == "missing":
        return "is missing."
    message = problem["msg"].removeprefix("Value error, ")
    shown = problem.get("input")
    got = f" (got {shown!r})" if isinstance(shown, str | int | float | bool) or shown is None else ""
    return f"{message[0].lower()}{message[1:]}{got}."


def _is_union_branch(part: int | str, data: CommentedMap, loc: Loc) -> bool:
    """pydantic puts the branch of a union (`ArmDeclaration`, `constrained-str`) into the location; no such key stands in the file."""
    return isinstance(part, str) and ("constrained-str" in part or part.endswith("Declaration"))


def _fields_at(model: type[Value], loc: Loc) -> list[str]:
    current: object = model
    for part in loc:
        fields = getattr(current, "model_fields", None)
        if fields is not None and part in fields:
            current = _value_class(fields[str(part)].annotation)
    return list(getattr(current, "model_fields", {}))


def _value_class(annotation: object) -> object:
    if isinstance(annotation, type) and issubclass(annotation, Value):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _value_class(argument)
        if found is not None:
            return found
    return None
