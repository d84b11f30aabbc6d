"""`evalplatform monitor` and `secrets rotate`: agents are tried before they are watched, and their keys are seen by nobody else."""

import json
import sqlite3
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from evalplatform.artifacts.blobs import blob_key
from evalplatform.runs.bundle import BundleSummary, new_bundle
from tests.cli.conftest import Command
from tests.support.agent_stub import AgentStub, running_agent
from tests.support.recorded_batches import OUTCOMES, recorded, trajectory

PRINTED = "what an agent prints is no reply\n"
VALUE = "Bearer super-secret-value-5678"
OLD_KEY, NEW_KEY = (urlsafe_b64encode(bytes([number]) * 32).decode() for number in (1, 2))
PROJECT = "version: 1\nproject: {name}\nscenarios: scenarios.yaml\ndatabase: sqlite:///{database}\n"
SCENARIOS = """\
version: 1
scenarios:
  - {id: refund, messages: [When does my refund arrive?], assertions: [{tool_called: lookup}]}
  - {id: cancel, messages: [When does my refund arrive?], assertions: [{tool_called: lookup}]}
  - {id: failing, messages: [When does my refund arrive?], assertions: [{tool_called: lookup}]}
  - {id: chat, messages: [Hello]}
  - {id: stricter, messages: [When does my refund arrive?], assertions: [{tool_called: pay}]}
  - {id: reworded, messages: [Where is it?], assertions: [{tool_called: lookup}]}
"""
LETTERS = {"refund": "FPP", "cancel": "P", "failing": "F", "chat": "P", "stricter": "P", "reworded": "P"}
NAMES = {outcome: letter for letter, outcome in OUTCOMES.items()}


@pytest.fixture
def agent() -> Iterator[AgentStub]:
    with running_agent() as stub:
        yield stub


@dataclass
class Shop:
    """A project with a stored batch, and a command line in its folder."""

    command: Command
    folder: Path
    agent: AgentStub
    batch: str = ""

    def __call__(self, *arguments: object) -> Any:
        ran = self.command(*arguments)
        return replace(ran, out=ran.out.replace(PRINTED, ""))  # the agent of the test runs in this process

    def push(self, summary: BundleSummary) -> str:
        """Store a batch, and return its id."""
        path = self.folder / f"{summary.batch.id}.jsonl"
        with new_bundle(path, summary.header) as bundle:
            for run in summary.runs:
                bundle.add(run, trajectory(NAMES[run.outcome]))
            bundle.finish()
        pushed = self("push", path)
        assert pushed.code == 0, pushed.err
        return str(pushed.out.split(":")[0])

    def pin(self, scenario: str, place: int = 0) -> str:
        """The run of a scenario as `--pin` takes it, by its place in the batch."""
        return f"{scenario}={self.batch}/{self.run(scenario, place)}"

    def run(self, scenario: str, place: int = 0) -> str:
        return next(run.id for run in STORED.runs if (run.scenario_id, run.order) == (scenario, place))

    def add(self, name: str = "nightly", *arguments: object, scenario: str = "refund", place: int = 1) -> Any:
        """A schedule of one scenario, on unless said otherwise."""
        flags = ("--endpoint", self.agent.url, "--pin", self.pin(scenario, place), "--recipient", "ana@example.com")
        return self("monitor", "add", name, *flags, *arguments)

    def stored(self, name: str = "nightly") -> dict[str, Any] | None:
        found = json.loads(self("monitor", "list", "--json").out)["schedules"]
        return next((schedule for schedule in found if schedule["id"] == name), None)

    def audit(self) -> list[tuple[str, str]]:
        """Every change of a schedule or its secrets, with all of its row as text."""
        with closing(sqlite3.connect(self.folder.parent / "shop.db")) as database:
            rows = database.execute("SELECT action, audit.* FROM audit WHERE action NOT LIKE '%batch%' ORDER BY id").fetchall()
        return [(row[0], repr(row)) for row in rows]


