"""The whole platform on its servers: a new judge over 60 answered cells, while every part of it goes away once and comes back.

Postgres holds the ledger and Dagster's own storage, SeaweedFS the artifacts; a code location, a daemon and the runs are processes of their
own, as in a deployment.
"""

import asyncio
import itertools
import json
import re
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.execution.backfill import BulkActionStatus

from evalplatform.project.load import Project, load_project
from evalplatform.stages.arm_answers import materialize_arm_answers
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.corpus import materialize_corpus
from evalplatform.stages.judged_scores import partition
from evalplatform.stages.question_set import materialize_question_set
from evalplatform.wiring import OpenedProject
from tests.support.command_line import run
from tests.support.deployment import Deployment, deployed, kill_session, wait_for
from tests.support.dev_server import free_port
from tests.support.model_stub import ModelStub, running_stub
from tests.support.servers import PostgresServer, S3Server
from tests.support.stub_project import GRADER, SEEDS, more_cells, write_stub_project

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]  # three minutes, on a machine with nothing else to do fewer

CELLS = 60
QUESTIONS = 2
ANSWERS_OF_A_CELL = QUESTIONS * 2
JUDGE_LATENCY_SECONDS = 0.05
QUICK = {"poll_interval_seconds: 30": "poll_interval_seconds: 2", "default_limit: 1 #": "default_limit: 3 #"}
PROBE = 1
MOST_BACKFILLS = 3
ANSWERS, SCORES, REPORT = (dg.AssetKey(["suites", "kettle", name]) for name in ("arm_answers", "judged_scores", "arms_report"))


@dataclass(frozen=True)
class Platform:
    """A project of 60 answered cells on real servers, whose answering models are switched off, and its judging models."""

    deployment: Deployment
    folder: Path
    judging: ModelStub
    code_port: int

    @property
    def project(self) -> Project:
        return load_project(self.folder / "evalplatform.yaml")

    @contextmanager
    def running(self, name: str) -> "Iterator[subprocess.Popen[bytes]]":
        """Run the code location (`code-location`) or a daemon (any other name), with its output in a log of that name."""
        port = ("--grpc-port", str(self.code_port))
        commands = {"code-location": ("dagster", "api", "grpc", "--port", port[1], "-m", "evalplatform.definitions")}
        with self.deployment.running(name, *commands.get(name, ("dagster._daemon", "run", "--grpc-host", "localhost", *port))) as process:
            yield process

    def command(self, *arguments: str) -> str:
        """Run `evalplatform ARGUMENTS` in the deployment, and return what it prints."""
        done = run(*arguments, folder=self.folder, environment=self.deployment.environment)
        assert done.code == 0, done.err
        return done.out

    def code_is_served(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("localhost", self.code_port)) == 0

    def score_keys(self) -> dict[str, dg.MultiPartitionKey]:
        """The partition of every cell under the new judge, by cell key."""
        judge = self.project.judge("second")
        return {cell.key: dg.MultiPartitionKey({"cell": cell.key, "judge": judge.key}) for cell in self.project.cells_of("kettle")}

    def wait_for(self, condition: Callable[[], bool], what: str, *, seconds: float = 150) -> None:
        wait_for(condition, seconds=seconds, what=what, deployment=self.deployment)


@pytest.fixture
def platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer, postgres_url: str, s3_url: str
) -> Iterator[Platform]:
    with running_stub(latency_seconds=JUDGE_LATENCY_SECONDS) as judging:
        with running_stub() as answering:
            folder = write_stub_project(tmp_path / "project", answering.url, questions=QUESTIONS, storage=s3_url, database=postgres_url)
            more_cells(folder, cells=CELLS)
            tell_cells_apart(folder)
            judge_at(folder, judging.url)
            variables = {"STUB_KEY": "key-of-no-value", "EVALPLATFORM_RUNS_PER_ENDPOINT": "3"}
            settings = "production/dagster.yaml"
            deployment = deployed(
                settings, tmp_path, monkeypatch, postgres=postgres, project=folder, replacements=QUICK, variables=variables
            )
            made = Platform(deployment, folder, judging, free_port())
            answer_every_cell(made)
            assert answering.requests == CELLS * ANSWERS_OF_A_CELL
        yield made  # from here on nothing answers at the answering models' address


def tell_cells_apart(folder: Path) -> None:
    """Let every cell give answers of its own, so that its judge calls are its own, too."""
    file = folder / "evalplatform.yaml"
    numbers = itertools.count()
    file.write_text(re.sub(r"model: answerer\b", lambda match: f"model: 'stub;do=reply;text=Answer+{next(numbers)}'", file.read_text()))


def judge_at(folder: Path, url: str) -> None:
    """Let the judge have an endpoint of its own."""
    file = folder / "evalplatform.yaml"
    text = file.read_text()
    (stub,) = re.findall(r"^  stub:\n(?:    .*\n)+", text, re.MULTILINE)
    judging = re.sub(r"base_url: .*", f"base_url: {url}", stub).replace("  stub:", "  judging:", 1)
    file.write_text(re.sub(r"(  rubric: .*endpoint: )stub", r"\1judging", text.replace(stub, stub + judging)))


