"""The headline comparison: the gate's answer, never clean where nothing could be computed."""

from evalplatform.reports.headline_words import Divergence, baseline_words, headline_sentence
from tests.support.compared_batches import Told, batch_of, compared


def test_the_headline_leads_with_the_gates_answer_and_the_counts() -> None:
    baseline = batch_of({"refund-over-threshold": Told("P"), "b": Told("P"), "c": Told("P")})
    candidate = batch_of({"refund-over-threshold": Told("F"), "b": Told("P", tools=("x",)), "c": Told("P")}, hours=1)
    said = headline_sentence(compared(baseline, candidate), divergence=Divergence(scenario_id="refund-over-threshold", step=3))
    assert said == (
        "The gate would fail (regressed): 1 flipped to failing · 1 path drift · 3 scenarios. "
        "First divergence at step 3 in refund-over-threshold."
    )


def test_a_clean_headline_states_its_counts() -> None:
    same = {name: Told("P") for name in "abc"}
    said = headline_sentence(compared(batch_of(same), batch_of(same, hours=1)))
    assert said == "The gate would pass (clean): 0 flipped · 0 path drift · 3 scenarios."


def test_the_headline_leaves_nothing_uncounted() -> None:
    baseline = batch_of({"a": Told("P"), "b": Told("F"), "c": Told("F", points=80), "gone": Told("P"), "h": Told("H")})
    candidate = batch_of({"a": Told("H"), "b": Told("P"), "c": Told("F", points=20), "new": Told("P"), "h": Told("P")}, hours=1)
    assert headline_sentence(compared(baseline, candidate)) == (
        "The gate would fail (regressed): "
        "1 flipped to passing · 1 could not run · 1 degraded · 0 path drift · 1 dropped · 1 added · 1 not compared · 3 scenarios."
    )


def test_flips_are_counted_by_direction() -> None:
    worse, better = {"a": Told("P"), "b": Told("P"), "c": Told("F")}, {"a": Told("F"), "b": Told("F"), "c": Told("P")}
    assert "(regressed): 2 flipped to failing · 1 to passing · 0 path drift" in headline_sentence(
        compared(batch_of(worse), batch_of(better, hours=1))
    )
    assert "(improved): 1 flipped to passing · 0 path drift" in headline_sentence(
        compared(batch_of({"a": Told("F")}), batch_of({"a": Told("P")}, hours=1))
    )


def test_a_comparison_in_part_has_counts_and_no_answer() -> None:
    baseline = batch_of({"a": Told("F"), "b": Told("P"), "c": Told("P")})
    candidate = batch_of({"a": Told("P"), "b": Told("U"), "c": Told("U")}, hours=1)
    assert headline_sentence(compared(baseline, candidate)) == (
        "The gate has no answer: 2 scenarios could not be compared; the 1 that could is not newly failing, "
        "which is not the same as clean. Counted: 1 flipped to passing · 0 path drift · 2 not compared · 1 scenario."
    )


def test_a_headline_that_could_not_be_computed_says_why_and_shows_no_counts() -> None:
    batch = batch_of({"a": Told("P")})
    expired = compared(batch, batch_of({"a": Told("P")}, hours=1), baseline_retention="expired")
    assert headline_sentence(expired) == (
        f"The comparison could not be computed: the baseline {batch.batch.id} has expired, and its runs are no longer kept."
    )
    assert "no compared run has a verdict on both sides" in headline_sentence(
        compared(batch_of({"a": Told("H")}), batch_of({"a": Told("P")}, hours=1))
    )


def test_the_baseline_is_named_with_why_it_was_chosen() -> None:
    before, after = batch_of({"a": Told("P")}).batch, batch_of({"a": Told("P")}, hours=1, truncated_reason="the spend cap").batch
    assert (
        baseline_words(before, after, "previous_batch")
        == f"Candidate {after.id} (truncated) against baseline {before.id} (the previous batch)"
    )
    compacted = before.with_changes(retention="compacted")
    assert baseline_words(compacted, after, "last_gate") == (
        f"Candidate {after.id} (truncated) against baseline {before.id} (compacted) (the batch that its last gate compared it with)"
    )
