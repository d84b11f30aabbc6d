"""A week of nights in simulated time: what sensors ask for and record, what stands, and which mails and webhooks go out, exactly.

The clock of the deployment is set from night to night; the agent, the mail server and the webhook's receiver are real servers on loopback.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from evalplatform.artifacts.blobs import blob_key
from evalplatform.monitoring.standings import standing_after
from evalplatform.runs.night import Night
from evalplatform.runs.schedule import HOUR_SECONDS
from evalplatform.stages.authorization import sealed_authorization
from sensors.alerts import alert_sensor
from sensors.monitoring import monitoring_sensor
from tests.support.mail_server import MailServer, running_mail_server
from tests.support.monitored_project import FIRST, MonitoredProject
from tests.support.planned_agent import running_agent
from tests.support.webhook_receiver import WebhookReceiver, running_webhook_receiver

SIX_HOURS = timedelta(hours=6)
KEY = "Bearer sk-live-0123456789abcdef"
TWO_RECIPIENTS = ("ann@example.com", "bo@example.com")


@dataclass
class Week:
    """The project with its mail server and receiver, and what every night of it was told with."""

    monitored: MonitoredProject
    mail: MailServer
    hook: WebhookReceiver

    def pass_to(self, moment: datetime) -> list[Night]:
        """Move the clock on, let the sensors look, run what they ask for, send what is due, signed; return the nights of it."""
        before = {night.key for night in self.monitored.nights()}
        self.monitored.at(moment)
        for request in self.monitored.look(monitoring_sensor(self.monitored.runs.file)).run_requests or []:
            result = self.monitored.run(request, "monitoring_night")
            assert result.success, self.monitored.failure(result)
        known = len(self.hook.posts)
        self.monitored.look(alert_sensor(self.monitored.runs.file))
        assert all(post.is_genuine(now_seconds=moment.timestamp()) for post in self.hook.posts[known:])
        return [night for night in self.monitored.nights() if night.key not in before]

    def mails(self) -> list[tuple[str, str]]:
        """The mails since the last look: to whom, and the subject."""
        found = [(mail.recipients[0], str(mail.message["Subject"])) for mail in self.mail.mails]
        self.mail.mails.clear()
        return sorted(found)

    def posts(self) -> list[str]:
        """The kinds of alert that were posted since the last look."""
        found = [str(post.document["alert"]) for post in self.hook.posts]
        self.hook.posts.clear()
        return found


@pytest.fixture
def week(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Week]:
    with ExitStack() as stack:
        agent = stack.enter_context(running_agent())
        mail = stack.enter_context(running_mail_server())
        hook = stack.enter_context(running_webhook_receiver())
        keys = {"EVALPLATFORM_SECRET_KEYS": Fernet.generate_key().decode()}
        for name, value in (mail.environ() | hook.environ() | keys).items():
            monkeypatch.setenv(name, value)
        monitored = MonitoredProject.written_to(tmp_path / "project", agent, monkeypatch)
        yield Week(monitored, mail, hook)


def summary(nights: list[Night]) -> list[tuple[str, str | None, str | None]]:
    return [(night.state, night.reason, None if night.alert is None else night.alert.kind) for night in nights]


def standings(nights: list[Night]) -> list[str]:
    """What stands after each night: its state, and behind it what was last checked."""
    letters = {"checked_clean": "c", "checked_flagged": "f", "check_failed": "x", None: "-"}
    found = [standing_after(reversed(nights[:count])) for count in range(1, len(nights) + 1)]
    return [f"{letters[standing.now]}/{letters[standing.last_checked]}" for standing in found]


def both(subject: str) -> list[tuple[str, str]]:
    return [(address, subject) for address in TWO_RECIPIENTS]


def test_a_week_of_nights_is_told_exactly(week: Week, monkeypatch: pytest.MonkeyPatch) -> None:
    monitored, agent = week.monitored, week.monitored.agent
    slots = [FIRST + step * SIX_HOURS for step in range(40)]
    with monitored.monitoring() as context:
        sealed = sealed_authorization(context.vault, KEY, address=f"http://127.0.0.1:{agent.port}")
    monitored.schedule(cadence_seconds=6 * HOUR_SECONDS, recipients=TWO_RECIPIENTS, auth=sealed)
    minute = timedelta(minutes=1)

    # Quiet: checked, and nobody is told.
    assert summary(week.pass_to(slots[0] + minute)) == [("checked_clean", None, None)]
    assert {header["Authorization"] for header in agent.headers} == {KEY}
    assert (week.mails(), week.posts()) == ([], [])

    # Nothing looks for three slots: each is recorded, the latest runs, and one message says that the check failed.
    assert summary(week.pass_to(slots[4] + minute)) == [
        ("check_failed", "missed_slot", "monitor_failed"),
        ("check_failed", "missed_slot", None),
        ("check_failed", "missed_slot", None),
        ("checked_clean", None, None),
    ]
    assert week.mails() == both("[evalplatform] probe: check failed (checkout)")
    assert week.posts() == ["monitor_failed"]

    # The endpoint refuses everything, twice: one message.
    agent.behave(refund="H", cancel="H")
    assert summary(week.pass_to(slots[5] + minute)) == [("check_failed", "endpoint_unreachable", "monitor_failed")]
    assert summary(week.pass_to(slots[6] + minute)) == [("check_failed", "endpoint_unreachable", None)]
    assert week.mails() == both("[evalplatform] probe: check failed (checkout)")
    assert week.posts() == ["monitor_failed"]

    # The agent drifts: told once, however many nights it lasts, and through a failed check.
    agent.behave(refund="FFFP")
    assert summary(week.pass_to(slots[7] + minute)) == [("checked_flagged", None, "drift_detected")]
    assert summary(week.pass_to(slots[8] + minute)) == [("checked_flagged", None, None)]
    (mail, _) = week.mail.mails
    assert "refund" in mail.text
    assert "cancel" not in mail.text
    assert "No date yet." not in mail.text, "never what the agent said"
    assert f"/download/monitoring/monitoring_nights/checkout.{slots[7]:%Y%m%dt%H%M%Sz}" in mail.text
    assert week.mails() == both("[evalplatform] probe: drift detected (checkout)")
    assert week.posts() == ["drift_detected"]

    # What was pinned is tampered with: no live leg, nothing of the agent is said.
    agent.behave()
    with monitored.monitoring() as context:
        key = blob_key(context.store.schedules()[0].pins[0].trajectory_digest)
        kept = context.runs.objects.get(key)
        context.runs.objects.put(key, kept.replace(b"3 May", b"4 May"))
    assert summary(week.pass_to(slots[9] + minute)) == [("check_failed", "baseline_not_pinned", "monitor_failed")]
    assert agent.asked == []
    with monitored.monitoring() as context:
        context.runs.objects.put(key, kept)
    assert week.posts() == ["monitor_failed"]
    week.mails()

    # The deployment's key is changed, and the stored value cannot be read; the streak goes on, so nobody is told again.
    old_keys = keys_of(monkeypatch, Fernet.generate_key().decode())
    assert summary(week.pass_to(slots[10] + minute)) == [("check_failed", "credential_unreadable", None)]
    assert agent.asked == []
    assert (week.mails(), week.posts()) == ([], [])
    keys_of(monkeypatch, old_keys)

    # The agent is itself again. What was last checked was flagged, so that this is a recovery.
    assert summary(week.pass_to(slots[11] + minute)) == [("checked_clean", None, "recovered")]
    assert week.mails() == both("[evalplatform] probe: recovered (checkout)")
    assert week.posts() == ["recovered"]
    assert summary(week.pass_to(slots[12] + minute)) == [("checked_clean", None, None)]
    assert (week.mails(), week.posts()) == ([], [])

    nights = monitored.nights()
    assert [night.slot.at for night in nights] == slots[:13], "no slot is lost, and none is there twice"
    assert standings(nights) == ["c/c", "x/c", "x/c", "x/c", "c/c", "x/c", "x/c", "f/f", "f/f", "x/f", "x/f", "c/c", "c/c"]
    assert all(night.alert is None or night.alert.state == "sent" for night in nights)
    assert monitored.made("monitoring_nights") == {night.key for night in nights}, "Dagster knows of every one, missed ones too"
    everything = "\n".join(night.model_dump_json() for night in nights)
    assert KEY not in everything
    assert not any(KEY.encode() in path.read_bytes() for path in monitored.runs.folder.rglob("*") if path.is_file())


def test_a_mail_server_that_is_away_is_tried_four_times_and_then_the_night_says_so(week: Week) -> None:
    week.monitored.schedule()
    week.monitored.agent.behave(refund="F")
    week.mail.refused = {"ann@example.com": "451 4.7.1 later"}
    waits = [timedelta(), timedelta(minutes=1), timedelta(minutes=6), timedelta(minutes=31), timedelta(minutes=90)]
    for wait in waits:
        week.pass_to(FIRST + timedelta(minutes=1) + wait + timedelta(seconds=30))
    (night,) = week.monitored.nights()
    assert night.state == "checked_flagged", "a failed send never changes the night"
    assert night.alert is not None
    (mailed, posted) = night.alert.deliveries
    assert (mailed.state, mailed.attempts) == ("failed", 4)
    assert "later" in (mailed.outcome or "")
    assert posted.state == "sent"
    assert week.posts() == ["drift_detected"]


def keys_of(monkeypatch: pytest.MonkeyPatch, keys: str) -> str:
    """Set the deployment's keys, and return what they were."""

    before = os.environ["EVALPLATFORM_SECRET_KEYS"]
    monkeypatch.setenv("EVALPLATFORM_SECRET_KEYS", keys)
    return before