def answer_every_cell(platform: Platform) -> None:
    """Answer every cell without Dagster, and let Dagster know of it from the store."""
    with OpenedProject(platform.project) as opened:
        context = opened.suite_context("kettle")
        materialize_question_set(context)
        materialize_corpus(context)
        asyncio.run(answered(context))
    platform.command("sync")
    with platform.deployment.instance() as instance:
        assert len(instance.get_materialized_partitions(ANSWERS)) == CELLS


async def answered(context: SuiteContext) -> None:
    await asyncio.gather(*[materialize_arm_answers(context, cell) for cell in context.project.cells_of("kettle")])


def test_a_new_judge_scores_every_stored_answer_though_daemon_database_and_store_go_away_in_between(
    platform: Platform, postgres: PostgresServer, s3_server: S3Server
) -> None:
    platform.command(
        "judge", "add", "second", "--kind", "rubric", "--model", "grader", "--endpoint", "judging", "--seed", str(SEEDS[GRADER])
    )
    with platform.deployment.instance() as instance, platform.running("code-location"):
        platform.wait_for(platform.code_is_served, "the code location")  # a backfill of assets that no location serves would fail
        backfill = Backfill(platform, instance)
        assert backfill.request() == CELLS
        with platform.running("first-daemon") as daemon:
            backfill.wait_for_partitions(5)
            kill_session(daemon)
        with platform.running("second-daemon"):
            backfill.wait_for_partitions(15)
            s3_server.stop_at_once()
            s3_server.start()
            backfill.wait_for_partitions(25)
            postgres.stop_at_once()
            postgres.start()
            backfill.wait_until_done()
            while backfill.request():  # what an outage failed is asked for again, as a person would
                backfill.wait_until_done()
        platform.command("sync")  # what was stored while Dagster could not be told
        assert_everything_is_made_of_stored_answers(platform, instance)
    asked = [seen.count for seen in platform.judging.seen.values()]
    assert set(asked) == {1}
    assert len(asked) == CELLS * ANSWERS_OF_A_CELL + PROBE
    assert_a_report_can_be_downloaded(platform)


@dataclass
class Backfill:
    """The reports under the new judge that a person wants, however many backfills that takes."""

    platform: Platform
    instance: dg.DagsterInstance
    requested: list[str] = field(default_factory=list)

    def request(self) -> int:
        """Hand what is missing to the daemon, and return in how many cells that is."""
        assert len(self.requested) < MOST_BACKFILLS, self.platform.deployment.logs()
        would = json.loads(self.platform.command("backfill", "--judge", "second", "--dry-run", "--json"))
        cells = {state["cell"] for state in would[0]["work"]["partitions"]} - {None}  # what is over many cells has none
        assert would[0]["answers"] == []
        if cells:
            (submitted,) = json.loads(self.platform.command("backfill", "--judge", "second", "--submit", "--json"))
            self.requested.append(submitted["backfill_id"])
        return len(cells)

    def wait_for_partitions(self, count: int) -> None:
        def made() -> bool:
            return len(self.instance.get_materialized_partitions(REPORT)) >= count or self.is_done()

        self.platform.wait_for(made, f"{count} partitions")

    def wait_until_done(self) -> None:
        self.platform.wait_for(self.is_done, "the backfill's end")

    def is_done(self) -> bool:
        backfill = self.instance.get_backfill(self.requested[-1])
        return backfill is not None and backfill.status not in (BulkActionStatus.REQUESTED, BulkActionStatus.FAILING)


def assert_everything_is_made_of_stored_answers(platform: Platform, instance: dg.DagsterInstance) -> None:
    keys = set(platform.score_keys().values())
    for asset in (SCORES, REPORT):
        assert instance.get_materialized_partitions(asset) == {str(key) for key in keys}
    for key in keys:
        (made,) = instance.fetch_materializations(dg.AssetRecordsFilter(asset_key=SCORES, asset_partitions=[key]), limit=1).records
        materialization = made.asset_materialization
        assert materialization is not None
        assert materialization.metadata["answer_calls"].value == 0
        assert materialization.metadata["failures"].value == 0


def assert_a_report_can_be_downloaded(platform: Platform) -> None:
    with OpenedProject(platform.project) as opened:
        cell_key, key = next(iter(platform.score_keys().items()))
        artifact = opened.suite_context("kettle").artifact("arms_report", partition(cell_key, key.keys_by_dimension["judge"]))
        manifest = opened.catalog.current(artifact)
        assert manifest is not None
        link = opened.catalog.download_link(manifest, "report.html", expires_seconds=60)
        assert link is not None
        with urllib.request.urlopen(link) as response:
            assert response.read() == opened.catalog.read(manifest, "report.html")
