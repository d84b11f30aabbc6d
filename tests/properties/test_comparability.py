"""A comparison of runs that differ in a factor which it does not declare is never computed; declared ones alone never stop it."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalplatform.comparisons.batch_pool import PairedArms, pool
from evalplatform.comparisons.comparability import DECLARED, FACTORS, Factor, differing_factors, refusals_among
from evalplatform.comparisons.compared_run import ComparedRun, RunIdentity
from evalplatform.comparisons.model_comparison import compare_models
from evalplatform.comparisons.model_comparison_records import ModelComparison
from evalplatform.comparisons.plugin_delta import plugin_delta
from evalplatform.comparisons.plugin_delta_records import PluginDelta
from evalplatform.comparisons.refusals import ComparisonKind, Refused
from evalplatform.reports.refusal_words import refusal_sentence
from tests.support.plugin_cells import ARMS, changed, control_run, plugin_run

SCORED_ARM = "docs"
TEXT = st.text(min_size=1, max_size=12)
IDS = st.lists(TEXT, min_size=1, max_size=6, unique=True).map(tuple)
SETTINGS = st.dictionaries(TEXT, st.none() | st.integers() | TEXT, max_size=3)
OTHER_VALUES: Mapping[str, st.SearchStrategy[object]] = {
    "library_name": TEXT,
    "model": TEXT,
    "provider": TEXT,
    "base_url": TEXT,
    "harness": TEXT,
    "plugin_set_id": TEXT,
    "arms": st.permutations(ARMS).map(tuple) | st.sets(st.sampled_from(ARMS), min_size=1).map(sorted).map(tuple),
    "baseline_arm": st.sampled_from([arm for arm in ARMS if arm != SCORED_ARM]),
    "arm_content_digests": st.dictionaries(st.sampled_from(["baseline", SCORED_ARM]), TEXT, min_size=1),
    "total_questions": st.integers(0, 100),
    "question_ids": IDS,
    "question_texts": TEXT.map(lambda text: {"q001": text}),
    "answering_digest": TEXT,
    "run_config": SETTINGS,
    "retrieval": SETTINGS,
    "answer_prompt_digest": TEXT,
    "draws": st.integers(1, 9),
    "evaluation_ids": IDS,
    "judge_model": TEXT,
    "judge_provider": TEXT,
    "judge_temperature": st.none() | st.floats(0, 2),
    "judge_prompt_digest": TEXT,
    "judge_context": st.none() | TEXT,
    "judge_digest": TEXT,
    "grounded_from_topics": st.booleans(),
    "references": TEXT.map(lambda text: {"q001": text}),
    "cluster_field": TEXT,
}
"""Other values of each field. Of the plugin set the id alone: the label is how it is spelt."""

UNDECLARED = [(kind, factor) for kind, declared in DECLARED.items() for factor in FACTORS if factor.name not in declared]
COMPUTED: Mapping[ComparisonKind, Callable[[list[ComparedRun]], bool]] = {
    "plugin_delta": lambda runs: not isinstance(plugin_delta(runs[0], runs[1]), Refused),
    "model_comparison": lambda runs: not isinstance(compare_models(runs, treatment_arm=SCORED_ARM), Refused),
    "pooled_replicates": lambda runs: _is_pooled(runs),
    "batch_pool": lambda runs: not isinstance(pool([PairedArms(run, SCORED_ARM, stated_delta_points=None) for run in runs]), Refused),
    "cross_judge": lambda runs: not refusals_among("cross_judge", runs),  # what its stage asks of the files of one set of answers
}
"""Whether each comparison gives numbers over the runs."""


def _is_pooled(runs: list[ComparedRun]) -> bool:
    found = compare_models(runs, treatment_arm=SCORED_ARM, pool_replicates=True)
    return isinstance(found, ModelComparison) and bool(found.pooled)


CONTROL, PLUGIN = control_run(), plugin_run()
AGAIN = replace(CONTROL, name="plain-again")


def pair(kind: ComparisonKind) -> list[ComparedRun]:
    """Return two runs that differ in what the comparison is about."""
    of_another_model = changed(AGAIN, model="large")
    other = {"plugin_delta": PLUGIN, "model_comparison": of_another_model, "batch_pool": of_another_model}.get(kind, AGAIN)
    return [changed(run, cluster_field="page") for run in (CONTROL, other)]


@st.composite
def other_identity(draw: st.DrawFn, factor: Factor, of: RunIdentity) -> dict[str, object]:
    """Return changes of one factor's fields after which the run says another thing of that factor."""
    if factor.name == "is_judged":
        return {"evaluation_ids": None}
    field = next(field for field in factor.fields if field in OTHER_VALUES)
    value = draw(OTHER_VALUES[field].filter(lambda value: _is_other(field, value, getattr(of, field, None))))
    return {field: value}


