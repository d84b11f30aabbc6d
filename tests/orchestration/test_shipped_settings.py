"""The settings files that stand in the repository and in a new project are those that `dev` writes."""

from pathlib import Path

from evalplatform.cli.orchestration.home import INSTANCE_SETTINGS, WORKSPACE
from evalplatform.cli.starter import STARTER_FOLDER

ROOT = Path(__file__).parents[2]


def test_the_instance_settings_in_infra_are_those_that_dev_writes():
    assert (ROOT / "infra" / "dagster.yaml").read_text(encoding="utf-8") == INSTANCE_SETTINGS


def test_the_workspace_of_the_repository_and_of_a_new_project_is_the_one_that_dev_writes():
    assert (ROOT / "workspace.yaml").read_text(encoding="utf-8") == WORKSPACE
    assert (STARTER_FOLDER / "workspace.yaml").read_text(encoding="utf-8") == WORKSPACE
