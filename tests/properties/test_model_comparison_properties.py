"""What changes no number of a comparison of models, and what is never compared."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.comparisons.comparability import DECLARED, FACTORS
from evalplatform.comparisons.compared_run import ComparedRun, RunIdentity
from evalplatform.comparisons.model_comparison import compare_models
from evalplatform.comparisons.model_comparison_records import ModelComparison
from evalplatform.comparisons.refusals import Refused
from evalplatform.comparisons.replicates import is_one_configuration, replicate_groups
from tests.support.model_runs import model_run
from tests.support.plugin_cells import changed

POINTS = st.none() | st.integers(min_value=0, max_value=1000).map(lambda tenths: tenths / 10)
LEVELS = st.sampled_from(["easy", "hard", 2, "own", None])
OTHER: dict[str, Any] = {
    "arms": ("baseline", "other"),
    "arm_content_digests": {"baseline": "sha256:other", "docs": "sha256:other"},
    "question_ids": ("q1", "q0"),
    "evaluation_ids": None,
    "run_config": {"temperature": 1.5},
    "retrieval": {"top_k": 9},
    "judge_temperature": 0.75,
    "draws": 4,
    "total_questions": 99,
    "grounded_from_topics": True,
    "question_texts": {"q0": "Another?"},
    "references": {"q0": "Another."},
    "profile_prompts": frozenset({("sha256:edited",)}),
    "material_digests": {"q0": "sha256:edited"},
}
STATED: dict[str, Any] = {
    "arm_content_digests": {"baseline": "sha256:b", "docs": "sha256:d"},
    "retrieval": {"top_k": 5},
    "answer_prompt_digest": "sha256:p",
    "grounded_from_topics": False,
    "base_url": "http://one",
    "answering_digest": "sha256:a",
    "judge_digest": "sha256:j",
    "references": {"q0": "A reference."},
    "cluster_field": "page",
}


@st.composite
def runs_of_models(draw: st.DrawFn) -> list[ComparedRun]:
    """Two to four runs over some of ten questions, each with q0 so that one is common."""
    made = []
    for place in range(draw(st.integers(min_value=2, max_value=4))):
        ids = [0, *sorted(draw(st.sets(st.integers(min_value=1, max_value=9))))]
        points = {arm: [draw(POINTS) for _ in ids] for arm in ("baseline", "docs")}
        levels = [draw(LEVELS) for _ in ids]
        made.append(model_run(f"r{place}", points, ids=ids, difficulty=levels))
    return made


def numbers_by_run(found: ModelComparison, names: dict[str, str]) -> dict[str, Any]:
    """Return all numbers of each run, under the names that `names` gives."""
    dumped = {names[row.run]: row.model_dump(exclude={"run", "model"}) for row in found.runs}
    for wins in found.head_to_head.runs:
        dumped[names[wins.run]]["wins"] = (wins.wins, wins.uncontested)
    for ranking in (found.quality_ranking, found.delta_ranking):
        for place in ranking:
            dumped[names[place.run]].setdefault("ranks", []).append((place.rank, place.points))
    for level in found.difficulty:
        for side in level.sides:
            dumped[names[side.run]][level.difficulty] = (level.questions, side.model_dump(exclude={"run"}))
    return dumped


def compared(runs: Sequence[ComparedRun]) -> ModelComparison:
    found = compare_models(runs, treatment_arm="docs")
    assert isinstance(found, ModelComparison), found
    return found


def reordered(run: ComparedRun, random: Random) -> ComparedRun:
    ids = list(run.identity.question_ids)
    random.shuffle(ids)
    arms = {name: replace(arm, points={question: arm.points[question] for question in ids if question in arm.points})
            for name, arm in run.arms.items()}  # fmt: skip
    identity = run.identity.model_copy(update={"question_ids": tuple(ids), "evaluation_ids": tuple(ids)})
    return replace(run, identity=identity, arms=arms)


@given(runs=runs_of_models(), random=st.randoms(use_true_random=False))
def test_neither_names_nor_the_order_of_questions_change_a_number(runs: list[ComparedRun], random: Random) -> None:
    changed = [replace(reordered(run, random), name=f"other-{run.name}") for run in runs]
    same, back = {run.name: run.name for run in runs}, {f"other-{run.name}": run.name for run in runs}
    assert numbers_by_run(compared(runs), same) == numbers_by_run(compared(changed), back)


@given(runs=runs_of_models(), random=st.randoms(use_true_random=False))
def test_another_order_of_runs_is_another_order_of_rows_and_nothing_else(runs: list[ComparedRun], random: Random) -> None:
    shuffled = list(runs)
    random.shuffle(shuffled)
    same = {run.name: run.name for run in runs}
    one, other = compared(runs), compared(shuffled)
    assert [row.run for row in other.runs] == [run.name for run in shuffled]
    assert numbers_by_run(one, same) == numbers_by_run(other, same)
    assert (one.common_questions, one.head_to_head.ties) == (other.common_questions, other.head_to_head.ties)


@given(runs=runs_of_models())
def test_every_question_is_won_tied_or_without_points(runs: list[ComparedRun]) -> None:
    found = compared(runs).head_to_head
    assert sum(one.wins for one in found.runs) + found.ties + found.unscored == found.questions
    assert all(one.uncontested <= one.wins for one in found.runs)


def other_value(field: str, value: object) -> object:
    return OTHER.get(field, f"other-{value}")


def changed_in(run: ComparedRun, fields: Sequence[str]) -> ComparedRun:
    changes = {field: other_value(field, getattr(run.identity, field, None)) for field in fields}
    of_identity = {field: changes.pop(field) for field in fields if field in RunIdentity.model_fields}
    return changed(replace(run, identity=run.identity.model_copy(update=of_identity)), **changes)


def test_runs_that_differ_in_any_factor_that_is_not_declared_are_never_compared() -> None:
    stated = [model_run(name) for name in ("a", "b")]
    one, other = (changed(run, **STATED) for run in stated)
    assert isinstance(compare_models([one, other]), ModelComparison), "they differ in the model alone"
    for factor in FACTORS:
        if factor.name in DECLARED["model_comparison"]:
            continue
        found = changed_in(other, factor.fields)
        if factor.name == "baseline_arm":
            found = replace(found, arms={**other.arms, "other-baseline": other.arms["baseline"]})
        assert isinstance(compare_models([one, found]), Refused), factor.name


def test_what_rivals_may_differ_in_and_replicates_may_not_is_part_of_a_configuration() -> None:
    run = model_run("a")
    stated = changed(run, **STATED)
    assert is_one_configuration(run, stated), "what is not stated tells no runs apart"
    for factor in FACTORS:
        if factor.name in DECLARED["model_comparison"] - DECLARED["pooled_replicates"]:
            assert not is_one_configuration(changed_in(stated, factor.fields), stated), factor.name


@given(runs=runs_of_models(), random=st.randoms(use_true_random=False))
def test_groups_of_replicates_hold_every_run_once_and_do_not_depend_on_their_order(runs: list[ComparedRun], random: Random) -> None:
    urls = [None, "http://one", "http://two"]
    placed = [
        replace(
            run, identity=run.identity.model_copy(update={"model": "m", "base_url": random.choice(urls), "seed": random.choice([None, 1])})
        )
        for run in runs
    ]
    shuffled = list(placed)
    random.shuffle(shuffled)
    one, other = ({frozenset(run.name for run in group) for group in replicate_groups(order)} for order in (placed, shuffled))
    assert one == other
    assert sorted(name for group in one for name in group) == sorted(run.name for run in runs)