def _is_other(field: str, value: object, stated: object) -> bool:
    if field in ("run_config", "retrieval"):  # what is null is not set
        settings = [{name: setting for name, setting in found.items() if setting is not None} for found in (value, stated)]  # type: ignore[attr-defined]
        return settings[0] != settings[1]
    if field == "arm_content_digests":  # an arm that one run says nothing of is not compared
        return any(digest != stated.get(arm) for arm, digest in value.items())  # type: ignore[attr-defined]
    return value != stated


@pytest.mark.parametrize(("kind", "factor"), UNDECLARED, ids=lambda value: getattr(value, "name", value))
@settings(max_examples=12)  # of each factor in each comparison
@given(data=st.data(), is_first=st.booleans())
def test_one_undeclared_factor_refuses_the_comparison_by_its_name(
    data: st.DataObject, is_first: bool, kind: ComparisonKind, factor: Factor
) -> None:
    runs = pair(kind)
    assert refusals_among(kind, runs) == []
    assert COMPUTED[kind](runs)
    place = 0 if is_first else 1
    runs[place] = changed(runs[place], **data.draw(other_identity(factor, runs[place].identity)))
    found = differing_factors(kind, runs)
    assert factor.name in [refusal.factor for refusal in found]
    sentence = next(refusal_sentence(refusal) for refusal in found if refusal.factor == factor.name)
    assert all(run.name in sentence for run in runs), sentence
    assert not COMPUTED[kind](runs)


@pytest.mark.parametrize("kind", DECLARED)
@settings(max_examples=40)
@given(data=st.data())
def test_a_third_run_that_differs_is_found_wherever_it_stands(data: st.DataObject, kind: ComparisonKind) -> None:
    runs = [*pair(kind), replace(pair(kind)[0], name="third")]
    factor = data.draw(st.sampled_from([factor for factor in FACTORS if factor.name not in DECLARED[kind]]))
    place = data.draw(st.integers(0, 2))
    runs[place] = changed(runs[place], **data.draw(other_identity(factor, runs[place].identity)))
    assert factor.name in [refusal.factor for refusal in differing_factors(kind, runs)]


@pytest.mark.parametrize("kind", DECLARED)
@settings(max_examples=40)
@given(data=st.data())
def test_declared_factors_alone_never_stop_a_comparison(data: st.DataObject, kind: ComparisonKind) -> None:
    runs = pair(kind)
    declared = [factor for factor in FACTORS if factor.name in DECLARED[kind]]
    for factor in data.draw(st.lists(st.sampled_from(declared), unique=True)):
        runs[1] = changed(runs[1], **data.draw(other_identity(factor, runs[1].identity)))
    assert refusals_among(kind, runs) == []


@given(OTHER_VALUES["plugin_set_id"], TEXT)
def test_a_plugin_delta_is_computed_for_every_pair_of_different_plugin_sets(plugin_set_id: str, label: str) -> None:
    control, plugin = pair("plugin_delta")
    other = changed(plugin, plugin_set_id=plugin_set_id, plugin_set=label)
    is_same = plugin_set_id == control.identity.plugin_set_id or label == control.identity.plugin_set
    assert isinstance(plugin_delta(control, other), Refused if is_same else PluginDelta)


@pytest.mark.parametrize("kind", DECLARED)
@pytest.mark.parametrize("factor", [factor for factor in FACTORS if factor.where_unknown == "passes"], ids=lambda factor: factor.name)
def test_a_factor_of_later_files_does_not_refuse_files_from_before_it(kind: ComparisonKind, factor: Factor) -> None:
    runs = pair(kind)
    runs[0] = changed(runs[0], **dict.fromkeys(factor.fields))
    assert differing_factors(kind, runs) == []


@pytest.mark.parametrize("field", ["library_name", "model", "provider", "harness", "run_config", "judge_context"])
def test_a_factor_of_every_file_is_another_value_where_a_run_does_not_say_it(field: str) -> None:
    control, plugin = pair("plugin_delta")
    found = differing_factors("plugin_delta", [changed(control, **{field: None}), plugin])
    assert [refusal.factor for refusal in found] == [field]
