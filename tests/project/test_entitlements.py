"""What a tenant may use: everything, unless the deployment or the project says less."""

import pytest

from evalplatform.kernel.errors import EntitlementError, ProjectFileError
from evalplatform.project.entitlements import Entitlements
from evalplatform.project.load import load_project
from tests.support.starter import starter

FILE = """\
default: {scenario_allowance: 50}
tenants:
  small: {withheld: [monitoring.managed], scenario_allowance: 2, shortest_cadence_seconds: 86400, most_recipients: 1}
"""


def project_of(tmp_path, *, tenant="default", narrowed="", file=FILE):
    path = starter(tmp_path / "project")
    path.write_text(f"{path.read_text()}\ntenant: {tenant}\n{narrowed}")
    granted = tmp_path / "entitlements.yaml"
    granted.write_text(file)
    return load_project(path, environ={"EVALPLATFORM_ENTITLEMENTS": str(granted)})


def test_without_a_word_about_it_everything_may_be_used(tmp_path):
    granted = load_project(starter(tmp_path), environ={}).entitlements
    assert granted == Entitlements()
    assert granted.scenario_allowance is None
    for feature in ("monitoring.managed", "comparison.history", "drift.history"):
        granted.require(feature, tenant="default")


def test_a_tenant_gets_its_own_line_and_others_the_default(tmp_path):
    assert project_of(tmp_path / "a", tenant="small").entitlements.most_recipients == 1
    assert project_of(tmp_path / "b", tenant="other").entitlements == Entitlements(scenario_allowance=50)


def test_what_is_withheld_is_refused_by_its_name(tmp_path):
    granted = project_of(tmp_path, tenant="small").entitlements
    granted.require("drift.history", tenant="small")
    with pytest.raises(EntitlementError, match=r"monitoring\.managed is not granted to the tenant 'small'") as refused:
        granted.require("monitoring.managed", tenant="small")
    assert refused.value.entitlement == "monitoring.managed"


def test_a_project_narrows_what_its_deployment_grants(tmp_path):
    narrowed = "entitlements: {withheld: [drift.history], scenario_allowance: 10, shortest_cadence_seconds: 7200, most_recipients: 3}\n"
    assert project_of(tmp_path, narrowed=narrowed).entitlements == Entitlements(
        withheld=("drift.history",), scenario_allowance=10, shortest_cadence_seconds=7200, most_recipients=3
    )


def test_a_project_widens_nothing(tmp_path):
    wider = "entitlements: {scenario_allowance: 1000, shortest_cadence_seconds: 3600, most_recipients: 10}\n"
    narrow = project_of(tmp_path / "a", tenant="small").entitlements
    assert project_of(tmp_path / "b", tenant="small", narrowed=wider).entitlements == narrow


def test_a_mistake_in_the_deployments_file_is_named_with_its_line_and_the_nearest_name(tmp_path):
    with pytest.raises(ProjectFileError, match=r"entitlements\.yaml:1: default\.scenario_alowance: unknown key.*'scenario_allowance'"):
        project_of(tmp_path, file="default: {scenario_alowance: 3}\n")


def test_entitlements_are_read_from_json_too(tmp_path):
    assert project_of(tmp_path, file='{"default": {"most_recipients": 4}}').entitlements.most_recipients == 4


def test_a_file_of_entitlements_that_is_not_there_stops_before_anything_else(tmp_path):
    with pytest.raises(ProjectFileError, match="cannot be read"):
        load_project(starter(tmp_path), environ={"EVALPLATFORM_ENTITLEMENTS": str(tmp_path / "nowhere.yaml")})
