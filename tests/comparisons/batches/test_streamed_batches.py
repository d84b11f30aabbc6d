"""Batches are compared as they are read: from a database, one scenario at a time."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from evalplatform.adapters.batches.open import open_batch_store
from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.comparisons.batches.records import ScenarioChange
from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.ports.audit import AuditEntry
from evalplatform.runs.records import Run
from tests.support.batch_runs import run, runs, side


def test_batches_read_from_a_database_compare_as_they_do_in_memory(tmp_path: Path) -> None:
    """Ids in an order that is no alphabet's, also across pages: a store that sorted otherwise would be refused."""
    names = ["B", "a", "a-1", "é", "\U0001f600", *(f"s{place:04}" for place in range(400))]
    before = side({name: runs(3) for name in names}, commit="one")
    after = side(
        {name: [run("passed", violations={"no SSN": 2}), run("failed"), run("passed")] for name in names[1:]}, hours=1, commit="two"
    )
    store = open_batch_store(f"sqlite:///{tmp_path / 'batches.db'}", project="shop", tenant="default")
    stored = []
    for batch in (before, after):
        entry = AuditEntry(actor="ci", action="batch.push", subject=batch.batch.id, happened_at=batch.batch.header.recorded_at)
        store.add(batch.batch, batch.runs(), entry=entry)
        stored.append(BatchRuns(store.batch(batch.batch.id), partial(store.runs, batch.batch.id)))
    assert compare_batches(*stored) == compare_batches(before, after)
    store.close()


def test_a_scenarios_row_is_given_out_before_the_one_after_the_next_is_read() -> None:
    """So a comparison holds the runs of a scenario or two, however many there are."""
    batch = side({f"s{place:03}": runs(4) for place in range(100)})
    read: list[str] = []
    ahead: list[int] = []

    def reading() -> Iterator[Run]:
        for made in batch.runs():
            read.append(made.scenario_id)
            yield made

    def seen(row: ScenarioChange) -> None:
        ahead.append(len(set(read)) - len(ahead))

    compare_batches(batch, BatchRuns(batch.batch, reading), on_row=seen)
    assert len(ahead) == 100
    assert max(ahead) <= 2
