"""`judge validity` over HTTP and offline: which judges notice what is worse, what is asked, and how it ends."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from aiohttp import web

from tests.cli.conftest import Command
from tests.support.model_stub import Asked, ModelStub, behaviour, completion, running_stub
from tests.support.model_stub_replies import JUDGE_DIMENSIONS, derived_reply
from tests.support.stub_project import ANSWERER, GRADER, RUN, write_stub_project

ANSWER = "Set max_retries to 4 first. Each of the retries waits for 30 seconds. See RetryPolicy for what is retried."
ANSWERING = f"answerer;do=reply;text={ANSWER.replace(' ', '+')}"
QUESTIONS = 20
ASKED = 2 * 5 * QUESTIONS
VALIDITY = ("judge", "validity")


@behaviour("grade")
async def grade(asked: Asked) -> web.StreamResponse:
    """by=content: 90 where the answer is whole and denies nothing, else 30; by=length: a point for three characters; by=noise: any."""
    found = re.search(r"^BEGIN ANSWER (\w+)\n(.*)\nEND ANSWER \1$", asked.prompt, re.DOTALL | re.MULTILINE)
    text = derived_reply(asked.prompt)
    if found is not None:
        answer = found[2]
        is_whole = ANSWER in answer and "not true" not in answer
        points: float = (90 if is_whole else 30) if asked.settings["by"] == "content" else min(100, len(answer) / 3)
        if asked.settings["by"] == "noise":
            points = int(hashlib.sha256(asked.prompt.encode()).hexdigest(), 16) % 1001 / 10
        text = json.dumps(dict.fromkeys((*JUDGE_DIMENSIONS, "aggregate"), points))
    return web.Response(body=orjson.dumps(completion(asked, text)), content_type="application/json")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", "any")


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with running_stub() as stub:
        yield stub


def judged_project(
    folder: Path,
    stub: ModelStub,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    *,
    grader: str,
    questions: int = QUESTIONS,
    skills: int = 1,
) -> Path:
    """A project whose answers, of the baseline and so many skills, are stored and graded by that judge."""
    file = write_stub_project(folder / "p", stub.url, questions=questions) / "evalplatform.yaml"
    text = file.read_text().replace(f"model: {ANSWERER}", f"model: '{ANSWERING}'").replace(f"model: {GRADER}", f"model: '{grader}'")
    skill = file.parent / "skills" / "use-kettle"
    others = [f"use-kettle-{number}" for number in range(1, skills)]
    for name in others:
        shutil.copytree(skill, skill.with_name(name))
        (skill.with_name(name) / "SKILL.md").write_text((skill / "SKILL.md").read_text().replace("use-kettle", name) + f"Said by {name}.")
    arms = ", ".join(["skill:skills/use-kettle", *(f"skill:skills/{name}" for name in others)])
    file.write_text(text.replace("skill:skills/use-kettle", arms))
    monkeypatch.chdir(file.parent)
    command(*RUN)
    return file


def test_a_judge_that_notices_passes_and_what_was_graded_is_not_asked_again(
    command: Command, tmp_path: Path, stub: ModelStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_project(tmp_path, stub, command, monkeypatch, grader="grader;do=grade;by=content")
    asked = stub.requests
    ran = command(*VALIDITY)
    assert ran.code == 0, ran.out
    assert "judge ranks intact answers above degraded ones." in ran.out
    assert "wrong_name is noticed: accuracy 100.0% [83.9%, 100.0%] of 20 pairs, length alone" in ran.out
    assert "padding is not shown to raise the points" in ran.out
    # Five copies of each answer in both conditions. Intact answers are stored scores: with material the arm's, without the baseline's,
    # since both arms gave the same answer.
    assert stub.requests - asked == ASKED
    assert f"{ASKED} model calls" in ran.err
    again = command(*VALIDITY)
    assert (again.code, again.out) == (0, ran.out)
    assert stub.requests - asked == ASKED
    assert "0 model calls" in again.err


def test_a_judge_of_pure_noise_stands_near_a_half_however_many_arms_it_has_graded(
    command: Command, tmp_path: Path, stub: ModelStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_project(tmp_path, stub, command, monkeypatch, grader="grader;do=grade;by=noise", questions=40, skills=6)
    ran = command(*VALIDITY, "--bases", "40", "--json")
    results = [result for result in json.loads(ran.out)["validity"]["results"] if result["probe"]["is_worse"]]
    for condition in ("with", "without"):
        of_condition = [result for result in results if result["condition"] == condition]
        assert {result["pairs"] for result in of_condition} == {40}
        # Chosen for its points among six, an intact answer would stand at 6/7 of what the judge gives, and be ranked higher as often.
        assert 0.35 < sum(result["accuracy"]["rate"] for result in of_condition) / len(of_condition) < 0.65
        assert all(result["accuracy"]["ci_lo"] < 0.5 < result["accuracy"]["ci_hi"] for result in of_condition)
    assert ran.code == 1


def test_of_repeated_draws_one_is_tried_and_its_stored_score_is_replayed(
    command: Command, tmp_path: Path, stub: ModelStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = judged_project(tmp_path, stub, command, monkeypatch, grader="grader;do=grade;by=content", questions=6)
    file.write_text(file.read_text().replace("draws: 1", "draws: 2"))
    assert command(*RUN).code == 0
    asked = stub.requests
    ran = command(*VALIDITY, "--material", "with", "--degradation", "padding", "--json")
    assert len(json.loads(ran.out)["pairs"]) == 6
    assert stub.requests - asked == 6


def test_a_judge_of_length_passes_truncation_and_fails_for_padding_and_contradictions(
    command: Command, tmp_path: Path, stub: ModelStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_project(tmp_path, stub, command, monkeypatch, grader="grader;do=grade;by=length")
    ran = command(*VALIDITY, "--material", "with", "--json")
    assert ran.code == 1
    told = json.loads(ran.out)
    states = {result["probe"]["name"]: result["state"] for result in told["validity"]["results"]}
    assert (states["truncate"], states["padding"], states["contradiction"]) == ("passed", "failed", "failed")
    for result in told["validity"]["results"]:  # it is the counter of characters that stands beside every judge
        assert result["accuracy"]["rate"] == result["longer_accuracy_rate"]
    assert command(*VALIDITY, "--material", "with", "--degradation", "truncate").code == 0


@pytest.mark.parametrize(("grader", "is_own"), [(f"openai/{ANSWERING}", True), ("grader;do=grade;by=content", False)])
def test_the_answering_model_by_another_name_is_told_to_judge_itself(
    command: Command, tmp_path: Path, stub: ModelStub, monkeypatch: pytest.MonkeyPatch, grader: str, is_own: bool
) -> None:
    file = judged_project(tmp_path, stub, command, monkeypatch, grader=grader, questions=2)
    elsewhere = "endpoints:\n  other: {provider: openai-compatible, base_url: http://127.0.0.1:1/v1, retry: {attempts: 1}}"
    text = file.read_text().replace("endpoints:", elsewhere, 1)
    file.write_text(text.replace(f"model: '{grader}', endpoint: stub", f"model: '{grader}', endpoint: other"))
    command(*VALIDITY, "--out-json", "out.json", "--out-md", "out.md")
    assert json.loads(Path("out.json").read_text())["tried"]["judges_itself"] is is_own
    assert ("The judge is the model that answered" in Path("out.md").read_text()) is is_own


def test_too_few_pairs_to_decide_are_said_with_how_many_would_and_fail_when_strict(
    command: Command, tmp_path: Path, stub: ModelStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_project(tmp_path, stub, command, monkeypatch, grader="grader;do=grade;by=content", questions=10)
    ran = command(*VALIDITY)
    assert ran.code == 0
    assert "truncate is inconclusive: about 16 pairs would settle it at this accuracy" in ran.out
    assert "Too few pairs to say whether the judge ranks intact answers above degraded ones." in ran.out
    assert command(*VALIDITY, "--strict").code == 1
    assert command(*VALIDITY, "--min-accuracy", "0.6").code == 0
    few = command(*VALIDITY, "--bases", "5")
    assert few.code == 2
    assert "truncate could not be tried: 5 pairs, 6 needed." in few.out
    assert (
        "error: contradiction, padding, truncate, wrong_name and wrong_number could not be tried: too few pairs. Raise --bases" in few.err
    )


def test_where_every_question_is_tried_more_intact_answers_are_not_advised(
    command: Command, tmp_path: Path, stub: ModelStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_project(tmp_path, stub, command, monkeypatch, grader="grader;do=grade;by=content", questions=4)
    ran = command(*VALIDITY, "--material", "with")
    assert ran.code == 2
    assert "too few pairs. All 4 questions with an answer are tried; ask more questions, or name the others" in ran.err
    assert "Raise --bases" not in ran.err


def test_a_judge_that_cannot_be_read_leaves_the_question_unanswered(
    command: Command, tmp_path: Path, stub: ModelStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_project(tmp_path, stub, command, monkeypatch, grader="grader;do=reply;text=no+number", questions=7)
    ran = command(*VALIDITY, "--degradation", "padding", "--material", "with")
    assert ran.code == 2
    assert "error: padding could not be tried: too many pairs have no points" in ran.err
    assert "padding could not be tried: 0 of 7 pairs scored, 95% needed; unscored: malformed_reply 7." in ran.out


def test_a_judge_whose_endpoint_stops_the_run_leaves_it_unanswered_and_a_rerun_goes_on(
    command: Command, tmp_path: Path, stub: ModelStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_project(tmp_path, stub, command, monkeypatch, grader="grader;do=grade;by=content")
    stub.fail_after, stub.fail_status = stub.requests + 30, 401
    stopped = command(*VALIDITY)
    assert stopped.code == 2
    assert "error: the run was stopped: " in stopped.err
    assert "could not be found out." in stopped.out
    stub.fail_after = None
    asked = stub.requests
    assert command(*VALIDITY).code == 0
    assert stub.requests - asked == ASKED - 30


def test_the_offline_judge_sees_missing_facts_and_no_contradiction(command: Command, project: Path, tmp_path: Path) -> None:
    assert command(*RUN).code == 0
    files = [tmp_path / "out" / f"validity.{form}" for form in ("json", "md", "html")]
    ran = command(*VALIDITY, "--out-json", files[0], "--out-md", files[1], "--out-html", files[2])
    assert ran.code == 1
    assert "contradiction is not noticed reliably: accuracy 50.0%" in ran.out
    assert "note: A judge that sees the treatment material has more to go by" in ran.out
    payload, markdown, html = json.loads(files[0].read_text()), files[1].read_text(), files[2].read_text()
    assert (payload["schema_version"], payload["verdict"]) == ("judge_validity.v1", "failed")
    assert {pair["condition"] for pair in payload["pairs"]} == {"with", "without"}
    drops = [pair["intact_points"] - pair["degraded_points"] for pair in payload["pairs"] if pair["probe"] == "truncate"]
    assert max(drops) > 0
    for page in (markdown, html):
        assert "stands on a higher level than one judged without it" in page
        assert "With the treatment material" in page
        assert "Where the judge saw least" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--suite", "kettel"), "--suite: unknown suite 'kettel' (known: kettle). Did you mean 'kettle'?"),
        (("--cell", "reeder"), "--cell: unknown cell 'reeder' (known: reader). Did you mean 'reader'?"),
        (("--judge", "fact"), "--judge: unknown judge 'fact' (known: facts). Did you mean 'facts'?"),
        (("--degradation", "pading"), "Did you mean 'padding'?"),
        (("--bases", "0"), "--bases"),
        (("--min-accuracy", "80"), "--min-accuracy"),
        (("--out-md", "questions.json"), "questions.json: --out-md: is one of the files that are read"),
        (("--out-md", "a.md", "--out-html", "docs/../a.md"), "docs/../a.md: --out-html: names the file that --out-md names."),
        ((), "the suite 'kettle' has no arm_answers of partition 'reader-26ddb5' yet"),
    ],
)
def test_what_cannot_be_tried_is_said(command: Command, project: Path, arguments: tuple[str, ...], said: str) -> None:
    if arguments[:1] == ("--degradation",):
        assert command(*RUN).code == 0
    ran = command(*VALIDITY, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
