"""A cross-judging that is killed: what was finished is not asked again, and the result is that of an unbroken one."""

import shutil
import signal
from pathlib import Path

import pytest

from tests.support.command_line import run, started, wait_until
from tests.support.model_stub import running_stub
from tests.support.starter import edited
from tests.support.stub_project import CONCURRENCY, RUN, committed_calls, write_stub_project

pytestmark = pytest.mark.system

QUESTIONS = 40
KEY = {"STUB_KEY": "key-of-no-value"}
JUDGES = """\
  strict: {kind: rubric, model: strict-grader, endpoint: stub}
  lax: {kind: rubric, model: lax-grader, endpoint: stub}
products:"""


@pytest.mark.parametrize("source", [("--suite", "kettle"), ("results/arms/kettle.json",)], ids=["suite", "file"])
def test_a_killed_cross_judging_goes_on_where_it_was(tmp_path: Path, source: tuple[str, ...]) -> None:
    with running_stub() as stub:
        folder = write_stub_project(tmp_path / "project", stub.url, questions=QUESTIONS)
        edited(folder / "evalplatform.yaml", ("products:", JUDGES))
        assert run(*RUN, folder=folder, environment=KEY).code == 0
        unbroken = shutil.copytree(folder, tmp_path / "unbroken")
        command = ("cross-judge", *source, "--judges", "strict,lax", "--out-json", "o.json")
        assert run(*command, folder=unbroken, environment=KEY).code == 0
        stub.seen, of_the_run = {}, len(committed_calls(folder))
        stub.latency_seconds = 0.1
        with started(*command, folder=folder, environment=KEY) as process:
            wait_until(lambda: stub.requests >= 3 * CONCURRENCY, "some judgements")
            process.send_signal(signal.SIGKILL)
            process.wait()
        finished, asked = len(committed_calls(folder)) - of_the_run, stub.requests
        assert finished > 0
        again = run(*command, folder=folder, environment=KEY)
        assert again.code == 0, again.err
        assert stub.requests - asked == 2 * 2 * QUESTIONS - finished, "all that was finished is replayed, and only that is left to ask"
        assert (folder / "o.json").read_bytes() == (unbroken / "o.json").read_bytes()
