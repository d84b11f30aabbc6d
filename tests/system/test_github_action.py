"""The GitHub Action: its file is one, and its steps gate a push and a pull request as a runner would run them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "infra" / "github-action" / "action.yml"
EXPRESSION = re.compile(r"\$\{\{ inputs\.([a-z-]+) \}\}")

pytestmark = pytest.mark.system


def action() -> dict[str, Any]:
    return dict(YAML(typ="safe").load(ACTION.read_text()))


def test_the_file_is_an_action_by_githubs_own_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions", str(ACTION)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_no_input_is_pasted_into_a_script() -> None:
    scripts = [step["run"] for step in action()["runs"]["steps"] if "run" in step]
    assert len(scripts) == 3
    assert not any("${{" in script for script in scripts)


def test_every_input_is_used_and_told_in_the_page() -> None:
    text, page = ACTION.read_text(), (ACTION.parent / "README.md").read_text()
    for name in action()["inputs"]:
        assert f"inputs.{name}" in text
        assert f"`{name}`" in page


class Build:
    """Builds of a repository with the example's agent: runs the action's steps in order until one fails."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        shutil.copytree(ROOT / "examples" / "refund-agent", self.project, ignore=shutil.ignore_patterns(".evalplatform", "__pycache__"))
        self.number = 0

    def run(self, event: str, branch: str) -> tuple[int, str]:
        """The exit code of the build's last step, and everything that it printed."""
        self.number += 1
        outputs, summary = (self.project / f"{name}-{self.number}" for name in ("outputs", "summary"))
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "EVALPLATFORM_"))},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": event,
            "GITHUB_REF_TYPE": "branch",
            "GITHUB_REF_NAME": branch,
            "GITHUB_SHA": f"c0ffee{self.number}",
            "GITHUB_RUN_ID": f"{self.number}",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_JOB": "gate",
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_STEP_SUMMARY": str(summary),
        }
        inputs = {name: str(given.get("default", "")) for name, given in action()["inputs"].items()}
        printed, code = "", 0
        for step in action()["runs"]["steps"][1:3]:
            own = {name: EXPRESSION.sub(lambda found: inputs[found[1]], value) for name, value in step["env"].items()}
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            ended = subprocess.run(
                command, cwd=self.project, env={**environment, **own}, capture_output=True, text=True, timeout=120, check=False
            )
            printed, code = printed + ended.stdout + ended.stderr, ended.returncode
            if code:
                break
        return code, printed


def test_a_push_seeds_main_and_a_pull_request_that_is_worse_fails_and_records_no_branch(tmp_path: Path) -> None:
    build = Build(tmp_path)
    code, printed = build.run("push", "main")
    assert code == 0, printed
    assert "remembered on main; clean" in printed
    assert (build.project / "outputs-1").read_text() == "exit-code=0\ncertificate=gate-reports/gate-certificate.json\n"

    agent = build.project / "refund_agent.py"
    agent.write_text(agent.read_text().replace("REFUND_LIMIT_USD = 100", "REFUND_LIMIT_USD = 1_000"))
    code, printed = build.run("pull_request", "feature")
    assert code == 1, printed
    assert "::error title=gate%3A refund-over-threshold::" in printed
    assert "remembered without a branch; flagged" in printed
    assert (build.project / "outputs-2").read_text().startswith("exit-code=1\n")
    assert "The gate would fail" in (build.project / "summary-2").read_text()
    assert {path.name for path in (build.project / "gate-reports").glob("gate*.*")} >= {"gate.xml", "gate.md", "gate.html", "gate.json"}
