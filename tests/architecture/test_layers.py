"""The import contracts of pyproject.toml, and what import-linter cannot see."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = [ROOT / name for name in ("evalplatform", "assets", "sensors", "resources")]
PURE = [ROOT / "evalplatform" / "kernel", ROOT / "evalplatform" / "stats"]


def files(folders: list[Path]) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def test_the_import_contracts_are_kept() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


# Generators come in as arguments (numpy's Generator), so that a result can be repeated; time comes from the clock port.
FORBIDDEN_CALLS = (
    "random.",
    "np.random.",
    "numpy.random.",
    "time.",
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "date.today",
    "os.urandom",
    "uuid.",
    "secrets.",
)
ALLOWED_CALLS = ("np.random.Generator", "np.random.default_rng", "np.random.PCG64", "numpy.random.Generator", "numpy.random.default_rng")


def calls_of_chance_and_time(tree: ast.Module) -> list[str]:
    names = (dotted(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))
    found = [name for name in names if name.startswith(FORBIDDEN_CALLS) and name not in ALLOWED_CALLS]
    seedless = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and dotted(node.func).endswith("default_rng") and not (node.args or node.keywords)
    ]
    return found + ["default_rng() without a seed"] * len(seedless)


@pytest.mark.parametrize("path", files(PURE), ids=name_of)
def test_the_pure_rooms_know_neither_chance_nor_time(path: Path) -> None:
    tree = tree_of(path)
    assert calls_of_chance_and_time(tree) == []
    imported = {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {(node.module or "").split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported.isdisjoint({"random", "time", "datetime", "os", "secrets", "uuid", "socket"})


@pytest.mark.parametrize(
    "source", ["random.random()", "np.random.normal(0, 1)", "np.random.seed(3)", "np.random.default_rng()", "time.time()", "datetime.now()"]
)
def test_the_check_above_sees_what_it_is_for(source: str) -> None:
    assert calls_of_chance_and_time(ast.parse(source))


def test_seeded_generators_are_what_the_check_lets_through() -> None:
    assert calls_of_chance_and_time(ast.parse("np.random.default_rng(seed)\nrng.normal(0, 1)")) == []
