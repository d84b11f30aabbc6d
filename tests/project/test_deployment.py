"""What the environment sets, and the reference that is generated from it."""

import re
from pathlib import Path

import pytest

from evalplatform.cli.main import DEBUG_VARIABLE
from evalplatform.kernel.errors import InputError
from evalplatform.project.deployment import OF_TESTS, DeploymentSettings, environment_reference, unknown_variables, variable_of

ROOT = Path(__file__).parents[2]


def test_the_reference_in_the_docs_is_the_generated_one():
    assert environment_reference() in (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(DeploymentSettings.model_fields))
def test_every_variable_has_a_meaning_and_an_example_that_it_takes(name):
    field = DeploymentSettings.model_fields[name]
    assert field.description
    (example,) = field.examples or []
    assert DeploymentSettings.from_environment({variable_of(name): example}) != DeploymentSettings() or example == str(field.default)


def test_an_empty_variable_counts_as_one_that_is_not_set():
    assert DeploymentSettings.from_environment({"EVALPLATFORM_RUNS_PER_ENDPOINT": "", "PATH": "/bin"}) == DeploymentSettings()


@pytest.mark.parametrize(
    ("variable", "value", "rule"),
    [
        ("EVALPLATFORM_RUNS_PER_ENDPOINT", "many", "must be a whole number"),
        ("EVALPLATFORM_RUNS_PER_ENDPOINT", "0", "must be greater than or equal to 1"),
        ("EVALPLATFORM_WEB_URL", "ftp://me:s3cret@host", "must be an http or https address"),
        ("EVALPLATFORM_DEBUG", "perhaps", "must be 1 or 0"),
        ("EVALPLATFORM_CLOCK_OFFSET_SECONDS", "999999999999", "must be less than or equal to 3155760000"),
        ("EVALPLATFORM_SMTP_URL", "https://mail.example.com", "must be smtp://HOST or smtps://HOST"),
        ("EVALPLATFORM_SMTP_URL", "smtp://me:s3cret@mail", "without a user or password"),
        ("EVALPLATFORM_SMTP_URL", "smtp://mail:0", "with :PORT"),
        ("EVALPLATFORM_SMTP_URL", "smtp://mail:65536", "with :PORT"),
        ("EVALPLATFORM_SMTP_URL", "smtp://[:::::]", "must be smtp://HOST"),
        ("EVALPLATFORM_WEBHOOK_URL", "https://me:s3cret@host/hook", "without a user or password"),
        ("EVALPLATFORM_WEBHOOK_URL", "https://host/a\r\nX-Other:1", "must be an http or https address in ASCII"),
        ("EVALPLATFORM_MAIL_FROM", "Ops <ops@example.com>", "must be one mail address"),
        ("EVALPLATFORM_MAIL_FROM", "a@example.com,b@example.com", "must be one mail address"),
    ],
)
def test_a_value_that_a_variable_does_not_take_is_refused_by_name_and_not_repeated(variable, value, rule):
    with pytest.raises(InputError) as refused:
        DeploymentSettings.from_environment({variable: value})
    assert refused.value.field == variable
    assert rule in refused.value.rule
    assert value not in str(refused.value).split()


def test_a_misspelt_variable_is_named_with_the_nearest_one_and_a_strange_one_without():
    environ = {"EVALPLATFORM_DATABSE": "x", "EVALPLATFORM_QQ": "x", "EVALPLATFORM_STORAGE": "x", "DATABSE": "x"}
    assert unknown_variables(environ) == {"EVALPLATFORM_DATABSE": "EVALPLATFORM_DATABASE", "EVALPLATFORM_QQ": None}


def test_the_variables_of_this_repositorys_tests_are_no_strangers():
    """All that a test or its support reads of the environment, and is no setting."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    read = {name for text in texts for name in re.findall(r'(?:environ\.get\(|^[A-Z]+ = )"(EVALPLATFORM_[A-Z_]+)"', text, re.MULTILINE)}
    of_tests = read - {variable_of(name) for name in DeploymentSettings.model_fields}
    assert of_tests == {f"EVALPLATFORM_{name}" for name in OF_TESTS}
    assert unknown_variables(dict.fromkeys(of_tests, "1")) == {}


def test_no_module_reads_a_variable_that_the_settings_do_not_hold():
    """A name in quotes is read or passed on; a name in a sentence is not."""
    known = {variable_of(name) for name in DeploymentSettings.model_fields}
    for package in ("evalplatform", "assets", "sensors", "resources"):
        for path in (ROOT / package).rglob("*.py"):
            named = set(re.findall(r"\bEVALPLATFORM_[A-Z0-9_]+", path.read_text(encoding="utf-8")))
            assert named <= known, path


def test_the_variable_that_shows_where_an_error_came_from_is_one_of_the_settings() -> None:
    assert variable_of("debug") == DEBUG_VARIABLE
