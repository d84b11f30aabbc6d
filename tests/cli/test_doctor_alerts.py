"""`evalplatform doctor` on how alerts reach people: the mail server and the webhook, to which nothing is sent."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from evalplatform.cli.checkup.checks import CHECKS
from evalplatform.cli.checkup.examination import examination
from evalplatform.cli.checkup.findings import Finding, Patient
from evalplatform.cli.checkup.loading import usable_project
from evalplatform.wiring import OpenedProject
from tests.support.mail_server import running_mail_server
from tests.support.webhook_receiver import SECRET, running_webhook_receiver


@pytest.fixture(autouse=True)
def of_this_test_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("EVALPLATFORM_")]:
        monkeypatch.delenv(name)


def looked_at(project: Path, name: str, environ: Mapping[str, str]) -> Finding:
    loaded, refused = usable_project(project / "evalplatform.yaml", environ)
    with OpenedProject(loaded) as opened:
        checks = [check for check in CHECKS if check.name == name]
        (finding,) = examination(checks, Patient(opened, environ, refused), timeout_seconds=60)
    return finding


def nobody_there() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


def test_without_either_both_are_well_and_it_is_said_that_nobody_is_mailed(project: Path):
    assert looked_at(project, "mail", {}).found.startswith("no mail server is set: nobody is mailed")
    assert {looked_at(project, name, {}).state for name in ("mail", "webhook")} == {"ok"}


def test_a_mail_server_that_answers_is_well_and_gets_no_mail(project: Path):
    with running_mail_server() as server:
        found = looked_at(project, "mail", server.environ())
    assert (found.state, server.mails) == ("ok", [])
    assert found.found.endswith("takes mail without a sign-in; alerts come from evalplatform@example.com.")


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
def test_a_sign_in_that_works_is_well_and_a_wrong_one_is_a_problem_that_shows_no_password(project: Path):
    with running_mail_server(sign_in=("ana", "pa55word")) as server:
        environ = server.environ() | {"EVALPLATFORM_SMTP_USER": "ana"}
        right = looked_at(project, "mail", environ | {"EVALPLATFORM_SMTP_PASSWORD": "pa55word"})
        wrong = looked_at(project, "mail", environ | {"EVALPLATFORM_SMTP_PASSWORD": "wrong-one"})
    assert (right.state, wrong.state) == ("ok", "problem")
    assert "lets ana sign in" in right.found
    assert "the mail server said 535" in wrong.found
    assert "wrong-one" not in wrong.model_dump_json()


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"EVALPLATFORM_MAIL_FROM": ""}, "no sender is set, and no mail goes without one."),
        ({"EVALPLATFORM_SMTP_USER": "ana"}, "EVALPLATFORM_SMTP_USER is set without EVALPLATFORM_SMTP_PASSWORD."),
        ({"EVALPLATFORM_SMTP_PASSWORD": "x1y2z3"}, "EVALPLATFORM_SMTP_PASSWORD is set without EVALPLATFORM_SMTP_USER."),
        ({}, "the mail server did not take it: Connection refused."),
    ],
)
def test_a_mail_server_that_lacks_something_or_is_not_there_is_a_problem(project: Path, more: dict[str, str], found: str):
    url = f"smtp://127.0.0.1:{nobody_there()}"
    finding = looked_at(project, "mail", {"EVALPLATFORM_SMTP_URL": url, "EVALPLATFORM_MAIL_FROM": "e@example.com"} | more)
    assert finding.state == "problem"
    assert finding.found.removeprefix(f"{url}: ") == found


def test_a_webhook_is_connected_to_and_gets_no_post(project: Path):
    with running_webhook_receiver() as receiver:
        found = looked_at(project, "webhook", receiver.environ())
    assert (found.state, found.found) == ("ok", f"{receiver.url} takes connections.")
    assert receiver.posts == []


def test_a_webhook_without_a_secret_or_a_receiver_is_a_problem_and_its_path_is_never_shown(project: Path):
    url = f"http://127.0.0.1:{nobody_there()}"
    environ = {"EVALPLATFORM_WEBHOOK_URL": f"{url}/T0KEN"}
    unsigned = looked_at(project, "webhook", environ)
    unreachable = looked_at(project, "webhook", environ | {"EVALPLATFORM_WEBHOOK_SECRET": SECRET})
    assert unsigned.found == "there is nothing to sign with, and none goes unsigned."
    assert unreachable.found == f"{url} cannot be reached: Connection refused."
    assert {unsigned.state, unreachable.state} == {"problem"}
    assert "T0KEN" not in unsigned.model_dump_json() + unreachable.model_dump_json()


def test_a_plain_webhook_to_another_machine_is_warned_of(project: Path):
    with running_webhook_receiver() as receiver:
        environ = receiver.environ()
        # A name of this machine that is not one of loopback's.
        environ["EVALPLATFORM_WEBHOOK_URL"] = environ["EVALPLATFORM_WEBHOOK_URL"].replace("127.0.0.1", "127.1")
        found = looked_at(project, "webhook", environ)
    assert (found.state, found.fix) == ("warning", "Use https.")


def test_a_setting_that_cannot_be_used_is_said_once_and_what_needs_it_is_not_looked_at(project: Path):
    environ = {"EVALPLATFORM_SMTP_URL": "smtp://me:s3cret@mail", "EVALPLATFORM_WEBHOOK_URL": "ftp://hooks"}
    for name, variable in (("mail", "EVALPLATFORM_SMTP_URL"), ("webhook", "EVALPLATFORM_WEBHOOK_URL")):
        finding = looked_at(project, name, environ)
        assert (finding.state, finding.found) == ("warning", f"it was not looked at, since {variable} cannot be used.")
