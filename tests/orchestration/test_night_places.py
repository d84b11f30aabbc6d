"""Places in the run queue: nights leave some to everything else, whatever settings file of ours the instance has."""

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.utils import make_new_run_id
from dagster._utils.tags import TagConcurrencyLimitsCounter  # what the daemon counts places by
from ruamel.yaml import YAML

from assets.monitoring_partitions import NIGHTS, SENTINEL_DAYS
from assets.night_runs import night_request

INFRA = Path(__file__).parents[2] / "infra"
SETTINGS = ("dagster.yaml", "production/dagster.yaml", "celery/dagster.yaml", "kubernetes/dagster.yaml")


def night(number: int) -> dg.DagsterRun:
    """A run as a sensor or the schedule asks for it."""
    partitions, key = (SENTINEL_DAYS, f"2026-12-0{number}") if number % 2 else (NIGHTS, f"s{number}.20261201t023000z-2026-12-01")
    return dg.DagsterRun(job_name="a_night", run_id=make_new_run_id(), tags=dict(night_request(partitions, key, attempt=1).tags or {}))


@pytest.mark.parametrize("file", SETTINGS)
def test_a_queue_of_nights_leaves_a_place_to_a_backfill(file: str) -> None:
    runs = YAML(typ="safe", pure=True).load((INFRA / file).read_text(encoding="utf-8"))["concurrency"]["runs"]
    limits, places = runs["tag_concurrency_limits"], runs["max_concurrent_runs"]
    going: list[dg.DagsterRun] = []
    for number in range(1, 9):
        if not TagConcurrencyLimitsCounter(limits, going).is_blocked(night(number)):
            going.append(night(number))
    assert 1 <= len(going) < places
    of_backfill = dg.DagsterRun(job_name="kettle__evaluate_cell", run_id=make_new_run_id(), tags={"dagster/backfill": "b"})
    assert not TagConcurrencyLimitsCounter(limits, going).is_blocked(of_backfill)
