"""A process that is killed while it sends an alert: the alert is told all the same, and the attempt is counted."""

import signal
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import pytest

from evalplatform.adapters.clock import ManualClock
from evalplatform.project.load import PROJECT_FILE_NAME, load_project
from evalplatform.runs.night import Alert, Night, Slot, WatchedScenario
from evalplatform.stages.deliver_alerts import DeliveredAlerts, deliver_alerts
from evalplatform.stages.night_end import finish_night
from evalplatform.wiring import OpenedProject
from tests.support.mail_server import running_mail_server
from tests.support.raw_server import raw_server, silence

pytestmark = pytest.mark.system

DELIVER = """
import os, sys
from pathlib import Path
from evalplatform.project.load import load_project
from evalplatform.stages.deliver_alerts import deliver_alerts
from evalplatform.wiring import OpenedProject

with OpenedProject(load_project(Path(sys.argv[1]), environ=dict(os.environ))) as opened:
    deliver_alerts(opened.monitoring_context())
"""
SCENARIO = WatchedScenario(scenario_id="refund", graded=4, failed=4, drift_at=3, null_rate=0.0037)


def opened(file: Path, environ: Mapping[str, str], *, ahead: timedelta = timedelta()) -> OpenedProject:
    return OpenedProject(load_project(file, environ=environ), clock=ManualClock(datetime.now(UTC) + ahead))


def alert_after(project: OpenedProject, night: Night) -> Alert:
    there = project.monitoring_store.night(night.key)
    assert there is not None
    assert there.alert is not None
    return there.alert


def test_an_alert_whose_sender_is_killed_is_told_at_the_next_attempt(tmp_path: Path):
    file = tmp_path / PROJECT_FILE_NAME
    file.write_text("version: 1\nproject: shop\n")
    now = datetime.now(UTC)
    with opened(file, {}) as project:
        pending = Night(source="monitor", stream="nightly", slot=Slot(at=now, local_date=now.date()), scenarios=(SCENARIO,))
        begun = project.monitoring_store.begin(pending).night
        night = finish_night(project.monitoring_context(), begun.with_changes(state="checked_flagged"), recipients=["ana@example.com"])
    asked = Event()
    with raw_server(lambda connection: (asked.set(), silence(connection))[1]) as stuck:
        environ = {"EVALPLATFORM_SMTP_URL": f"smtp://127.0.0.1:{stuck.port}", "EVALPLATFORM_MAIL_FROM": "e@example.com"}
        child = subprocess.Popen([sys.executable, "-c", DELIVER, file], env=environ, cwd=Path(__file__).parents[2])
        assert asked.wait(timeout=60)
        child.send_signal(signal.SIGKILL)
        assert child.wait(timeout=60) == -signal.SIGKILL
    with running_mail_server() as server:
        with opened(file, server.environ()) as project:
            (delivery,) = alert_after(project, night).deliveries
            assert (delivery.state, delivery.attempts) == ("pending", 1)
            assert deliver_alerts(project.monitoring_context()) == DeliveredAlerts()
        with opened(file, server.environ(), ahead=timedelta(minutes=2)) as project:
            assert deliver_alerts(project.monitoring_context()) == DeliveredAlerts(sent=1)
            assert (alert_after(project, night).state, alert_after(project, night).attempts) == ("sent", 2)
    assert len(server.mails) == 1
