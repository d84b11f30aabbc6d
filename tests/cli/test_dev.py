"""`evalplatform dev` and `serve`: what they refuse before anything starts. That they serve is seen where a browser looks at them."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalplatform.cli.ports import shown_address
from tests.cli.conftest import Command


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield int(taken.getsockname()[1])


def test_a_taken_port_of_the_web_app_is_named_by_its_flag(command: Command, project: Path, taken_port: int) -> None:
    ran = command("dev", "--web-port", taken_port)
    assert (ran.code, ran.out) == (2, "")
    assert f"error: --web-port: port {taken_port} of 127.0.0.1 is taken" in ran.err
    assert not (project / ".evalplatform").exists()


def test_both_servers_on_one_port_is_refused(command: Command, project: Path) -> None:
    ran = command("dev", "--port", 3456, "--web-port", 3456)
    assert ran.code == 2
    assert "the Dagster UI and the web app cannot both have port 3456" in ran.err


def test_serve_names_a_taken_port_and_a_foreign_address(command: Command, project: Path, taken_port: int) -> None:
    assert f"error: --port: port {taken_port} of 127.0.0.1 is taken" in command("serve", "--port", taken_port).err
    ran = command("serve", "--host", "192.0.2.1")
    assert ran.code == 2
    assert "error: --host: port 8787 of 192.0.2.1 cannot be listened on" in ran.err


def test_serve_without_a_project_says_how_to_get_one(command: Command) -> None:
    ran = command("serve")
    assert ran.code == 2
    assert "`evalplatform init DIR` starts a project" in ran.err


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8787"),
        ("0.0.0.0", "http://127.0.0.1:8787"),
        ("::", "http://127.0.0.1:8787"),
        ("::1", "http://[::1]:8787"),
        ("evaluations.internal", "http://evaluations.internal:8787"),
    ],
)
def test_the_address_that_is_said_can_be_opened_in_a_browser(host: str, address: str) -> None:
    assert shown_address(host, 8787) == address
