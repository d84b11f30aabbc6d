import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.model_stub import ModelStub, running_stub
from tests.support.model_stub_replies import JUDGE_DIMENSIONS


def post(url: str, text: str) -> dict[str, object]:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/chat/completions", data=body), timeout=10) as answer:
        return json.load(answer)


def said(stub: ModelStub, text: str) -> str:
    return post(stub.url, text)["choices"][0]["message"]["content"]


def test_the_reply_is_derived_from_the_prompt() -> None:
    with running_stub() as stub:
        assert said(stub, "one") == said(stub, "one") != said(stub, "two")


def test_a_judges_prompt_is_answered_with_scores() -> None:
    with running_stub() as stub:
        scores = json.loads(said(stub, "Score " + ", ".join(JUDGE_DIMENSIONS)))
        grounded = json.loads(said(stub, "Score factual_grounding, " + ", ".join(JUDGE_DIMENSIONS)))
    assert set(scores) == {*JUDGE_DIMENSIONS, "aggregate"}
    assert set(grounded) == {*JUDGE_DIMENSIONS, "factual_grounding", "aggregate"}
    assert all(0 <= points <= 100 for points in scores.values())


def test_the_first_requests_of_every_body_fail_and_each_is_counted() -> None:
    with running_stub(fail_first=1, fail_status=429, retry_after="2") as stub:
        for text in ("one", "two"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                post(stub.url, text)
            assert (refused.value.code, refused.value.headers["Retry-After"]) == (429, "2")
            refused.value.close()
            assert said(stub, text)
        with urllib.request.urlopen(f"{stub.root_url}/stats", timeout=10) as answer:
            stats = json.load(answer)
    assert stats["requests"] == 4
    assert [body["statuses"] for body in stats["bodies"].values()] == [[429, 200], [429, 200]]
    assert all(len(body["times"]) == body["count"] == 2 for body in stats["bodies"].values())


def test_it_runs_as_a_process_of_its_own_and_says_its_port_first() -> None:
    command = [sys.executable, "-m", "tests.support.model_stub", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        reply = post(f"http://127.0.0.1:{port}/v1", "hello")
        process.terminate()
    assert reply["model"] == "m-returned"
