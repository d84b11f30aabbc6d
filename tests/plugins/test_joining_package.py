"""Plugins of another package: installed beside evalplatform and found by their entry points, with any of the three hooks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalplatform.plugins.plugin_set import plugin_set_id
from evalplatform.project.cells import Cell
from tests.support.starter import edited, starter

MODULE = """
from typing import ClassVar

from evalplatform.kernel.errors import InputError
from evalplatform.plugins.plugin import OutputShaper, ToolResultShaper


class Shout(OutputShaper):
    id: ClassVar[str] = "shout"
    version: ClassVar[str] = "2.1.0"

    @classmethod
    def of_argument(cls, argument):
        if argument is not None:
            raise InputError("takes no argument.")
        return cls()

    @property
    def argument(self):
        return ""

    def shaped_answer(self, text):
        return text.upper()


class Redact(ToolResultShaper):
    id: ClassVar[str] = "redact"
    version: ClassVar[str] = "0.3.0"

    word: str = "secret"

    @classmethod
    def of_argument(cls, argument):
        return cls() if argument is None else cls(word=argument)

    @property
    def argument(self):
        return self.word

    def shaped_tool_result(self, text):
        return text.replace(self.word, "[redacted]")
"""
PROGRAM = """
import json, sys
from evalplatform.cli.main import exit_code
from evalplatform.plugins.plugin_set import parse_plugins
plugins = parse_plugins(["redact:key", "shout"])
print(json.dumps([plugins.shaped_tool_result("a key"), plugins.shaped_answer("a key"), plugins.extended_system_prompt("Own.")]))
sys.exit(exit_code(["arms", "run", "--suite", "kettle", "--cell", "reader", "--out-json", "out.json"]))
"""


def install(folder: Path) -> None:
    """Lay a package out as an installer would."""
    (folder / "their_plugins.py").write_text(MODULE)
    info = folder / "their_plugins-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-plugins\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[evalplatform.plugin_kinds]\nshout = their_plugins:Shout\nredact = their_plugins:Redact\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project that was run with plugins of an installed package; what the run printed is in `printed`."""
    packages, project = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("project")
    install(packages)
    edited(starter(project), ("reader: {model", "reader: {plugins: [shout], model"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), str(Path(__file__).parents[2])])}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    (project / "printed").write_text(ran.stdout)
    return project


def test_plugins_of_another_package_are_named_run_and_stamped_like_our_own(folder: Path) -> None:
    assert json.loads((folder / "printed").read_text().splitlines()[0]) == ["a [redacted]", "A KEY", "Own."]
    file = json.loads((folder / "out.json").read_text())
    assert file["plugin_set"] == "shout"
    (stamp,) = file["plugins"]
    assert (stamp["ref"], stamp["kind"], stamp["version"], stamp["config"]) == ("plugin:shout", "output_shaper", "2.1.0", {})
    answers = [record for row in file["answers"] for record in row["arms"].values()]
    assert all(record["answer"] == record["raw_answer"].upper() != record["raw_answer"] for record in answers)
    assert not any(record["used_system_prompt"] for row in file["answers"] for arm, record in row["arms"].items() if arm == "baseline")


def test_a_cell_is_read_back_where_a_plugin_of_it_is_not_installed_any_more(folder: Path) -> None:
    stamps = json.loads((folder / "out.json").read_text())["plugins"]
    stored = {"id": "reader", "key": "reader-000000", "endpoint": "here", "provider": "offline", "base_url": None, "model": "m"}
    cell = Cell.model_validate({**stored, "harness": "arms-runner", "plugins": stamps, "sampling": {}})
    assert cell.plugin_set == "shout"
    assert cell.plugin_set_id == plugin_set_id(cell.plugins) == json.loads((folder / "out.json").read_text())["plugin_set_id"]


REFUSED_PROGRAM = """
import contextlib, io, json, sys
from evalplatform.cli.main import exit_code
said = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stderr(io.StringIO()) as err:
        code = exit_code(arguments)
    said.append([code, err.getvalue()])
print(json.dumps(said))
"""
RULE = (
    "reshapes what tools return, and no arm of the suite offers the model a tool: it would be on record and change nothing. Leave it out, "
    "or add an arm with tools."
)
OF_FLAGS = ("arms", "run", "--product", "kettle", "--questions", "questions.json", "--arms", "baseline", "--provider", "here")


def outcomes(project: Path, packages: Path, *commands: tuple[str, ...]) -> list[tuple[int, str]]:
    """Run commands where the package is installed; return how each ended and what it said."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), str(Path(__file__).parents[2])])}
    program = [sys.executable, "-c", REFUSED_PROGRAM, json.dumps(commands)]
    ran = subprocess.run(program, cwd=project, env=environment, capture_output=True, text=True, check=True)
    return [(code, said) for code, said in json.loads(ran.stdout.splitlines()[-1])]


def test_a_plugin_that_no_arm_gives_anything_to_do_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    packages, project = tmp_path / "packages", tmp_path / "project"
    packages.mkdir()
    install(packages)
    starter(project)
    matrix = {"cells": [{"id": "plain", "model": "m", "provider": "here", "harness": "arms-runner"}]}
    matrix["cells"].append({**matrix["cells"][0], "id": "cleaned", "plugins": "shout,redact"})
    (project / "matrix.json").write_text(json.dumps(matrix))
    (by_flag, by_matrix) = outcomes(
        project,
        packages,
        (*OF_FLAGS, "--model", "m", "--plugins", "redact"),
        ("arms", "matrix-run", "--suite", "kettle", "--matrix-cells", "matrix.json"),
    )
    assert by_flag == (2, f"error: --plugins: the plugin redact:secret of the cell 'm|arms-runner|redact:secret' {RULE}\n")
    assert by_matrix == (2, f"error: matrix.json: cells.1.plugins: the plugin redact:secret of the cell 'cleaned' {RULE}\n")
    assert not (project / ".evalplatform").exists()

    edited(project / "evalplatform.yaml", ("reader: {model", "reader: {plugins: [redact], model"))
    said = outcomes(project, packages, ("plan",), ("arms", "run", "--suite", "kettle"), ("arms", "matrix-run", "--suite", "kettle"))
    line = 1 + (project / "evalplatform.yaml").read_text().splitlines().index("    cells: [reader]")
    place = f"error: {project / 'evalplatform.yaml'}:{line}: suites.kettle.cells.0: "
    assert said == [(2, f"{place}the plugin redact:secret of the cell 'reader' {RULE}\n")] * 3
