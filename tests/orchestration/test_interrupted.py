"""Ctrl-C during what runs through Dagster in the command's own process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import wait_until
from tests.support.model_stub import running_stub
from tests.support.starter_project import StarterProject

OWN = {"EVALPLATFORM_PROJECT": "", "DAGSTER_HOME": ""}


def _command(starter: StarterProject, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", "from evalplatform.cli.main import run; run()", *words]
    environment = os.environ | OWN
    return subprocess.Popen(command, cwd=starter.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)


@pytest.mark.parametrize("words", [("backfill",), ("demo", ".")], ids=["backfill", "demo"])
def test_ctrl_c_ends_it_with_130_and_the_same_command_goes_on(tmp_path: Path, words: tuple[str, ...]) -> None:
    with running_stub(latency_seconds=0.2) as stub:
        starter = StarterProject.written_to(tmp_path / "project")
        there = {"provider": "openai-compatible", "base_url": stub.url, "limits": {"max_concurrent": 1}}
        starter.edit(
            {
                "endpoints.there": there,
                "cells": {cell: {"model": f"stub;do=reply;text={cell}", "endpoint": "there"} for cell in ("one", "two")},
                "suites.kettle.cells": ["one", "two"],
            }
        )
        process = _command(starter, *words)
        wait_until(lambda: stub.requests >= 4 or process.poll() is not None, "some calls")
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        assert process.returncode == 130, told
        assert told.rstrip().endswith("interrupted: what is finished is kept; the same command goes on from there.")
        for unwanted in ("Traceback", "Interrupted", "error:"):
            assert unwanted not in told
        assert stub.requests < 20, "it went on with the next cell"

        stub.latency_seconds = 0.0
        again = _command(starter, *words)
        _, told = again.communicate(timeout=120)
        assert again.returncode == 0, told
        assert sum(seen.count > 1 for seen in stub.seen.values()) <= 1  # only what was in flight
