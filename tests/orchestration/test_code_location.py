"""The code location: which project it serves, and how a project that cannot be used reads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalplatform.kernel.errors import ProjectFileError
from resources.project import project_of_code_location
from tests.support.starter_project import StarterProject


@pytest.fixture
def starter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StarterProject:
    monkeypatch.delenv("EVALPLATFORM_PROJECT", raising=False)
    return StarterProject.written_to(tmp_path / "project")


def test_the_project_is_found_from_any_folder_below_it(starter: StarterProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(starter.folder / "skills" / "use-kettle")
    assert project_of_code_location().file == starter.file


def test_the_environment_names_the_project_wherever_one_is(
    starter: StarterProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVALPLATFORM_PROJECT", os.fspath(starter.folder))
    assert project_of_code_location().file == starter.file


def test_without_a_project_it_says_how_to_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVALPLATFORM_PROJECT", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProjectFileError, match=r"no evalplatform\.yaml here or above; set EVALPLATFORM_PROJECT"):
        project_of_code_location()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("version: 1\nproject: [\n", "evalplatform.yaml:"),
        ("version: 1\nproject: mine\nsuits: {}\n", "evalplatform.yaml:3: suits: unknown key"),
    ],
    ids=["no YAML", "a misspelt key"],
)
@pytest.mark.system
def test_validating_a_broken_project_says_in_one_line_what_is_wrong(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "evalplatform.yaml").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "dagster", "definitions", "validate", "-m", "evalplatform.definitions"],
        cwd=tmp_path,
        env={**os.environ, "DAGSTER_HOME": "", "EVALPLATFORM_PROJECT": os.fspath(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    lines = [line for line in done.stdout.splitlines() if line.startswith("evalplatform.kernel.errors.ProjectFileError: ")]
    assert len(lines) == 1
    assert sentence in lines[0]
