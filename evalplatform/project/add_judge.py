"""Adding a judge to the project file: everything else in it stays as it is, byte for byte."""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.nodes import MappingNode, SequenceNode

from evalplatform.kernel.errors import InputError, ProjectFileError, UnknownNameError
from evalplatform.kernel.keys import checked_key
from evalplatform.project.load import Project, load_project
from evalplatform.project.yaml_file import line_of, plain, read_yaml_mapping
from evalplatform.project.yaml_splice import (
    Insertion,
    Tree,
    child,
    entry_insertion,
    first_entry_insertion,
    flow_text,
    item_insertion,
    root_mapping,
    scalar_text,
    section_insertion,
    with_insertions,
)

BOM = "\ufeff"


def add_judge(project: Project, judge_id: str, declaration: Mapping[str, Tree], *, suites: Sequence[str] | None = None) -> Project:
    """Add a judge to a project's file and to the `judges` of suites, and return the project as it is then.

    The new text is loaded and checked in a file beside the old one, which then replaces it in one step; whatever is wrong leaves the
    project file as it was.

    Args:
        project: a project that has a file.
        judge_id: the new judge's id.
        declaration: the judge, as the project file has it.
        suites: which suites it is to grade; None means the one suite that there is.

    Raises:
        ProjectFileError: there is such a judge already; or the file would not be one that can be used, or cannot be added to.
        InputError: several suites and none named, or an id that is none.
        UnknownNameError: a suite that there is not.
    """
    assert project.file is not None  # commands that edit it need one
    path = project.file
    checked_key(judge_id, what="judge id", field="ID")
    data = read_yaml_mapping(path)
    _refuse_existing(project, judge_id, data)
    graded = _graded_suites(project, suites)
    before = path.read_bytes()
    _replace(path, before, _text_with_judge(before, judge_id, declaration, graded, data, path), judge_id, declaration, graded)
    return load_project(path)


def _refuse_existing(project: Project, judge_id: str, data: CommentedMap) -> None:
    if judge_id not in project.settings.judges:
        return
    raise ProjectFileError(
        "is there already, and `judge add` never edits a judge. Edit these lines yourself (the edited judge gets a key of its own, and "
        "what the old one scored stays under the old key), or add one under another id.",
        file=project.file,
        line=line_of(data, ("judges", judge_id)),
        field=f"judges.{judge_id}",
    )


def _graded_suites(project: Project, suites: Sequence[str] | None) -> list[str]:
    known = list(project.settings.suites)
    if suites:
        for suite_id in suites:
            if suite_id not in known:
                raise UnknownNameError("suite", suite_id, known, field="--suite")
        return list(dict.fromkeys(suites))
    if len(known) > 1:
        raise InputError(f"say which of the suites the judge is to grade: {', '.join(known)}.", field="--suite")
    return known


def _text_with_judge(
    before: bytes, judge_id: str, declaration: Mapping[str, Tree], suites: Sequence[str], data: CommentedMap, path: Path
) -> str:
    text = before.decode("utf-8")  # it has been read as that
    mark, text = (BOM, text.removeprefix(BOM)) if text.startswith(BOM) else ("", text)
    root = root_mapping(text)
    insertions = [] if root is None else _insertions(text, root, judge_id, declaration, suites, data)
    return mark + with_insertions(text, insertions)


def _insertions(
    text: str, root: MappingNode, judge_id: str, declaration: Mapping[str, Tree], suites: Sequence[str], data: CommentedMap
) -> list[Insertion]:
    judges = child(root, "judges")
    if isinstance(judges, MappingNode):
        insertions = [entry_insertion(text, judges, judge_id, declaration)]
    elif judges is not None:  # the section is there and empty
        first = first_entry_insertion(text, root, "judges", judge_id, declaration)
        insertions = [] if first is None else [first]
    else:
        insertions = [section_insertion(text, root, "judges", {judge_id: declaration}, after="cells")]
    all_suites = child(root, "suites")
    for suite_id in suites:
        suite = child(all_suites, suite_id) if isinstance(all_suites, MappingNode) else None
        if not isinstance(suite, MappingNode):
            continue  # what is not found here is missed by the check of the result
        of_suite = child(suite, "judges")
        if isinstance(of_suite, SequenceNode):
            insertions.append(item_insertion(text, of_suite, judge_id))
        else:
            merged = [str(name) for name in data["suites"][suite_id].get("judges", [])]
            insertions.append(entry_insertion(text, suite, "judges", [*merged, judge_id], after="cells"))
    return insertions


def _replace(path: Path, before: bytes, text: str, judge_id: str, declaration: Mapping[str, Tree], suites: Sequence[str]) -> None:
    """Check the new text and put it in the file's place, unless somebody else has edited the file meanwhile."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(text.encode("utf-8"))
        temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        _check(temporary, path, judge_id, declaration, suites)
        if path.read_bytes() != before:
            raise ProjectFileError("was edited meanwhile; nothing was written. Give the command again.", file=path)
        temporary.replace(path)
    except OSError as error:
        raise ProjectFileError(f"cannot be written: {error.strerror or error}.", file=path) from error
    finally:
        temporary.unlink(missing_ok=True)


def _check(temporary: Path, path: Path, judge_id: str, declaration: Mapping[str, Tree], suites: Sequence[str]) -> None:
    """Raise ProjectFileError unless the new file says what the old one did and the judge, and can be used as a project."""
    wanted = _data_with_judge(plain(read_yaml_mapping(path)), judge_id, declaration, suites)
    try:
        found = plain(read_yaml_mapping(temporary))
    except ProjectFileError:
        found = None
    if found != wanted:
        raise ProjectFileError(
            "cannot be added to without changing something else in it (an alias, a merge key or an unusual form). Nothing was written; "
            f"add `{scalar_text(judge_id)}: {flow_text(declaration)}` under `judges` yourself, and {judge_id!r} to the suites' `judges`.",
            file=path,
        )
    try:
        load_project(temporary)
    except InputError as error:
        raise error.placed(file=path) from error.__cause__


def _data_with_judge(data: object, judge_id: str, declaration: Mapping[str, Tree], suites: Sequence[str]) -> object:
    assert isinstance(data, dict)  # the project was loaded from it
    data["judges"] = {**(data.get("judges") or {}), judge_id: _plain_tree(declaration)}
    for suite_id in suites:
        suite = data["suites"][suite_id]
        suite["judges"] = [*suite.get("judges", []), judge_id]
    return data


def _plain_tree(value: Tree) -> object:
    if isinstance(value, Mapping):
        return {key: _plain_tree(item) for key, item in value.items()}
    return value if isinstance(value, str | int | float) else list(value)
