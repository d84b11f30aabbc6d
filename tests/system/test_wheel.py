"""The wheel in an empty environment, far from the checkout: everything that the documentation starts from is there and works."""

import json
import re
import shutil
import signal
import socket
import sys
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Ended, run_process, started_process, wait_until
from tests.support.requirements import need

pytestmark = pytest.mark.system

REPOSITORY = Path(__file__).parents[2]
SOURCES = ("evalplatform", "assets", "sensors", "resources", "docs", "examples")
FILES = ("pyproject.toml", "uv.lock", "README.md", "LICENSE", ".gitignore")
EXAMPLE = "examples/evalplatform-docs"
INSTALL_SECONDS = 280.0


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel and nothing of the checkout."""

    binaries: Path
    wheel: Path

    def run(self, name: str, *arguments: str, folder: Path, dagster_home: Path | None = None) -> Ended:
        """Run one of the environment's commands, with no variable that would name a project."""
        return run_process([self.binaries / name, *arguments], folder=folder, environment=_environment(dagster_home))


def _environment(dagster_home: Path | None = None) -> dict[str, str]:
    # An empty variable counts as unset, and PYTHONPATH must not bring the checkout back.
    home = {} if dagster_home is None else {"DAGSTER_HOME": str(dagster_home)}
    return {"EVALPLATFORM_PROJECT": "", "PYTHONPATH": "", **home}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    uv = shutil.which("uv") or shutil.which("uv", path=str(REPOSITORY / ".tools" / "bin"))
    need(uv is not None, "uv")
    folder = tmp_path_factory.mktemp("wheel")
    tree = _tree_of_a_developer(folder / "tree")

    def uv_run(*arguments: str) -> None:
        done = run_process([str(uv), *arguments], folder=tree, environment={"VIRTUAL_ENV": ""}, within_seconds=INSTALL_SECONDS)
        assert done.code == 0, done.err

    environment, constraints = folder / "environment", folder / "constraints.txt"
    uv_run("build", "--quiet", "--wheel", "--out-dir", str(folder))
    (wheel,) = folder.glob("*.whl")
    # The versions that the lock names, so that a release of today breaks no test.
    uv_run("export", "--quiet", "--frozen", "--no-dev", "--no-emit-project", "--no-hashes", "--output-file", str(constraints))
    uv_run("venv", "--quiet", "--python", sys.executable, str(environment))
    python = environment / "bin" / "python"
    uv_run("pip", "install", "--quiet", "--python", str(python), "--constraint", str(constraints), str(wheel))
    return Installed(binaries=python.parent, wheel=wheel)