STORED = recorded(LETTERS, agent="http http://agent.example")


@pytest.fixture
def shop(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: AgentStub) -> Shop:
    monkeypatch.setenv("EVALPLATFORM_MONITORED_HTTP", "1")
    monkeypatch.setenv("EVALPLATFORM_MONITORED_HOSTS", "127.0.0.1")
    monkeypatch.setenv("EVALPLATFORM_SECRET_KEYS", OLD_KEY)
    monkeypatch.setenv("AGENT_AUTH", VALUE)
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("TWO_LINES", "Bearer a\nX-Other: b")
    folder = project_folder(tmp_path, "probe")
    monkeypatch.chdir(folder)
    shop = Shop(command, folder, agent)
    shop.batch = shop.push(STORED)
    return shop


def project_folder(parent: Path, name: str, more: str = "") -> Path:
    folder = parent / name
    folder.mkdir()
    (folder / "evalplatform.yaml").write_text(PROJECT.format(name=name, database=parent / "shop.db") + more)
    (folder / "scenarios.yaml").write_text(SCENARIOS)
    return folder


def test_what_can_be_monitored_is_listed_with_its_newest_passing_runs_and_the_rest_with_why_not(shop: Shop) -> None:
    ran = shop("monitor", "scenarios")
    assert ran.code == 0
    assert f"refund\n  {shop.batch}/{shop.run('refund', 2)}  2026-" in ran.out
    assert "chat  no_assertion_set: it has no assertion" in ran.out
    assert "failing  no_passing_run: no run of it that passed" in ran.out
    listed = {scenario["scenario_id"]: scenario for scenario in json.loads(shop("monitor", "scenarios", "--json").out)}
    assert [run["run_id"] for run in listed["refund"]["runs"]] == [shop.run("refund", 2), shop.run("refund", 1)]
    assert len(json.loads(shop("monitor", "scenarios", "--newest", 1, "--json").out)[0]["runs"]) == 1


def test_what_a_night_asked_can_be_pinned_and_what_it_replayed_cannot(shop: Shop) -> None:
    live = shop.push(recorded({"refund": "P"}, origin="night", days_ago=-1))
    shop.push(recorded({"refund": "P"}, origin="night", leg="replay", days_ago=-2))
    refund = json.loads(shop("monitor", "scenarios", "--json").out)[0]
    assert [run["batch_id"] for run in refund["runs"]] == [live, shop.batch, shop.batch]


def test_where_no_run_is_stored_nothing_can_be_monitored(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project_folder(tmp_path, "empty"))
    ran = command("monitor", "scenarios")
    assert (ran.code, ran.out.count("no_passing_run")) == (1, 5)
    assert command("monitor", "list").code == 1


def test_an_agent_is_asked_once_before_it_is_watched_as_a_night_would_ask_it(shop: Shop) -> None:
    ran = shop.add("nightly", "--auth-env", "AGENT_AUTH", "--runs", 4, "--at", "02:30", "--timezone", "Asia/Kolkata")
    assert ran.code == 0, ran.err
    assert f"An agent answers at {shop.agent.url}: 4 steps to 'refund'" in ran.out
    assert "02:30 in Asia/Kolkata" in ran.out
    assert shop.agent.bodies == [{"scenario": "refund", "run": 0, "messages": [{"role": "user", "content": "When does my refund arrive?"}]}]
    sent = shop.agent.headers[0]
    assert (sent["User-Agent"], sent["X-Evalplatform-Project"], sent["Authorization"]) == ("evalplatform-monitor/1", "probe", VALUE)
    stored = shop.stored()
    assert stored is not None
    assert [(pin["scenario_id"], pin["run_id"]) for pin in stored["pins"]] == [("refund", shop.run("refund", 1))]
    assert (stored["runs"], stored["auth"]["last_chars"], "token" in stored["auth"]) == (4, "5678", False)


