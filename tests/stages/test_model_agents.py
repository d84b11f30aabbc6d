"""A scenario set's agent that is a cell of the project: real project, ledger and server."""

import asyncio
from pathlib import Path

import pytest

from evalplatform.kernel.errors import ArmSpecError, BudgetExhaustedError, HarnessError, InputError, UnknownNameError
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.project.load import load_project
from evalplatform.runs.agent_settings import AgentSettings
from evalplatform.wiring import OpenedProject
from tests.support.model_stub import running_stub
from tests.support.stub_project import ledger_rows, write_stub_project

MESSAGES = ("What is a kettle?", "And its lid?")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", "sk-of-no-value")


def run_batch(
    folder: Path, batch_key: str, *, runs: int = 2, cap_usd: float | None = None, **model: str
) -> tuple[str, str | None, list[AgentReply]]:
    """The agent's identity, its model, and the replies of one scenario's runs, by an OpenedProject of its own."""
    settings = AgentSettings.model_validate({"model": {"cell": "model", **model}})

    async def whole() -> tuple[str, str | None, list[AgentReply]]:
        async with opened.open_agent(settings, folder=folder, batch_key=batch_key, cap_usd=cap_usd) as agent:
            requests = [AgentRequest(scenario_id="s", order=order, messages=MESSAGES) for order in range(runs)]
            return agent.agent, agent.model, list(await asyncio.gather(*(agent.run(request) for request in requests)))

    with OpenedProject(load_project(folder / "evalplatform.yaml")) as opened:
        return asyncio.run(whole())


def test_a_batch_that_is_gone_on_with_repeats_no_finished_call(tmp_path: Path) -> None:
    with running_stub() as stub:
        folder = write_stub_project(tmp_path, stub.url, questions=1)
        agent, model, replies = run_batch(folder, "one")
        assert stub.requests == 4
        assert (agent.split()[0], agent.split()[2], model) == ("model", "baseline", "answerer")
        assert [reply.ended for reply in replies] == ["finished", "finished"]
        assert replies[0].cost_usd is not None
        assert run_batch(folder, "one") == (agent, model, replies)
        assert run_batch(folder, "one", runs=3)[2][:2] == replies
        assert stub.requests == 6
        assert {row.key.scope for row in ledger_rows(folder)} == {"batch:one"}


def test_another_batch_asks_anew(tmp_path: Path) -> None:
    with running_stub() as stub:
        folder = write_stub_project(tmp_path, stub.url, questions=1)
        run_batch(folder, "one")
        run_batch(folder, "two")
        assert stub.requests == 8


def test_an_arm_is_named_by_its_spec_or_as_one_of_a_suite(tmp_path: Path) -> None:
    with running_stub() as stub:
        folder = write_stub_project(tmp_path, stub.url, questions=1)
        _, _, by_spec = run_batch(folder, "one", runs=1, arm="skill:skills/use-kettle")
        agent, _, by_name = run_batch(folder, "one", runs=1, arm="skill:use-kettle", suite="kettle")
        assert by_spec == by_name
        assert agent.split()[2] == "skill:use-kettle"
        assert stub.requests == 2  # the very same requests
        assert "Say what the part is for" in str(stub.bodies()[0]["messages"])


def test_a_spend_cap_stops_the_batch(tmp_path: Path) -> None:
    with running_stub() as stub:
        folder = write_stub_project(tmp_path, stub.url, questions=1)
        with pytest.raises(BudgetExhaustedError):
            run_batch(folder, "one", cap_usd=0.0001)
        assert stub.requests == 0


def test_a_server_that_refuses_the_key_could_not_run(tmp_path: Path) -> None:
    with running_stub(fail_first=9, fail_status=401) as stub:
        folder = write_stub_project(tmp_path, stub.url, questions=1)
        with pytest.raises(HarnessError, match="HTTP 401"):
            run_batch(folder, "one", runs=1)


@pytest.mark.parametrize(
    ("model", "error", "sentence"),
    [
        ({"cell": "modle"}, UnknownNameError, "Did you mean 'model'?"),
        ({"arm": "skil:x"}, ArmSpecError, "skil"),
        ({"suite": "kettel"}, UnknownNameError, "Did you mean 'kettle'?"),
        ({"suite": "kettle", "arm": "basline"}, UnknownNameError, "Did you mean 'baseline'?"),
    ],
)
def test_a_name_that_is_not_there_is_refused_before_the_first_run(
    tmp_path: Path, model: dict[str, str], error: type[InputError], sentence: str
) -> None:
    folder = write_stub_project(tmp_path, "http://127.0.0.1:9/v1", questions=1)
    with pytest.raises(error) as refused:
        run_batch(folder, "one", **model)
    assert sentence in str(refused.value)