def _tree_of_a_developer(tree: Path) -> Path:
    """A copy of the sources, in which the example has been run."""
    for name in SOURCES:
        shutil.copytree(REPOSITORY / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copyfile(REPOSITORY / name, tree / name)
    for left_behind in (f"{EXAMPLE}/.evalplatform/evalplatform.db", f"{EXAMPLE}/results/arms/evalplatform.json"):
        (tree / left_behind).parent.mkdir(parents=True, exist_ok=True)
        (tree / left_behind).write_text("what models answered here")
    return tree


def test_the_wheel_holds_all_that_runs_and_nothing_that_a_run_left_behind(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        held = set(wheel.namelist())
    expected = {
        "assets/scores.py",
        "assets/suites.py",
        "sensors/partitions.py",
        "resources/project.py",
        "evalplatform/templates/starter/gitignore",
        "evalplatform/templates/starter/evalplatform.yaml",
        "evalplatform/templates/starter/skills/use-kettle/SKILL.md",
        "evalplatform/reports/templates/arms_report.html.j2",
        "evalplatform/reports/templates/report.css",
        "evalplatform/web/templates/home.html.j2",
        "evalplatform/web/static/platform.css",
        "evalplatform/adapters/tables/migrations/script.py.mako",
        *_shipped("evalplatform/adapters/tables/migrations/versions", "*.py", at="evalplatform/adapters/tables/migrations/versions"),
        *_shipped("docs", "*.md", at="evalplatform/docs"),
        *_shipped(f"{EXAMPLE}/skills", "**/*.md", at=f"evalplatform/{EXAMPLE}/skills"),
        *_shipped(f"{EXAMPLE}/profiles", "*.md", at=f"evalplatform/{EXAMPLE}/profiles"),
        f"evalplatform/{EXAMPLE}/evalplatform.yaml",
        f"evalplatform/{EXAMPLE}/questions.json",
    }
    assert expected - held == set()
    assert {name for name in held if ".evalplatform/" in name or "/results/" in name or "tests/" in name} == set()


def _shipped(folder: str, pattern: str, *, at: str) -> set[str]:
    found = {f"{at}/{path.relative_to(REPOSITORY / folder).as_posix()}" for path in (REPOSITORY / folder).glob(pattern)}
    assert found
    return found


def test_a_project_is_started_planned_run_and_found_from_below(installed: Installed, tmp_path: Path) -> None:
    assert re.fullmatch(r"evalplatform \d+\.\d+\.\d+\n", installed.run("evalplatform", "--version", folder=tmp_path).out)
    where = installed.run("python", "-c", "import evalplatform; print(evalplatform.__file__)", folder=tmp_path)
    assert Path(where.out).is_relative_to(installed.binaries.parent)
    assert installed.run("evalplatform", "init", "mine", folder=tmp_path).code == 0
    below = tmp_path / "mine" / "docs"
    assert ".evalplatform/" in (tmp_path / "mine" / ".gitignore").read_text()

    planned = installed.run("evalplatform", "plan", folder=below)
    assert planned.code == 0, planned.err
    assert "suite kettle: 8 questions, 5 arms" in planned.out
    ran = installed.run("evalplatform", "arms", "run", "--judge", folder=below)
    assert ran.code == 0, ran.err
    assert "profile:plain-speaker" in ran.out
    assert re.search(r"^[1-9]\d* model calls", ran.err, re.MULTILINE)
    again = installed.run("evalplatform", "arms", "run", "--judge", folder=below)
    assert again.code == 0
    assert "nothing changed since the last run: 0 model calls" in again.err


def test_the_demo_runs_and_a_second_one_asks_nothing(installed: Installed, tmp_path: Path) -> None:
    first = installed.run("evalplatform", "demo", folder=tmp_path)
    assert first.code == 0, first.err
    assert re.search(r"cost: [1-9][\d,]* model calls", first.out)
    for report in re.findall(r"^report: (.*)$", first.out, re.MULTILINE):
        assert (tmp_path / report).is_file()
    second = installed.run("evalplatform", "demo", folder=tmp_path)
    assert second.code == 0, second.err
    assert "cost: 0 model calls; nothing changed since the last run" in second.out


def test_dagster_finds_the_project_from_below_and_materializes_it(installed: Installed, tmp_path: Path) -> None:
    home = tmp_path / "dagster-home"
    home.mkdir()
    assert installed.run("evalplatform", "init", "mine", folder=tmp_path).code == 0
    done = installed.run(
        "dagster",
        *("asset", "materialize", "-m", "evalplatform.definitions", "--select", "suites/kettle/question_set,suites/kettle/corpus"),
        folder=tmp_path / "mine" / "skills",
        dagster_home=home,
    )
    assert done.code == 0, done.err
    listed = installed.run("evalplatform", "assets", "list", "--json", folder=tmp_path / "mine")
    assert {found["artifact"]["asset"] for found in json.loads(listed.out)} == {"question_set", "corpus"}


LOADED = """{
  repositoriesOrError { ... on RepositoryConnection { nodes { name location { name } } } }
  assetNodes { assetKey { path } }
}"""


def test_dev_serves_the_project_with_its_code_location_loaded_and_ends_on_ctrl_c(installed: Installed, tmp_path: Path) -> None:
    assert installed.run("evalplatform", "init", "mine", folder=tmp_path).code == 0
    port, web_port = _free_port(), _free_port()
    command = [installed.binaries / "evalplatform", "dev", "--port", str(port), "--web-port", str(web_port)]
    with started_process(command, folder=tmp_path / "mine" / "docs", environment=_environment(), with_children=True) as process:
        wait_until(lambda: process.poll() is not None or _server_info(port) is not None, "the web server")
        assert process.poll() is None, "dev ended by itself"
        answered = _graphql(port, LOADED)
        (repository,) = answered["repositoriesOrError"]["nodes"]
        assert repository["location"]["name"] == "evalplatform.definitions"
        assert {"/".join(node["assetKey"]["path"]) for node in answered["assetNodes"]} == {
            f"suites/kettle/{asset}"
            for asset in ("question_set", "corpus", "arm_answers", "judged_scores", "arm_summary", "score_moves", "arms_report")
        }
        wait_until(lambda: _serves_the_web_app(web_port), "the web app")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert not _serves_the_web_app(web_port)
    wait_until(lambda: _server_info(port) is None, "the web server to end", within_seconds=10)


def _server_info(port: int) -> Any:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info", timeout=5) as response:
            return json.loads(response.read())
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return None


def _serves_the_web_app(port: int) -> bool:
    """Say whether its page is there, with the style sheet that the wheel ships."""
    try:
        for path in ("", "static/platform.css"):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=10):
                pass
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
    return True


def _graphql(port: int, query: str) -> Any:
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/graphql", data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        answered = json.loads(response.read())
    assert "errors" not in answered, answered
    return answered["data"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
