"""Small files, small functions, and words on everything public."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.test_layers import CODE, files, name_of, tree_of

FILE_LIMIT_LINES = 400
FUNCTION_LIMIT_LINES = 60
# What is longer, and why. An entry that is no longer needed fails the test.
LONG_FILES: dict[str, str] = {}
LONG_FUNCTIONS = {
    "evalplatform/cli/arms.py:run": "a flag is a parameter: typer reads 34 of them; the body is 30 lines",
    "evalplatform/cli/matrix_run.py:matrix_run": "a flag is a parameter: typer reads 29 of them; the body is 10 lines",
    "evalplatform/reports/arms_v1_file.py:read_arms_v1": "half of it fills one value of 27 fields, a line each",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    def below(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function):
                yield f"{prefix}{child.name}", child
                yield from below(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.ClassDef):
                yield from below(child, f"{prefix}{child.name}.")

    return below(tree, "")


def lines_of(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_no_file_is_longer_than_can_be_read_at_once() -> None:
    long = {name_of(path) for path in files(CODE) if len(path.read_text(encoding="utf-8").splitlines()) > FILE_LIMIT_LINES}
    assert long == set(LONG_FILES)


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{name_of(path)}:{name}": lines_of(function)
        for path in files(CODE)
        for name, function in functions(tree_of(path))
        if lines_of(function) > FUNCTION_LIMIT_LINES
    }
    assert set(long) == set(LONG_FUNCTIONS), long


def undocumented(tree: ast.Module) -> list[str]:
    """The public names without a docstring: the module, its classes and functions, the classes' methods (magic ones aside)."""
    found = [] if ast.get_docstring(tree) else ["(module)"]
    for node in tree.body:
        if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_"):
            if not ast.get_docstring(node):
                found.append(node.name)
            methods = [child for child in node.body if isinstance(child, Function)] if isinstance(node, ast.ClassDef) else []
            found += [
                f"{node.name}.{method.name}" for method in methods if not method.name.startswith("_") and not ast.get_docstring(method)
            ]
    return found


@pytest.mark.parametrize("path", files(CODE), ids=name_of)
def test_everything_public_has_a_docstring(path: Path) -> None:
    if "migrations/versions" in name_of(path):
        pytest.skip("migrations are named by their revision")
    assert undocumented(tree_of(path)) == []


def test_the_checks_see_what_they_are_for() -> None:
    tree = ast.parse("class A:\n  def b(self): ...\n  def _c(self): ...\ndef d(): ...\ndef _e(): ...\n")
    assert undocumented(tree) == ["(module)", "A", "A.b", "d"]
    assert [name for name, _ in functions(tree)] == ["A.b", "A._c", "d", "_e"]
