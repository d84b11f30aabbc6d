"""A judge with a pinned temperature or seed is probed by one small call before anything is paid (treatment-arms spec, section 6)."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.support.model_stub import ModelStub, running_stub
from tests.support.starter import edited

REFUSES = "stub;do=status;code=400;text=temperature+is+not+supported"
JUDGE = "facts: {kind: overlap, model: overlap, endpoint: here}"


def judged_by(project: Path, stub: ModelStub, model: str, sampling: str) -> None:
    there = f'  there: {{provider: openai-compatible, base_url: "{stub.url}"}}'
    edited(
        project / "evalplatform.yaml",
        ("  here: {provider: offline}", f"  here: {{provider: offline}}\n{there}"),
        ("endpoint: here, sampling", "endpoint: there, sampling"),
        (JUDGE, f'facts: {{kind: rubric, model: "{model}", endpoint: there, sampling: {sampling}}}'),
    )


@pytest.mark.parametrize(
    ("sampling", "pinned"),
    [("{temperature: 0}", "temperature"), ("{seed: 3}", "seed"), ("{temperature: 0, seed: 3}", "temperature and seed")],
)
def test_a_judge_that_refuses_its_pinned_parameter_stops_the_run_before_any_answer_is_asked(
    command: Command, project: Path, sampling: str, pinned: str
) -> None:
    with running_stub() as stub:
        judged_by(project, stub, REFUSES, sampling)
        ran = command("arms", "run", "--suite", "kettle", "--judge")
        assert ran.code == 2
        assert f"judges.facts.sampling.{pinned.split()[0]}: the judge cannot be asked with a pinned {pinned}" in ran.err
        assert "temperature is not supported" in ran.err
        (probe,) = stub.bodies()
        assert (probe["max_tokens"], probe["model"]) == (16, REFUSES)
        assert stub.requests == 1
    assert not (project / "results/arms/kettle.json").exists()


def test_a_judge_that_takes_it_is_probed_once_for_ever_and_the_probe_is_counted(command: Command, project: Path) -> None:
    with running_stub() as stub:
        judged_by(project, stub, "grader", "{temperature: 0}")
        ran = command("arms", "run", "--suite", "kettle", "--arms", "baseline", "--judge", "--json")
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["calls"]["paid"] == 8 + 8 + 1 == stub.requests
        assert command("arms", "run", "--suite", "kettle", "--arms", "baseline", "--judge", "--draws", "2").code == 0
        assert [body.get("max_tokens") for body in stub.bodies()].count(16) == 1
        assert stub.requests == 2 * (8 + 8) + 1


def test_a_judge_that_leaves_both_to_its_provider_is_not_probed(command: Command, project: Path) -> None:
    with running_stub() as stub:
        judged_by(project, stub, "grader", "{max_tokens: 300}")
        assert command("arms", "run", "--suite", "kettle", "--arms", "baseline", "--judge").code == 0
        assert stub.requests == 16


def test_the_probe_is_part_of_the_plan_until_it_is_in_the_ledger(command: Command, project: Path) -> None:
    with running_stub() as stub:
        judged_by(project, stub, "grader", "{temperature: 0}")
        planned = json.loads(command("plan", "--json").out)[0]["judgements"][0]
        edited(project / "evalplatform.yaml", ("{temperature: 0}", "{top_p: 1}"))
        unpinned = json.loads(command("plan", "--json").out)[0]["judgements"][0]
        assert (planned["calls"], planned["finished"]) == (unpinned["calls"] + 1, 0)
        assert stub.requests == 0
        edited(project / "evalplatform.yaml", ("{top_p: 1}", "{temperature: 0}"))
        assert command("arms", "run", "--suite", "kettle", "--judge").code == 0
        planned = json.loads(command("plan", "--json").out)[0]["judgements"][0]
        assert planned["finished"] == planned["calls"]


def test_a_probe_that_fails_for_a_while_says_nothing_about_the_parameter(command: Command, project: Path) -> None:
    with running_stub() as stub:
        judged_by(project, stub, "stub;do=body;raw=no+json", "{temperature: 0}")
        ran = command("arms", "run", "--suite", "kettle", "--arms", "baseline", "--judge")
        assert ran.code == 2
        assert "pinned" not in ran.err
        assert "answers reader: 8/8" in ran.err
