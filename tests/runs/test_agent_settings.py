"""The `agent:` block: one kind, no secret in it, and an identity that can be shown."""

import pytest
from pydantic import ValidationError

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
