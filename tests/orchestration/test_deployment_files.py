"""What infra/ describes, held against what reads it: Compose, Kubernetes, Dagster, our own settings. Nothing is started here."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import kubernetes.client
import pytest
from dagster._config import process_config
from dagster_k8s import K8sRunLauncher
from ruamel.yaml import YAML

from evalplatform.project.deployment import DeploymentSettings, unknown_variables, variable_of

INFRA = Path(__file__).parents[2] / "infra"
MANIFESTS = sorted(path for path in (INFRA / "kubernetes").glob("*.yaml") if path.stem not in ("dagster", "kustomization"))
TEXTS = sorted(path for path in INFRA.rglob("*") if path.is_file() and path.suffix != ".md")
KINDS = {"Deployment": "V1Deployment", "Role": "V1Role", "RoleBinding": "V1RoleBinding"}  # the rest are V1 and their name


def read(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


def documents(path: Path) -> list[dict[str, Any]]:
    return list(YAML(typ="safe", pure=True).load_all(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(INFRA)))
def test_every_variable_of_ours_is_one_that_the_settings_hold(path: Path) -> None:
    named = dict.fromkeys(re.findall(r"\bEVALPLATFORM_[A-Z_]+", path.read_text(encoding="utf-8")), "")
    assert unknown_variables(named) == {}


@pytest.mark.parametrize(("settings", "own"), [("celery", {"run_launcher"}), ("kubernetes", {"run_launcher", "compute_logs"})])
def test_settings_of_a_launcher_are_those_of_production_but_for_what_the_launcher_needs(settings: str, own: set[str]) -> None:
    production, launched = (read(INFRA / name / "dagster.yaml") for name in ("production", settings))
    for read_file in (production, launched):
        runs = read_file["concurrency"]["runs"]
        places = runs.pop("max_concurrent_runs")  # how many there are is the launcher's own
        (nights,) = runs.pop("tag_concurrency_limits")
        assert (nights["key"], 1 <= nights["limit"] < places) == ("evalplatform/night", True)
    assert {name for name in {*production, *launched} if production.get(name) != launched.get(name)} == own


def test_the_compose_file_is_one_by_the_specification() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", INFRA / "docker-compose.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_specification_is_one_that_refuses(tmp_path: Path) -> None:
    wrong = tmp_path / "docker-compose.yaml"
    wrong.write_text((INFRA / "docker-compose.yaml").read_text().replace("    restart:", "    restrat:"))
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", wrong]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


def test_compose_starts_only_with_every_secret_and_address_given_and_the_example_lists_them() -> None:
    text = (INFRA / "docker-compose.yaml").read_text(encoding="utf-8")
    used = dict(re.findall(r"(?<!\$)\$\{(\w+)(:[-?])", text))
    listed = set(re.findall(r"^(\w+)=", (INFRA / "environment.example").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(used) == listed
    assert {name for name, default in used.items() if default == ":-"} == {"DAGSTER_SETTINGS", "RUNS_PER_ENDPOINT"}


def test_compose_services_wait_for_services_and_mount_volumes_that_there_are() -> None:
    compose = read(INFRA / "docker-compose.yaml")
    services = compose["services"]
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= set(services), name
        waited_for = [services[other] for other, how in service.get("depends_on", {}).items() if how["condition"] == "service_healthy"]
        assert all("healthcheck" in other for other in waited_for), name
        volumes = {mount.partition(":")[0] for mount in service.get("volumes", []) if not mount.startswith(("$", ".", "/"))}
        assert volumes <= set(compose["volumes"]), name


def test_as_many_runs_go_at_a_time_on_celery_as_compose_starts_workers() -> None:
    worker = read(INFRA / "docker-compose.yaml")["services"]["worker"]
    runs = read(INFRA / "celery" / "dagster.yaml")["concurrency"]["runs"]["max_concurrent_runs"]
    assert "-c 1 " in worker["command"]
    assert runs == worker["deploy"]["replicas"]


def test_kubectl_commands_of_the_readme_name_the_namespace_of_the_manifests() -> None:
    (namespace,) = documents(INFRA / "kubernetes" / "namespace.yaml")
    commands = re.findall(r"`(kubectl [^`]+)`", (INFRA / "README.md").read_text(encoding="utf-8"))
    assert commands
    assert [command for command in commands if f" -n {namespace['metadata']['name']} " not in command] == []


def test_a_run_takes_of_an_endpoints_limits_what_the_pools_of_the_same_deployment_allow() -> None:
    share = variable_of("runs_per_endpoint")
    (compose,) = re.findall(rf"{share}: \$\{{RUNS_PER_ENDPOINT:-(\d+)\}}", (INFRA / "docker-compose.yaml").read_text(encoding="utf-8"))
    assert f"\nRUNS_PER_ENDPOINT={compose}\n" in (INFRA / "environment.example").read_text(encoding="utf-8")
    (environment,) = documents(INFRA / "kubernetes" / "environment.yaml")
    for settings, runs in (("production", compose), ("celery", compose), ("kubernetes", environment["data"][share])):
        assert read(INFRA / settings / "dagster.yaml")["concurrency"]["pools"]["default_limit"] == int(runs)


def test_addresses_in_the_files_are_ones_that_the_settings_take() -> None:
    (environment,) = documents(INFRA / "kubernetes" / "environment.yaml")
    settings = DeploymentSettings.from_environment(environment["data"])
    assert settings.storage
    assert settings.database is None  # it holds a password, so it is in the Secret


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_kubernetes_manifests_have_no_field_that_kubernetes_does_not_know(path: Path) -> None:
    for document in documents(path):
        kind = document["kind"]
        assert list(_unknown_fields(document, KINDS.get(kind, f"V1{kind}"), kind)) == []


def test_an_unknown_field_is_found() -> None:
    (deployment,) = [document for document in documents(INFRA / "kubernetes" / "daemon.yaml") if document["kind"] == "Deployment"]
    deployment["spec"]["template"]["spec"]["containers"][0]["imagePullPolice"] = "Always"
    assert list(_unknown_fields(deployment, "V1Deployment", "Deployment")) == ["Deployment.spec.template.spec.containers.imagePullPolice"]


def test_every_manifest_is_applied() -> None:
    assert set(read(INFRA / "kubernetes" / "kustomization.yaml")["resources"]) == {path.name for path in MANIFESTS}


def test_no_manifest_holds_a_secret() -> None:
    assert [document["kind"] for path in MANIFESTS for document in documents(path) if document["kind"] == "Secret"] == []


def test_dagster_takes_the_launcher_of_kubernetes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUN_NAMESPACE", "evalplatform")
    monkeypatch.setenv("RUN_IMAGE", "evalplatform:0.1.0")
    launcher = read(INFRA / "kubernetes" / "dagster.yaml")["run_launcher"]
    assert (launcher["module"], launcher["class"]) == ("dagster_k8s", K8sRunLauncher.__name__)
    taken = process_config(K8sRunLauncher.config_type(), launcher["config"])
    assert taken.success, taken.errors


def test_the_image_copies_files_that_there_are() -> None:
    copied = re.findall(r"^COPY (infra/\S+)", (INFRA / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert copied
    assert all((INFRA.parent / name).is_file() for name in copied)


def _unknown_fields(value: Any, type_name: str, place: str) -> Iterator[str]:
    """Where a manifest has a field that the client's model of its type does not have, or lacks one that it requires."""
    if type_name.startswith("list["):
        assert isinstance(value, Sequence), place
        for item in value:
            yield from _unknown_fields(item, type_name[5:-1], place)
        return
    model = getattr(kubernetes.client, type_name, None)
    if model is None:
        return
    assert isinstance(value, Mapping), place
    attributes = {name: attribute for attribute, name in model.attribute_map.items()}
    for name, inner in value.items():
        if name not in attributes:
            yield f"{place}.{name}"
        else:
            yield from _unknown_fields(inner, model.openapi_types[attributes[name]], f"{place}.{name}")
