"""Any batch comes back from the store as it went in: every text, number and order, whatever order its runs were written in."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.adapters.batches.open import open_batch_store
from evalplatform.adapters.batches.sql import SqlBatchStore
from evalplatform.kernel.usage import Usage
from evalplatform.ports.audit import AuditEntry
from evalplatform.runs.bundle import BundleSummary
from evalplatform.runs.records import AssertionResult, BatchHeader, ModelVerdict, PlannedScenario, Run, Violation

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ENTRY = AuditEntry(actor="ana", action="batches.push", subject="a-batch", happened_at=NOW)

names = st.text(st.characters(exclude_categories=("Cs",), min_codepoint=0x20), min_size=1, max_size=8)
plain_texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=8)
any_words = st.none() | st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
amounts = st.none() | st.floats(min_value=0, max_value=1e9)
points = st.none() | st.floats(min_value=0, max_value=100)
tokens = st.none() | st.integers(0, 2**40)
moments = st.datetimes(
    min_value=datetime(1990, 1, 1),  # noqa: DTZ001 - hypothesis adds the time zone
    max_value=datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45)), timezone(timedelta(hours=-11))]),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | plain_texts,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(plain_texts, below, max_size=2),
    max_leaves=4,
)
legs = st.sampled_from(["live", "replay"])


def runs_of(scenario_id: str, order: int) -> st.SearchStrategy[Run]:
    return st.builds(
        Run,
        scenario_id=st.just(scenario_id),
        order=st.just(order),
        created_at=moments,
        leg=legs,
        outcome=st.sampled_from(["passed", "failed", "agent_error", "budget_stop", "harness_error", "ungraded"]),
        reason=any_words,
        score_points=points,
        assertions=st.lists(
            st.builds(AssertionResult, assertion=plain_texts, state=st.sampled_from(["passed", "failed", "unchecked"]), detail=any_words),
            max_size=2,
        ).map(tuple),
        model_verdict=st.none()
        | st.builds(ModelVerdict, judge=plain_texts, verdict=st.sampled_from([None, "passed"]), score_points=points, reason=any_words),
        violations=st.none() | st.lists(st.builds(Violation, policy=plain_texts, step=st.integers(1, 9)), max_size=3).map(tuple),
        trajectory_digest=st.none() | plain_texts,
        tools=st.lists(plain_texts, max_size=3).map(tuple),
        step_count=st.integers(0, 10_000),
        usage=st.builds(Usage, prompt_tokens=tokens, completion_tokens=tokens, cache_read_tokens=tokens, reasoning_tokens=tokens),
        cost_usd=amounts,
        seconds=amounts,
    )


@st.composite
def summaries(draw: st.DrawFn) -> BundleSummary:
    """Any finished batch of the project `probe` of the tenant `t-a`."""
    places = draw(st.lists(st.tuples(names, st.integers(0, 49)), min_size=1, max_size=5, unique=True))
    planned = st.builds(
        PlannedScenario,
        tier=st.sampled_from(["critical", "standard"]),
        tolerance=st.sampled_from([None, "exact", "any_order", "tool_set"]),
        planned_runs=st.integers(1, 50),
        leg=legs,
    )
    header = draw(
        st.builds(
            BatchHeader,
            tenant=st.just("t-a"),
            project=st.just("probe"),
            commit=st.none() | names,
            branch=st.none() | names,
            ci_event=st.sampled_from([None, "push", "pull_request"]),
            agent=names,
            model=st.none() | names,
            judge=names,
            origin=st.sampled_from(["run", "import"]),
            recorded_at=moments,
            scenario_set_digest=st.none() | plain_texts,
            set_scenarios=st.none() | st.integers(0, 2**31 - 1),
            policy=st.none() | st.dictionaries(plain_texts, json_values, max_size=2),
            scenarios=st.dictionaries(names, planned, max_size=3),
        )
    )
    runs = tuple(draw(runs_of(scenario_id, order)) for scenario_id, order in sorted(places))
    return BundleSummary(header, runs, True, draw(any_words))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlBatchStore]:
    opened = open_batch_store(f"sqlite:///{tmp_path_factory.mktemp('batches')}/batches.db", project="probe", tenant="t-a")
    yield opened
    opened.close()


@given(summary=summaries(), random=st.randoms(use_true_random=False))
def test_a_batch_comes_back_as_it_went_in(store: SqlBatchStore, summary: BundleSummary, random: Random) -> None:
    written = list(summary.runs)
    random.shuffle(written)
    added = store.add(summary.batch, written, entry=ENTRY).batch
    assert store.batch(added.id) == added
    assert (added.content_digest, added.header.with_changes(recorded_at=NOW)) == (
        summary.batch.content_digest,
        summary.header.with_changes(recorded_at=NOW),
    )
    assert tuple(store.runs(added.id)) == summary.runs
    assert [run.id for run in store.runs(added.id)] == [run.id for run in summary.runs]