def test_the_authorization_value_is_shown_stored_and_audited_nowhere(shop: Shop) -> None:
    shown = ""
    for arguments in (
        ("--auth-env", "AGENT_AUTH"),
        ("--runs", 2, "--json"),
        ("--endpoint", f"{shop.agent.url}x"),
    ):
        ran = shop.add("nightly", *arguments) if not shown else shop("monitor", "add", "nightly", *arguments)
        shown += ran.out + ran.err
    for command in ("list", "pause", "resume", "test-call", "remove"):
        ran = shop("monitor", command, *(["nightly"] if command != "list" else []))
        assert ran.code == 0, ran.err
        shown += ran.out + ran.err
    audited = shop.audit()
    assert [action.removeprefix("monitoring.schedule_") for action, _ in audited] == ["saved", "saved", "paused", "resumed", "removed"]
    files = b"".join(path.read_bytes() for path in shop.folder.parent.rglob("*") if path.is_file() and "shop.db" in path.name)
    assert "secret-value" not in shown + "".join(row for _, row in audited)
    assert b"secret-value" not in files
    assert "gAAAA" not in shown + "".join(row for _, row in audited)  # the sealed text neither


OTHER_ANSWERS = {
    "do:text": "endpoint_not_an_agent",
    "do:status 403": "endpoint_not_an_agent",
    "do:status 500": "endpoint_not_an_agent",
    "do:redirect": "endpoint_redirects",
    "do:cut": "endpoint_not_an_agent",
    "do:slow": "endpoint_not_an_agent",
}


def test_what_answers_otherwise_than_an_agent_is_told_from_one_and_leaks_nothing(shop: Shop) -> None:
    for message, code in OTHER_ANSWERS.items():
        Path("scenarios.yaml").write_text(SCENARIOS.replace("Hello", message))
        flags = ("--endpoint", shop.agent.url, "--scenario", "chat", "--timeout", 1, "--auth-env", "AGENT_AUTH")
        ran = shop("monitor", "test-call", *flags, "--json")
        answer = json.loads(ran.out)
        assert (ran.code, answer["answers"], answer["code"]) == (1, False, code), message
        assert "secret-value" not in ran.out + ran.err
    assert shop("monitor", "list").code == 1


