"""Finding the project file: upward from anywhere below it, or by EVALPLATFORM_PROJECT."""

from pathlib import Path

import pytest

from evalplatform.kernel.errors import ProjectFileError
from evalplatform.project.load import find_project_file, load_project
from tests.support.starter import starter


def test_the_file_is_found_from_any_folder_below_it_and_the_nearest_one_wins(tmp_path: Path) -> None:
    outer = starter(tmp_path / "outer")
    inner = starter(tmp_path / "outer" / "a" / "inner")
    deep = tmp_path / "outer" / "a" / "inner" / "x" / "y"
    deep.mkdir(parents=True)
    assert find_project_file(deep, environ={}) == inner.resolve()
    assert find_project_file(tmp_path / "outer" / "a", environ={}) == outer.resolve()
    assert find_project_file(tmp_path / "outer", environ={}) == outer.resolve()


def test_there_is_none_outside_a_project_and_a_folder_of_that_name_is_none(tmp_path: Path) -> None:
    assert find_project_file(tmp_path, environ={}) is None
    (tmp_path / "evalplatform.yaml").mkdir()
    assert find_project_file(tmp_path, environ={}) is None


@pytest.mark.parametrize("named", ["project", "project/evalplatform.yaml"])
def test_the_variable_names_the_file_or_its_folder_and_goes_before_the_search(tmp_path: Path, named: str) -> None:
    wanted = starter(tmp_path / "project")
    starter(tmp_path / "other")
    found = find_project_file(tmp_path / "other", environ={"EVALPLATFORM_PROJECT": str(tmp_path / named)})
    assert found == wanted.resolve()


def test_a_relative_name_and_a_home_folder_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = starter(tmp_path / "project").resolve()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_project_file(Path("/"), environ={"EVALPLATFORM_PROJECT": "project"}) == wanted
    assert find_project_file(Path("/"), environ={"EVALPLATFORM_PROJECT": "~/project"}) == wanted


@pytest.mark.parametrize("wrong", ["nowhere", "empty", "nowhere/evalplatform.yaml"])
def test_a_variable_that_names_nothing_is_refused_and_not_passed_over(tmp_path: Path, wrong: str) -> None:
    starter(tmp_path / "project")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ProjectFileError, match=f"EVALPLATFORM_PROJECT names '.*{wrong}', which is no project file"):
        find_project_file(tmp_path / "project", environ={"EVALPLATFORM_PROJECT": str(tmp_path / wrong)})


def test_an_empty_variable_is_no_variable(tmp_path: Path) -> None:
    file = starter(tmp_path / "project")
    assert find_project_file(tmp_path / "project", environ={"EVALPLATFORM_PROJECT": ""}) == file.resolve()


def test_paths_are_relative_to_the_real_file_when_it_is_reached_through_a_link(tmp_path: Path) -> None:
    file = starter(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    project = load_project(tmp_path / "link" / "evalplatform.yaml", environ={})
    assert project.root == file.parent.resolve()
    assert project.state_folder == file.parent.resolve() / ".evalplatform"
