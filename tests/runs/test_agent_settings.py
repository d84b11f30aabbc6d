"""The `agent:` block: one kind, no secret in it, and an identity that can be shown."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from evalplatform.kernel.errors import InputError
from evalplatform.project.scenario_file import load_scenario_set
from evalplatform.runs.agent_settings import AgentSettings, CommandAgent, HttpAgent, ModelAgent, PythonAgent


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ({"http": {"url": "https://agent.example/run"}}, HttpAgent),
        ({"command": {"argv": ["./agent", "--fast"]}}, CommandAgent),
        ({"python": {"callable": "my_agent:reply"}}, PythonAgent),
        ({"model": {"cell": "small"}}, ModelAgent),
    ],
)
def test_an_agent_is_of_one_kind(block: dict[str, object], kind: type) -> None:
    assert isinstance(AgentSettings.model_validate(block).chosen, kind)


@pytest.mark.parametrize(
    ("block", "rule"),
    [
        ({}, "names no kind; it is exactly one of http, command, python and model"),
        ({"model": {"cell": "a"}, "command": {"argv": ["b"]}}, "names command and model; it is exactly one"),
        ({"http": {"url": "ftp://agent.example"}}, "must be an http:// or https:// address with a host"),
        ({"http": {"url": "https://agent.example:99999/"}}, "must be an http:// or https:// address with a host"),
        ({"http": {"url": "https://me:secret@agent.example/"}}, "must carry no user or password"),
        ({"http": {"url": "https://agent.example/", "format": "openai"}}, "needs a model to name"),
        ({"http": {"url": "https://agent.example/", "concurrency": 0}}, "greater than or equal to 1"),
        ({"http": {"url": "https://agent.example/", "timeout_seconds": 0}}, "greater than 0"),
        ({"http": {"url": "https://agent.example/", "auth": "Bearer x"}}, "Extra inputs"),
        ({"command": {"argv": []}}, "at least 1 item"),
        (
            {"command": {"argv": ["a", "ghp_" + "a1" * 18]}},
            "looks like a secret, and arguments are recorded; name the variable that holds it in env",
        ),
        ({"python": {"callable": "my_agent.reply"}}, "match pattern"),
    ],
)
def test_what_is_no_agent_is_refused(block: dict[str, object], rule: str) -> None:
    with pytest.raises(ValidationError) as refused:
        AgentSettings.model_validate(block)
    assert rule in str(refused.value)


def test_an_identity_shows_no_secret() -> None:
    assert HttpAgent(url="https://agent.example:8443/run?key=secret#part").identity == "http https://agent.example:8443/run"
    assert CommandAgent(argv=("python", "agent.py", "two\nlines")).identity == "command python agent.py two lines"
    assert PythonAgent(callable="my_agent:reply").identity == "python my_agent:reply"


@pytest.mark.parametrize(
    "agent",
    [
        {"http": {"url": "https://me:sk-secret@agent.example/"}},
        {"http": {"url": "https://agent.example/", "auth_env": "Bearer sk-secret"}},
        {"command": {"argv": ["agent"], "env": ["sk-secret"]}},
        {"command": {"argv": ["agent", "--key", "sk-secret-0123456789abcdefghij"]}},
        {"command": {"argv": ["agent", "--key=sk-secret-0123456789abcdefghij"]}},
    ],
)
def test_a_secret_where_none_belongs_is_refused_and_not_repeated(agent: dict[str, object], tmp_path: Path) -> None:
    scenarios = [{"id": "one", "message": "hello", "assertions": [{"max_steps": 9}]}]
    (tmp_path / "scenarios.yaml").write_text(json.dumps({"version": 1, "agent": agent, "scenarios": scenarios}))
    with pytest.raises(InputError, match=r"scenarios\.yaml:1: agent\.") as refused:
        load_scenario_set(tmp_path / "scenarios.yaml", project=None)
    assert "sk-secret" not in str(refused.value)