def test_a_test_call_stores_nothing_and_needs_no_key_to_store_with(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVALPLATFORM_SECRET_KEYS")
    ran = shop("monitor", "test-call", "--endpoint", shop.agent.url, "--auth-env", "AGENT_AUTH", "--json")
    answer = json.loads(ran.out)
    assert (ran.code, answer["answers"], answer["scenario_id"], answer["tools"]) == (0, True, "refund", ["look"])
    assert shop.agent.headers[0]["Authorization"] == VALUE
    assert shop("monitor", "list").code == 1
    assert shop.audit() == []


REFUSED_ADDRESSES = {
    "https://user:pass@agent.example/": "endpoint_has_credentials",
    "http://169.254.169.254/latest": "endpoint_metadata",
    "ftp://agent.example/": "endpoint_malformed",
    "https://10.1.2.3/": "endpoint_private",
    "https://agent.example/" + "a" * 2_048: "endpoint_too_long",
}


def test_an_address_that_no_agent_may_have_is_refused_before_anything_is_asked_or_saved(shop: Shop) -> None:
    for endpoint, code in REFUSED_ADDRESSES.items():
        flags = ("--endpoint", endpoint)
        tries = [shop("monitor", "test-call", *flags), shop.add("n", *flags, "--on"), shop.add("n", *flags, "--paused")]
        assert [(tried.code, tried.err.startswith("error: endpoint: "), f"({code})" in tried.err) for tried in tries] == [
            (2, True, True)
        ] * 3
        assert "pass@" not in "".join(tried.err for tried in tries)
    assert shop.stored("n") is None
    assert shop.agent.bodies == []


def test_a_test_call_needs_a_schedule_or_an_address_and_a_timeout_above_zero(shop: Shop) -> None:
    assert "endpoint: name a schedule, or the address" in shop("monitor", "test-call").err
    assert "timeout: must be above 0" in shop("monitor", "test-call", "--endpoint", shop.agent.url, "--timeout", 0).err
    assert "(header_malformed)" in shop("monitor", "test-call", "--endpoint", shop.agent.url, "--auth-env", "TWO_LINES").err
    assert shop.add("nightly", "--paused").code == 0
    for command in ("add", "test-call"):  # an empty address is not the stored one
        assert "(endpoint_malformed)" in shop("monitor", command, "nightly", "--endpoint", "").err
    assert shop.agent.bodies == []


def test_where_no_agent_answers_nothing_is_saved_and_a_stored_schedule_stays(shop: Shop) -> None:
    refused = shop.add("nightly", "--endpoint", f"{shop.agent.url}/nobody")
    assert (refused.code, "(endpoint_not_an_agent)" in refused.err) == (2, True)
    assert shop.stored() is None
    assert shop.add().code == 0
    before = shop.stored()
    assert shop("monitor", "add", "nightly", "--endpoint", f"{shop.agent.url}/nobody", "--runs", 3).code == 2
    assert shop.stored() == before


def test_a_paused_schedule_is_saved_without_a_call_and_resumed_after_one(shop: Shop) -> None:
    assert shop.add("nightly", "--paused").code == 0
    assert shop("monitor", "add", "nightly", "--runs", 2).code == 0
    assert shop.agent.bodies == []
    stored = shop.stored()
    assert stored is not None
    assert (stored["is_on"], stored["runs"], stored["next_due_at"]) == (False, 2, None)
    resumed = shop("monitor", "resume", "nightly", "--json")
    assert json.loads(resumed.out)["test_call"]["scenario_id"] == "refund"
    assert len(shop.agent.bodies) == 1
    stored = shop.stored()
    assert stored is not None
    assert (stored["is_on"], stored["next_due_at"] is None) == (True, False)
    assert shop("monitor", "resume", "nightly").code == 0  # it is on already
    assert len(shop.agent.bodies) == 1
    assert shop("monitor", "pause", "nightly").code == 0


def test_a_stored_header_value_stays_is_cleared_and_is_never_sent_elsewhere(shop: Shop) -> None:
    assert shop.add("nightly", "--auth-env", "AGENT_AUTH").code == 0
    assert shop("monitor", "add", "nightly", "--runs", 2).code == 0
    assert shop.agent.headers[-1]["Authorization"] == VALUE
    with running_agent() as other:
        for arguments in (("add", "nightly", "--endpoint", other.url), ("test-call", "nightly", "--endpoint", other.url)):
            moved = shop("monitor", *arguments)
            assert (moved.code, "authorization: " in moved.err, "(header_needed_again)" in moved.err) == (2, True, True)
        assert other.bodies == []
        assert shop("monitor", "add", "nightly", "--endpoint", other.url, "--auth-env", "AGENT_AUTH").code == 0
        assert shop("monitor", "add", "nightly", "--clear-auth").code == 0
        assert [header.get("Authorization") for header in other.headers] == [VALUE, None]
    stored = shop.stored()
    assert stored is not None
    assert stored["auth"] is None


NO_PINS = [
    ("refund", 0, "no_passing_run"),
    ("failing", 0, "no_passing_run"),
    ("chat", 0, "no_assertion_set"),
    ("stricter", 0, "no_passing_run"),
    ("reworded", 0, "no_passing_run"),
]


def test_a_run_that_a_night_could_not_hold_the_agent_to_is_no_pin(shop: Shop) -> None:
    for scenario, place, code in NO_PINS:
        ran = shop.add(scenario=scenario, place=place)
        assert (ran.code, f"scenarios.{scenario}: " in ran.err, f"({code})" in ran.err) == (2, True, True), ran.err
    assert shop.stored() is None


def test_a_pin_names_its_own_scenarios_run(shop: Shop) -> None:
    crossed = shop("monitor", "add", "n", "--endpoint", shop.agent.url, "--pin", shop.pin("cancel").replace("cancel=", "refund="))
    assert "a run of another scenario, 'cancel'" in crossed.err
    unknown = shop("monitor", "add", "n", "--endpoint", shop.agent.url, "--pin", shop.pin("cancel").replace("cancel=", "cancle="))
    assert "Did you mean 'cancel'?" in unknown.err
    assert (crossed.code, unknown.code) == (2, 2)


def test_a_pin_keeps_the_digest_it_was_pinned_with_and_what_is_no_longer_stored_is_not_pinned_anew(shop: Shop) -> None:
    assert shop.add("nightly", "--pin", shop.pin("cancel")).code == 0
    before = shop.stored()
    assert before is not None
    (blob,) = Path(".evalplatform").rglob(Path(blob_key(before["pins"][0]["trajectory_digest"])).name)
    blob.write_bytes(b"something else")
    assert shop("monitor", "add", "nightly", "--runs", 2).code == 0
    after = shop.stored()
    assert after is not None
    assert after["pins"] == before["pins"]
    anew = shop("monitor", "add", "nightly", "--pin", shop.pin("refund", 2))
    assert (anew.code, "scenarios.refund: " in anew.err, "(baseline_not_pinned)" in anew.err) == (2, True, True)
    assert shop("monitor", "add", "nightly", "--unpin", "cancel").code == 0
    left = shop.stored()
    assert left is not None
    assert [pin["scenario_id"] for pin in left["pins"]] == ["refund"]
    assert shop("monitor", "add", "nightly", "--unpin", "refund").code == 2
    assert "unknown watched scenario" in shop("monitor", "add", "nightly", "--unpin", "cancel").err


def test_the_allowance_spans_all_projects_and_a_paused_schedule_uses_none(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = "entitlements: {scenario_allowance: 1}\n"
    file = shop.folder / "evalplatform.yaml"
    assert shop.add().code == 0
    file.write_text(file.read_text() + allowed)
    second = shop.add("second", "--json", scenario="cancel", place=0)
    assert (second.code, "(allowance_exceeded)" in second.err) == (2, True)
    calls = len(shop.agent.bodies)
    assert calls == 1  # nobody is asked for what is refused
    assert shop.add("second", "--paused", scenario="cancel", place=0).code == 0
    assert "(allowance_exceeded)" in shop("monitor", "resume", "second").err
    monkeypatch.chdir(project_folder(shop.folder.parent, "other", allowed))
    assert shop("monitor", "list").code == 1
    monkeypatch.chdir(shop.folder)
    assert "1 of 1 scenario in use across all projects; this project uses 1." in shop("monitor", "list").out
    assert shop("monitor", "pause", "nightly").code == 0
    assert shop("monitor", "resume", "second").code == 0


def test_without_the_entitlement_nothing_begins_and_what_runs_can_be_ended(shop: Shop) -> None:
    assert shop.add().code == 0
    file = shop.folder / "evalplatform.yaml"
    file.write_text(file.read_text() + "entitlements: {withheld: [monitoring.managed]}\n")
    for arguments in (("add", "nightly"), ("test-call", "nightly"), ("resume", "nightly")):
        refused = shop("monitor", *arguments)
        assert (refused.code, "monitoring.managed" in refused.err, "(allowance_unavailable)" in refused.err) == (2, True, True)
    assert [shop("monitor", "list").code, shop("monitor", "pause", "nightly").code, shop("monitor", "remove", "nightly").code] == [0, 0, 0]


def test_an_unknown_schedule_is_refused_with_the_nearest_name(shop: Shop) -> None:
    assert shop.add("nightly", "--paused").code == 0
    for command in ("pause", "resume", "remove", "test-call"):
        ran = shop("monitor", command, "nightli")
        assert (ran.code, "Did you mean 'nightly'?" in ran.err, "(schedule_unknown)" in ran.err) == (2, True, True), command


UNUSABLE_FLAGS = [
    (("--every", "12"), "--every: takes a number with s, m, h or d"),
    (("--every", "8d"), "(cadence_too_long)"),
    (("--every", "59m"), "(cadence_too_short)"),
    (("--at", "24:00"), "--at: takes a time of day"),
    (("--pin", "refund"), "--pin: takes SCENARIO=BATCH/RUN"),
    (("--pin", "=b-1/r-1"), "--pin: takes SCENARIO=BATCH/RUN"),
    (("--pin", "refund=b-1/r-1"), "--pin: 'refund' is pinned twice"),
    (("--runs", "5"), "(runs_out_of_range)"),
    (("--runs", "0"), "(runs_out_of_range)"),
    (("--timeout", "0"), "timeout: must be above 0"),
    (("--endpoint", ""), "(endpoint_malformed)"),
    (("--timezone", "Mars/Base"), "timezone: must be an IANA time zone"),
    (("--recipient", "nobody"), "(recipient_malformed)"),
    (("--auth-env", "NOT_SET"), "--auth-env: names 'NOT_SET'"),
    (("--auth-env", "EMPTY"), "--auth-env: names 'EMPTY'"),
    (("--auth-env", "TWO_LINES"), "(header_malformed)"),
    (("--auth-env", "AGENT_AUTH", "--clear-auth"), "--clear-auth: cannot be given beside"),
]


def test_a_flag_that_cannot_be_used_is_named_with_its_rule_and_nothing_is_asked(shop: Shop) -> None:
    for arguments, words in UNUSABLE_FLAGS:
        ran = shop.add("nightly", *arguments)
        assert (ran.code, words in ran.err) == (2, True), ran.err
    assert shop.agent.bodies == []
    assert shop.stored() is None


def test_a_value_is_stored_only_where_there_is_a_key_and_the_refusal_says_how_to_make_one(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALPLATFORM_SECRET_KEYS", "")
    ran = shop.add("nightly", "--auth-env", "AGENT_AUTH")
    assert (ran.code, "EVALPLATFORM_SECRET_KEYS: must hold a key" in ran.err, "openssl rand" in ran.err) == (2, True, True)
    assert shop.add().code == 0


def test_keys_are_rotated_and_the_old_one_can_go(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shop.add("nightly", "--auth-env", "AGENT_AUTH").code == 0
    monkeypatch.setenv("EVALPLATFORM_SECRET_KEYS", NEW_KEY)
    lost = shop("secrets", "rotate")
    assert (lost.code, "no key of EVALPLATFORM_SECRET_KEYS opens it" in lost.err) == (2, True)
    assert shop("monitor", "test-call", "nightly").code == 2
    monkeypatch.setenv("EVALPLATFORM_SECRET_KEYS", f"{NEW_KEY},{OLD_KEY}")
    assert json.loads(shop("secrets", "rotate", "--json").out) == {"values": 1}
    monkeypatch.setenv("EVALPLATFORM_SECRET_KEYS", NEW_KEY)
    assert shop("monitor", "test-call", "nightly").code == 0
    assert shop.agent.headers[-1]["Authorization"] == VALUE
    monkeypatch.setenv("EVALPLATFORM_SECRET_KEYS", OLD_KEY)
    assert shop("monitor", "test-call", "nightly").code == 2
    assert [action for action, _ in shop.audit()] == ["monitoring.schedule_saved", "secrets.rotated"]


def test_where_nothing_is_sealed_there_is_nothing_to_rotate(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVALPLATFORM_SECRET_KEYS")
    ran = shop("secrets", "rotate")
    assert (ran.code, ran.out) == (0, "0 stored values encrypted with the newest key; older keys can be taken out.\n")
