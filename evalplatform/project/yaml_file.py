"""Reading YAML so that every error can name its line."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from evalplatform.kernel.errors import ProjectFileError, nearest_name
from evalplatform.kernel.keys import slug
from evalplatform.kernel.values import Value

Loc = tuple[int | str, ...]

KEY_VARIABLE_FIELD = "key_env"


def read_yaml_mapping(path: Path) -> CommentedMap:
    """Return the file's top-level mapping, with line numbers.

    Raises:
        ProjectFileError: the file cannot be read, is not UTF-8 or YAML, repeats a key, or is not a mapping.
    """
    data = read_yaml(path)
    if not isinstance(data, CommentedMap):
        raise ProjectFileError("must hold a mapping at the top level.", file=path, line=1)
    return data


def read_yaml(path: Path) -> object:
    """Return what the file holds, with line numbers where that is a mapping or a list.

    Raises:
        ProjectFileError: the file cannot be read, is not UTF-8 or YAML, or repeats a key.
    """
    text = read_utf8(path)
    try:
        data: object = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 1
        raise ProjectFileError(f"is not valid YAML: {error.problem or error.context}.", file=path, line=line) from error
    except YAMLError as error:
        position = getattr(error, "position", None)  # of a character that YAML does not allow
        line = None if position is None else text.count("\n", 0, position) + 1
        raise ProjectFileError(f"is not valid YAML: {str(error).splitlines()[0]}.", file=path, line=line) from error
    return data


def read_utf8(path: Path) -> str:
    """Return the file's text, without a byte order mark. Raises ProjectFileError where it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProjectFileError(f"is not UTF-8 text (byte {error.start}).", file=path) from error
    except OSError as error:
        raise ProjectFileError(f"cannot be read: {error.strerror}.", file=path) from error


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
    """Return the first problem of a validation as one error with line, dotted field and nearest valid name."""
    problems = error.errors(include_url=False)
    first = next((problem for problem in problems if problem["type"] == "extra_forbidden"), problems[0])
    loc = _loc_in_file(first["loc"], data)
    rule, nearest = problem_sentence(first, [problem for problem in problems if _loc_in_file(problem["loc"], data) == loc]), None
    if first["type"] == "extra_forbidden":
        known = _fields_at(model, loc[:-1])
        rule, nearest = f"unknown key (known here: {', '.join(sorted(known))}).", nearest_name(str(loc[-1]), known)
    elif loc and loc[-1] == KEY_VARIABLE_FIELD:
        # Whatever stands here may be a key that was pasted: it is repeated nowhere, nor is any name made of it.
        rule = (
            "must be the name of an environment variable (letters, digits and '_'), never the key itself; what stands there is not shown."
        )
    elif first["type"] == "string_pattern_mismatch":
        nearest = slug(str(first["input"])) or None
    return ProjectFileError(rule, file=path, line=line_of(data, loc), field=".".join(str(part) for part in loc), nearest=nearest)


# What a value should have been, by pydantic's name of the problem. A value that may be one of several kinds has one problem for each.
_EXPECTED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "model_type": "a mapping",
    "string_type": "text",
    "tuple_type": "a list",
}
_FIXED_RULES = {
    "missing": "is missing.",
    "string_too_short": "is empty.",
    "too_short": "needs at least one entry.",
}


def problem_sentence(problem: ErrorDetails, of_the_same_value: Sequence[ErrorDetails]) -> str:
    """Return a problem that pydantic found as a rule in plain words; `of_the_same_value` holds it and those of the value's other kinds."""
    kind = problem["type"]
    if kind in _FIXED_RULES:
        return _FIXED_RULES[kind]
    shown = problem.get("input")
    got = f" (got {shown!r})" if isinstance(shown, str | int | float | bool) or shown is None else ""
    if kind == "string_pattern_mismatch":
        return f"an id is made of a-z, 0-9, '.', '_' and '-', starting with a letter or digit{got}."
    expected = [_EXPECTED.get(other["type"], "") for other in of_the_same_value]
    if all(expected):
        return f"must be {' or '.join(dict.fromkeys(expected))}{got}."
    message = problem["msg"].removeprefix("Value error, ").replace("Input should", "must", 1)
    return f"{message[0].lower()}{message[1:]}{got}."


def _loc_in_file(loc: Loc, data: CommentedMap) -> Loc:
    """Return a location without what pydantic adds to it: the branches of a union (`ArmDeclaration`, `str`), and `[key]` for a bad key."""
    kept: list[int | str] = []
    node: object = data
    for part in loc:
        if (isinstance(node, CommentedMap) and part in node) or (isinstance(node, CommentedSeq) and isinstance(part, int)):
            node = node[part]
        elif part == "[key]" or "constrained-str" in str(part) or str(part) in ("ArmDeclaration", "bool", "float", "int", "str"):
            continue
        kept.append(part)
    return tuple(kept)


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
