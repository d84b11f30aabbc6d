"""Reading YAML so that every error can name its line."""

import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from evalplatform.kernel.errors import ProjectFileError, nearest_name
from evalplatform.kernel.keys import KEY_PATTERN, slug
from evalplatform.kernel.values import Value
from evalplatform.runs.agent_settings import HOLDS_A_SECRET, VARIABLE_NAME
from evalplatform.runs.records import ONE_LINE

Loc = tuple[int | str, ...]

KEY_VARIABLE_FIELDS = frozenset({"key_env", "auth_env"})
"""Fields that name an environment variable which holds a secret; of `KEY_VARIABLE_SECTIONS` each entry does."""

KEY_VARIABLE_SECTIONS = frozenset({"env", "headers_env"})


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
            # A key that a merge (`<<: *base`) brought stands elsewhere; the line is then that of the mapping which takes it.
            line = node.lc.key(part)[0] + 1 if part in (node.lc.data or {}) else line
            node = node[part]
        elif isinstance(node, CommentedSeq) and isinstance(part, int) and part < len(node):
            line = node.lc.item(part)[0] + 1
            node = node[part]
        else:
            break
    return line


def error_from_validation(error: ValidationError, *, model: object, data: CommentedMap, path: Path, at: Loc = ()) -> ProjectFileError:
    """Return the first problem of a validation as one error with line, dotted field and nearest valid name.

    `model` is the type that was asked for: a value class, or any type that holds some. `at` is where in the file that value stands.
    """
    problems = [(_loc_in_file(problem, data, at), problem) for problem in error.errors(include_url=False)]
    loc, first = _most_telling(problems)
    rule, nearest = problem_sentence(first, [problem for other, problem in problems if other == loc]), None
    if first["type"] == "extra_forbidden":
        known = _fields_at(model, loc[len(at) : -1])
        rule, nearest = f"unknown key (known here: {', '.join(sorted(known))}).", nearest_name(str(loc[-1]), known)
    elif _names_a_variable(loc):
        # Whatever stands here may be a key that was pasted: it is repeated nowhere, nor is any name made of it.
        rule = (
            "must be the name of an environment variable (letters, digits and '_'), never the key itself; what stands there is not shown."
        )
    elif _is_no_id(first):
        nearest = slug(str(first["input"])) or None
    elif first["type"] == "literal_error":
        nearest = nearest_name(str(first["input"]), _QUOTED.findall(first.get("ctx", {}).get("expected", "")))
    elif first["type"] == "schema_rule":
        nearest = first.get("ctx", {}).get("nearest")
    return ProjectFileError(rule, file=path, line=line_of(data, loc), field=".".join(str(part) for part in loc), nearest=nearest)


def _most_telling(problems: Sequence[tuple[Loc, ErrorDetails]]) -> tuple[Loc, ErrorDetails]:
    """Return the first unknown key, else the first problem; of a value of several kinds, the one inside the kind that it looks like."""
    unknown = next((found for found in problems if found[1]["type"] == "extra_forbidden"), None)
    if unknown is not None:
        return unknown
    loc, first = problems[0]
    inside = next((found for found in problems if len(found[0]) > len(loc) and found[0][: len(loc)] == loc), None)
    return inside if inside is not None and first["type"] in _EXPECTED else (loc, first)


def _names_a_variable(loc: Loc) -> bool:
    return bool(loc) and (loc[-1] in KEY_VARIABLE_FIELDS or (len(loc) > 1 and loc[-2] in KEY_VARIABLE_SECTIONS))


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
    "invalid-json-value": "holds what is no JSON value; a date or a time stands in quotes.",
    "missing": "is missing.",
    "nothing_under_it": "has nothing under it; leave the key out, or write {} where a block is to take its defaults.",
    "string_too_short": "is empty.",
}

_QUOTED = re.compile(r"'([^']+)'")
_PATTERN_WORDS = {
    ONE_LINE: "one line of text, without tabs and control characters",
    VARIABLE_NAME: "the name of an environment variable",
}


def problem_sentence(problem: ErrorDetails, of_the_same_value: Sequence[ErrorDetails]) -> str:
    """Return a problem that pydantic found as a rule in plain words; `of_the_same_value` holds it and those of the value's other kinds."""
    kind = problem["type"]
    if kind in _FIXED_RULES:
        return _FIXED_RULES[kind]
    if kind == "too_short":
        least = problem.get("ctx", {}).get("min_length", 1)
        return "needs at least one entry." if least == 1 else f"needs at least {least} entries."
    shown = problem.get("input")
    is_shown = (isinstance(shown, str | int | float | bool) or shown is None) and not _may_be_a_secret(problem)
    got = f" (got {shown!r})" if is_shown else ""
    if _is_no_id(problem):
        return f"an id is made of a-z, 0-9, '.', '_' and '-', starting with a letter or digit{got}."
    if kind == "string_pattern_mismatch":
        pattern = str(problem.get("ctx", {}).get("pattern"))
        return f"must be {_PATTERN_WORDS.get(pattern, f'text of the pattern {pattern}')}{got}."
    expected = [_EXPECTED.get(other["type"], "") for other in of_the_same_value]
    if all(expected):
        return f"must be {' or '.join(dict.fromkeys(expected))}{got}."
    message = problem["msg"].removeprefix("Value error, ").replace("Input should", "must", 1).replace("must be True", "must be true")
    return f"{message[0].lower()}{message[1:]}{got}."


def _may_be_a_secret(problem: ErrorDetails) -> bool:
    """Whether the value is not to be repeated: a key where its variable's name belongs, or an address that carries one."""
    return problem["type"] == HOLDS_A_SECRET or problem.get("ctx", {}).get("pattern") == VARIABLE_NAME


def _is_no_id(problem: ErrorDetails) -> bool:
    return problem["type"] == "string_pattern_mismatch" and problem.get("ctx", {}).get("pattern") == f"^{KEY_PATTERN.pattern}$"


def _loc_in_file(problem: ErrorDetails, data: CommentedMap, at: Loc) -> Loc:
    """Return a problem's location without what pydantic adds to it: the branches of a union (`ArmDeclaration`, `str`), `[key]` for a key.

    What the file does not hold is such an addition, save for the last part, where a key may be missing.
    """
    kept: list[int | str] = []
    node: object = data
    for part in at:
        node = node[part] if isinstance(node, CommentedMap | CommentedSeq) else None
    parts = problem["loc"]
    for place, part in enumerate(parts):
        if (isinstance(node, CommentedMap) and part in node) or (isinstance(node, CommentedSeq) and isinstance(part, int)):
            node = node[part]
        elif place < len(parts) - 1 or problem["type"] != "missing":
            continue
        kept.append(part)
    return (*at, *kept)


def _fields_at(model: object, loc: Loc) -> list[str]:
    current = _value_class(model)
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
