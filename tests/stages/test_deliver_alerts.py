"""Delivering alerts: once to each address, again where it was not taken, and never with what an agent said or did."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from evalplatform.adapters.clock import ManualClock
from evalplatform.kernel.errors import NotDeliveredError
from evalplatform.monitoring.alerts import INTERRUPTED
from evalplatform.ports.notifier import Message
from evalplatform.project.load import PROJECT_FILE_NAME, load_project
from evalplatform.runs.night import Alert, Channel, DeadSensor, Delivery, Night, Slot, WatchedScenario
from evalplatform.stages.deliver_alerts import DeliveredAlerts, deliver_alerts
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.night_end import finish_night
from evalplatform.wiring import OpenedProject
from tests.support.mail_server import MailServer, running_mail_server
from tests.support.webhook_receiver import WebhookReceiver, running_webhook_receiver

FIRST = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
SPOKEN = "the agent said: my card is 4111"
QUIET = WatchedScenario(scenario_id="refund", graded=4, failed=0, drift_at=3, null_rate=0.0037)
DRIFTED = WatchedScenario(scenario_id="refund", graded=4, failed=3, drift_at=3, null_rate=0.0037)
DEAD = WatchedScenario(scenario_id="cancel", dead=DeadSensor(kind="no_longer_passes", detail=SPOKEN), replay_path=False)
MINUTE = 60.0

REPORT = "https://evals.example.com/download/monitoring/monitoring_nights/nightly.20260301t023000z-2026-03-01/night.html"


@dataclass
class Recorder:
    """A notifier that takes, refuses or breaks as it is told, and moves a clock as if sending took its time."""

    clock: ManualClock
    outcomes: list[str | BaseException] = field(default_factory=list)
    takes_seconds: float = 0.0
    sent: list[tuple[datetime, str, str]] = field(default_factory=list)
    webhook: str | None = None
    sends_mail: bool = True

    def send(self, message: Message, *, channel: Channel, address: str) -> str:
        self.sent.append((self.clock.now(), message.id, address))
        self.clock.advance(self.takes_seconds)
        outcome = self.outcomes.pop(0) if self.outcomes else "taken"
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def refusals(count: int) -> list[str | BaseException]:
    return [NotDeliveredError(f"refused {number}") for number in range(1, count + 1)]


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with running_mail_server() as server:
        yield server


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with running_webhook_receiver() as running:
        yield running


def opened_project(folder: Path, clock: ManualClock, environ: Mapping[str, str]) -> OpenedProject:
    folder.mkdir(exist_ok=True)
    file = folder / PROJECT_FILE_NAME
    if not file.exists():  # threads that open it at once must not find it half written
        file.write_text("version: 1\nproject: shop\ntenant: acme\n")
    return OpenedProject(load_project(file, environ={"EVALPLATFORM_WEB_URL": "https://evals.example.com/", **environ}), clock=clock)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(FIRST)


@pytest.fixture
def context(tmp_path: Path, clock: ManualClock, mail: MailServer, receiver: WebhookReceiver) -> Iterator[MonitoringContext]:
    with opened_project(tmp_path / "project", clock, {**mail.environ(), **receiver.environ()}) as opened:
        yield opened.monitoring_context()


@pytest.fixture
def quiet_context(tmp_path: Path, clock: ManualClock) -> Iterator[tuple[MonitoringContext, Recorder]]:
    """A context whose notifier is told by the test what comes of each attempt."""
    with opened_project(tmp_path / "project", clock, {}) as opened:
        recorder = Recorder(clock)
        yield replace(opened.monitoring_context(), notifier=recorder), recorder


def night(
    context: MonitoringContext, day: int, scenarios: Sequence[WatchedScenario], *, to: Sequence[str] = ("ana@example.com",), **ended: Any
) -> Night:
    """A night of the schedule `nightly` that ran and ended so."""
    slot = Slot(at=FIRST + timedelta(days=day), local_date=date(2026, 3, 1) + timedelta(days=day))
    pending = Night(source="monitor", stream="nightly", slot=slot, began_at=slot.at, scenarios=tuple(scenarios))
    begun = context.store.begin(pending).night
    return finish_night(context, begun.with_changes(**ended), recipients=to)


def flagged(context: MonitoringContext, day: int = 0, *, to: Sequence[str] = ("ana@example.com",)) -> Night:
    legs = {"replay_batch": f"b-replay-{day}", "live_batch": f"b-live-{day}"}
    return night(context, day, [DRIFTED], to=to, state="checked_flagged", detail=SPOKEN, **legs)


def alert_of(context: MonitoringContext, of: Night) -> Alert:
    there = context.store.night(of.key)
    assert there is not None
    assert there.alert is not None
    return there.alert


def delivery_of(context: MonitoringContext, of: Night) -> Delivery:
    (delivery,) = alert_of(context, of).deliveries
    return delivery


def test_a_change_is_told_to_each_recipient_and_to_the_webhook_once(
    context: MonitoringContext, mail: MailServer, receiver: WebhookReceiver, clock: ManualClock
):
    told = flagged(context, to=("ana@example.com", "ben@example.com"))
    assert deliver_alerts(context) == DeliveredAlerts(sent=3)
    clock.advance(60 * MINUTE)
    assert deliver_alerts(context) == DeliveredAlerts()
    assert [one.recipients for one in mail.mails] == [("ana@example.com",), ("ben@example.com",)]
    assert len(receiver.posts) == 1
    alert = alert_of(context, told)
    assert (alert.state, alert.attempts) == ("sent", 1)
    assert [one.outcome for one in alert.deliveries] == ["the mail server said 250 2.0.0 kept"] * 2 + ["the receiver said 200"]
    assert [one.address for one in alert.deliveries] == ["ana@example.com", "ben@example.com", receiver.url]


def test_a_mail_says_which_project_what_stands_which_scenarios_and_where_to_look(context: MonitoringContext, mail: MailServer):
    flagged(context)
    deliver_alerts(context)
    (one,) = mail.mails
    assert one.message["Subject"] == "[evalplatform] shop: drift detected (nightly)"
    assert one.text.splitlines() == [
        "Drift: 1 of 1 watched scenario drifted.",
        "",
        "Project:  shop",
        "Check:    schedule nightly",
        "Standing: checked, flagged",
        "Due:      2026-03-01 02:30 UTC (2026-03-01 on its own clock)",
        "",
        "Scenarios:",
        "- refund: 3 of 4 graded live runs failed",
        "",
        f"Report: {REPORT}",
        "",
        "Compare its legs: evalplatform diff b-replay-0 b-live-0",
    ]


def test_a_webhook_says_the_same_as_data_and_is_signed(context: MonitoringContext, receiver: WebhookReceiver, clock: ManualClock):
    flagged(context)
    deliver_alerts(context)
    (post,) = receiver.posts
    assert post.is_genuine(now_seconds=clock.now().timestamp())
    assert post.document == {
        "schema_version": 1,
        "alert": "drift_detected",
        "tenant": "acme",
        "project": "shop",
        "source": "monitor",
        "stream": "nightly",
        "night": "nightly.20260301t023000z-2026-03-01",
        "slot": {"at": "2026-03-01T02:30:00+00:00", "local_date": "2026-03-01"},
        "standing": "checked_flagged",
        "reason": None,
        "scenarios": [{"id": "refund", "verdict_drifted": True, "path_drifted": False, "dead_sensor": None}],
        "replay_batch": "b-replay-0",
        "live_batch": "b-live-0",
        "link": REPORT,
    }


def test_a_recovery_names_what_recovered_also_behind_failed_checks(context: MonitoringContext, mail: MailServer, receiver: WebhookReceiver):
    other = QUIET.with_changes(scenario_id="other")
    flagged(context, 0)
    night(context, 1, [], state="check_failed", reason="endpoint_unreachable")
    night(context, 2, [QUIET, other], state="checked_clean")
    assert deliver_alerts(context).sent == 6
    by_subject = {one.message["Subject"].partition(": ")[2]: one.text for one in mail.mails}
    assert list(by_subject) == ["drift detected (nightly)", "check failed (nightly)", "recovered (nightly)"]
    assert "- refund: no drift any more\n" in by_subject["recovered (nightly)"]
    assert "other" not in by_subject["recovered (nightly)"]
    assert [one["id"] for one in receiver.posts[-1].document["scenarios"]] == ["refund"]
    assert "Standing: check failed (endpoint_unreachable)\n" in by_subject["check failed (nightly)"]
    assert "Comparison" not in by_subject["check failed (nightly)"]


def test_nothing_is_sent_of_what_an_agent_said_or_did(context: MonitoringContext, mail: MailServer, receiver: WebhookReceiver):
    drifted = DRIFTED.with_changes(path_graded=4, path_differing=4, path_drift_at=3, path_null_rate=0.0037)
    night(context, 0, [drifted, DEAD], state="checked_flagged", detail=SPOKEN)
    night(context, 1, [DEAD], state="check_failed", reason="dead_sensor", detail=SPOKEN)
    assert deliver_alerts(context).sent == 4
    said = [one.text + str(one.message) for one in mail.mails] + [json.dumps(post.document) for post in receiver.posts]
    assert len(said) == 4
    assert not any("4111" in text or "card" in text for text in said)
    assert "- cancel: not watched, what it stands on no longer passes\n" in mail.mails[1].text


def test_an_unchanged_standing_and_a_change_without_anybody_to_tell_send_nothing(
    quiet_context: tuple[MonitoringContext, Recorder],
):
    context, recorder = quiet_context
    unheard = flagged(context, 0, to=())
    flagged(context, 1)
    assert deliver_alerts(context) == DeliveredAlerts()
    assert recorder.sent == []
    assert alert_of(context, unheard).state == "nobody_to_tell"


def test_what_is_not_taken_is_tried_again_after_one_five_and_twenty_five_minutes_and_then_has_failed(
    quiet_context: tuple[MonitoringContext, Recorder], clock: ManualClock
):
    context, recorder = quiet_context
    recorder.outcomes = refusals(9)
    told = flagged(context)
    for _ in range(2 * 60 * 4):  # two hours, looked at every fifteen seconds
        deliver_alerts(context)
        clock.advance(15)
    minutes = [(at - FIRST).total_seconds() / 60 for at, _, _ in recorder.sent]
    assert minutes == [0, 1, 6, 31]
    delivery = delivery_of(context, told)
    assert (delivery.state, delivery.attempts, delivery.outcome, delivery.next_attempt_at) == ("failed", 4, "refused 4", None)
    after = context.store.night(told.key)
    assert after is not None
    assert after.with_changes(alert=None) == told.with_changes(alert=None)
    assert len({message_id for _, message_id, _ in recorder.sent}) == 1


def test_a_retry_that_is_taken_is_the_last(quiet_context: tuple[MonitoringContext, Recorder], clock: ManualClock):
    context, recorder = quiet_context
    recorder.outcomes = refusals(1)
    told = flagged(context)
    assert deliver_alerts(context) == DeliveredAlerts(to_try_again=1)
    assert delivery_of(context, told).outcome == "refused 1"
    assert alert_of(context, told).state == "pending"
    clock.advance(MINUTE)
    assert deliver_alerts(context) == DeliveredAlerts(sent=1)
    clock.advance(60 * MINUTE)
    assert deliver_alerts(context) == DeliveredAlerts()
    assert (delivery_of(context, told).attempts, delivery_of(context, told).outcome) == (2, "taken")


def test_one_address_that_refuses_holds_no_other_back(context: MonitoringContext, mail: MailServer, receiver: WebhookReceiver):
    mail.refused["ana@example.com"] = "550 5.1.1 no such user"
    told = flagged(context, to=("ana@example.com", "ben@example.com"))
    assert deliver_alerts(context) == DeliveredAlerts(sent=2, to_try_again=1)
    assert [one.state for one in alert_of(context, told).deliveries] == ["pending", "sent", "sent"]
    assert alert_of(context, told).deliveries[0].outcome == "the mail server said 550 5.1.1 no such user"
    assert (len(mail.to("ben@example.com")), len(receiver.posts)) == (1, 1)


def test_who_dies_while_sending_leaves_a_delivery_that_is_tried_again(
    quiet_context: tuple[MonitoringContext, Recorder], clock: ManualClock
):
    context, recorder = quiet_context
    recorder.outcomes = [KeyboardInterrupt()]
    told = flagged(context)
    with pytest.raises(KeyboardInterrupt):
        deliver_alerts(context)
    assert deliver_alerts(context) == DeliveredAlerts()  # it may have arrived: not at once
    clock.advance(MINUTE)
    assert deliver_alerts(context) == DeliveredAlerts(sent=1)
    assert (len(recorder.sent), delivery_of(context, told).attempts) == (2, 2)


def test_a_last_attempt_that_died_is_no_fifth_one_and_has_failed(quiet_context: tuple[MonitoringContext, Recorder], clock: ManualClock):
    context, recorder = quiet_context
    recorder.outcomes = [*refusals(3), KeyboardInterrupt()]
    told = flagged(context)
    for wait_minutes in (1, 5, 25):
        assert deliver_alerts(context).to_try_again == 1
        clock.advance(wait_minutes * MINUTE)
    with pytest.raises(KeyboardInterrupt):
        deliver_alerts(context)
    clock.advance(60 * MINUTE)
    assert deliver_alerts(context) == DeliveredAlerts(failed=1)
    assert len(recorder.sent) == 4
    assert (delivery_of(context, told).state, delivery_of(context, told).outcome) == ("failed", INTERRUPTED)


def test_many_that_deliver_at_once_tell_everybody_once(tmp_path: Path, clock: ManualClock, mail: MailServer, receiver: WebhookReceiver):
    people = tuple(f"p{number}@example.com" for number in range(10))
    environ = {**mail.environ(), **receiver.environ()}
    with ExitStack() as stack:
        contexts = [stack.enter_context(opened_project(tmp_path / "project", clock, environ)).monitoring_context() for _ in range(4)]
        told = flagged(contexts[0], to=people)
        start = Barrier(4)

        def look(context: MonitoringContext) -> DeliveredAlerts:
            start.wait(timeout=30)
            return deliver_alerts(context)

        with ThreadPoolExecutor(4) as pool:
            looks = list(pool.map(look, contexts))
        assert alert_of(contexts[0], told).state == "sent"
    assert sum(look.sent for look in looks) == 11
    assert sorted(one.recipients[0] for one in mail.mails) == sorted(people)
    assert len(receiver.posts) == 1


def test_one_look_begins_nothing_after_its_time_and_the_next_goes_on_with_what_waits_longest(
    quiet_context: tuple[MonitoringContext, Recorder],
):
    context, recorder = quiet_context
    recorder.takes_seconds = 12
    flagged(context, to=("a@x.example", "b@x.example", "c@x.example", "d@x.example", "e@x.example"))
    assert deliver_alerts(context) == DeliveredAlerts(sent=3, left=2)
    assert deliver_alerts(context) == DeliveredAlerts(sent=2)
    assert [address[0] for _, _, address in recorder.sent] == list("abcde")


def test_a_webhook_that_was_moved_meanwhile_gets_the_alert_and_is_the_one_that_is_named(
    quiet_context: tuple[MonitoringContext, Recorder], clock: ManualClock
):
    context, recorder = quiet_context
    recorder.webhook, recorder.outcomes = "https://old.example", refusals(1)
    told = flagged(context, to=())
    deliver_alerts(context)
    recorder.webhook = "https://new.example"
    clock.advance(MINUTE)
    assert deliver_alerts(context) == DeliveredAlerts(sent=1)
    assert [address for _, _, address in recorder.sent] == ["https://old.example", "https://new.example"]
    assert delivery_of(context, told).address == "https://new.example"


def test_without_a_mail_server_the_delivery_fails_in_sight(tmp_path: Path, clock: ManualClock):
    with opened_project(tmp_path / "project", clock, {}) as opened:
        context = opened.monitoring_context()
        told = flagged(context)
        for wait_minutes in (1, 5, 25, 60):
            deliver_alerts(context)
            clock.advance(wait_minutes * MINUTE)
        assert (delivery_of(context, told).state, delivery_of(context, told).outcome) == ("failed", "the deployment has no mail server")
