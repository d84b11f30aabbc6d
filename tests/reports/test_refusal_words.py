"""Every refusal is a sentence that names the runs, the factor, what each run says of it, and what to do where that is known."""

from typing import get_args

import pytest

from evalplatform.comparisons.comparability import MIXED_MATERIAL
from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.plugin_delta import plugin_delta
from evalplatform.comparisons.refusals import (
    ArmContentsDiffer,
    ArmsDiffer,
    FactorDiffers,
    FactorRefusal,
    JudgeNotStamped,
    MixedMaterial,
    NoCommonQuestion,
    OnlySomeJudged,
    QuestionsDiffer,
    Refusal,
    Refused,
    RunArms,
    RunSays,
    SamePluginLabel,
    SamePluginSet,
)
from evalplatform.reports.refusal_words import refusal_sentence
from tests.support.plugin_cells import ARMS, CAVEMAN_ID, NO_PLUGINS_ID, changed, control_run, plugin_run, unjudged, with_arm

CONTROL, PLUGIN = control_run(), plugin_run()
DIGEST = CONTROL.identity.answer_prompt_digest
OF_A_DELTA: dict[str, tuple[ComparedRun, ComparedRun, str]] = {
    "library": (
        CONTROL,
        changed(PLUGIN, library_name="Queues"),
        "The runs differ in library: plain says Object Storage; caveman says Queues.",
    ),
    "model": (CONTROL, changed(PLUGIN, model=None), "The runs differ in model: plain says small-8b-instruct; caveman says nothing of it."),
    "provider": (CONTROL, changed(PLUGIN, provider="openai"), "The runs differ in provider: plain says openai-chat; caveman says openai."),
    "endpoint": (
        CONTROL,
        changed(PLUGIN, base_url="https://api.example.com/v1"),
        "The runs differ in base URL of the endpoint: plain says http://127.0.0.1:8000/v1; caveman says https://api.example.com/v1.",
    ),
    "harness": (CONTROL, changed(PLUGIN, harness="agent"), "The runs differ in harness: plain says arms-runner; caveman says agent."),
    "arms": (
        CONTROL,
        changed(PLUGIN, arms=("baseline", "docs")),
        (
            "The runs differ in arms: beside what all have, plain has skill:bucket-lifecycle and docs+skill:bucket-lifecycle; "
            "caveman has none. Run the same arms in each."
        ),
    ),
    "order of arms": (
        changed(CONTROL, arms=("baseline", "docs")),
        changed(PLUGIN, arms=("docs", "baseline")),
        "The runs differ in the order of their arms: plain has baseline, docs; caveman has docs, baseline. Run them in one order.",
    ),
    "baseline arm": (
        CONTROL,
        changed(PLUGIN, baseline_arm="docs"),
        "The runs differ in baseline arm: plain says baseline; caveman says docs.",
    ),
    "content of an arm": (
        CONTROL,
        changed(PLUGIN, arm_content_digests={"docs": "sha256:edited"}),
        (
            "The runs differ in content of the arms: docs does not inject the same documents, skill or profile in plain and caveman. "
            "Run it on the same files."
        ),
    ),
    "content of arms": (
        CONTROL,
        changed(PLUGIN, arm_content_digests=dict.fromkeys(ARMS[:3], "sha256:edited")),
        (
            "The runs differ in content of the arms: baseline, docs and skill:bucket-lifecycle do not inject the same documents, skill or "
            "profile in plain and caveman. Run them on the same files."
        ),
    ),
    "number of questions": (
        CONTROL,
        changed(PLUGIN, total_questions=23),
        "The runs differ in number of questions: plain says 24; caveman says 23.",
    ),
    "questions": (
        CONTROL,
        changed(PLUGIN, question_ids=(*CONTROL.identity.question_ids[:4], "q100", *CONTROL.identity.question_ids[5:])),
        "The runs differ in questions or their order: at place 5 plain has q004; caveman has q100.",
    ),
    "judged questions": (
        CONTROL,
        changed(PLUGIN, evaluation_ids=CONTROL.identity.question_ids[:-1]),
        "The runs differ in judged questions or their order: at place 24 plain has q023; caveman has no more.",
    ),
    "texts": (
        CONTROL,
        changed(PLUGIN, question_texts={**PLUGIN.question_texts, "q003": "What?", "q004": "Why?"}),
        (
            "The runs differ in text of the questions: plain and caveman hold another under the same id for 2 questions, the first of "
            "them q003."
        ),
    ),
    "materials": (
        CONTROL,
        with_arm(PLUGIN, "docs", material_digests={**PLUGIN.arms["docs"].material_digests, "q003": "sha256:other"}),
        (
            "The runs differ in content of the arms: what stood beside the answers of docs is not the same in plain and caveman for 1 "
            "question, the first of them q003. Run it on the same files."
        ),
    ),
    "sampling": (
        CONTROL,
        changed(PLUGIN, run_config={"max_tokens": 800, "temperature": 0.7, "top_p": 0.9, "grounded_from_topics": False}),
        (
            "The runs differ in answer sampling (run_config): plain says temperature 0, top_p not set; "
            "caveman says temperature 0.7, top_p 0.9."
        ),
    ),
    "retrieval": (
        CONTROL,
        changed(PLUGIN, retrieval={"top_k": 9, "rerank_threshold": 0.3, "reranker": "lexical"}),
        "The runs differ in retrieval settings: plain says top_k 5; caveman says top_k 9.",
    ),
    "answer prompt": (
        CONTROL,
        changed(PLUGIN, answer_prompt_digest="sha256:b"),
        f"The runs differ in answer prompt: plain says {DIGEST}; caveman says sha256:b.",
    ),
    "draws": (CONTROL, changed(PLUGIN, draws=3), "The runs differ in number of draws: plain says 1; caveman says 3."),
    "one judged": (CONTROL, unjudged(PLUGIN), "plain was judged and caveman was not. Judge all of them, or none."),
    "judge model": (CONTROL, changed(PLUGIN, judge_model="j"), "The runs differ in judge model: plain says judge-large; caveman says j."),
    "judge provider": (
        CONTROL,
        changed(PLUGIN, judge_provider="openai"),
        "The runs differ in judge provider: plain says anthropic; caveman says openai.",
    ),
    "judge temperature": (
        CONTROL,
        changed(PLUGIN, judge_temperature=None),
        "The runs differ in judge temperature: plain says 0; caveman says nothing of it.",
    ),
    "judge prompt": (
        changed(CONTROL, judge_prompt_digest="sha256:a"),
        changed(PLUGIN, judge_prompt_digest="sha256:b"),
        "The runs differ in judge prompt: plain says sha256:a; caveman says sha256:b.",
    ),
    "judge material": (
        CONTROL,
        changed(PLUGIN, judge_context=None),
        "The runs differ in judge material (judge_context): plain says treatment_material.v1; caveman says nothing of it.",
    ),
    "grounding": (
        CONTROL,
        changed(PLUGIN, grounded_from_topics=True),
        "The runs differ in grounding of the judge in expected topics: plain says no; caveman says yes.",
    ),
    "same plugin set": (
        CONTROL,
        changed(PLUGIN, plugin_set="none", plugin_set_id=NO_PLUGINS_ID),
        "plain and caveman have the same plugin set, none: there is no plugin to measure.",
    ),
    "same plugin set, spelt differently": (
        changed(CONTROL, plugin_set="caveman", plugin_set_id=CAVEMAN_ID),
        PLUGIN,
        "plain and caveman have the same plugin set, spelt caveman in one and caveman:full in the other: there is no plugin to measure.",
    ),
    "same plugin set, without ids": (
        changed(CONTROL, plugin_set_id=None),
        changed(PLUGIN, plugin_set="none"),
        "plain and caveman have the same plugin set, none: there is no plugin to measure.",
    ),
    "one label": (
        changed(CONTROL, plugin_set="caveman:full", plugin_set_id="sha256:2"),
        changed(PLUGIN, plugin_set_id="sha256:1"),
        (
            "plain and caveman both call their plugin set caveman:full, although its ids differ (sha256:2 and sha256:1): a delta "
            "could not say which is which."
        ),
    ),
}


@pytest.mark.parametrize(("control", "plugin", "sentence"), OF_A_DELTA.values(), ids=list(OF_A_DELTA))
def test_a_plugin_delta_that_is_refused_says_why_in_a_sentence(control: ComparedRun, plugin: ComparedRun, sentence: str) -> None:
    refused = plugin_delta(control, plugin)
    assert isinstance(refused, Refused)
    assert [refusal_sentence(refusal) for refusal in refused.refusals] == [sentence]


def test_judges_that_are_not_named_and_mixed_material_are_said_of_each_run() -> None:
    nameless = [changed(run, judge_provider=None, judge_context=MIXED_MATERIAL) for run in (CONTROL, PLUGIN)]
    refused = plugin_delta(nameless[0], nameless[1])
    assert isinstance(refused, Refused)
    assert [refusal_sentence(refusal) for refusal in refused.refusals] == [
        f"{run} {rest}" if rest.startswith("was") else f"In {run} {rest}"
        for run in ("plain", "caveman")
        for rest in (
            "was judged but does not say by whom: judge_provider is missing.",
            (
                "some scores saw the stored material and some only snippets (judge_context treatment_material.v1+snippet_fallback); "
                "they are not of one kind. Judge it again."
            ),
        )
    ]


def test_every_reason_is_listed_and_not_the_first_alone() -> None:
    refused = plugin_delta(CONTROL, changed(CONTROL, model="large", draws=3, judge_model="j"))
    assert isinstance(refused, Refused)
    assert [refusal.reason for refusal in refused.refusals] == ["same_plugin_set", *["factor_differs"] * 3]


def test_runs_that_say_the_same_are_named_together() -> None:
    sides = tuple(RunSays(run=run, says=says) for run, says in (("a", "small"), ("b", "large"), ("c", "small"), ("d", None)))
    assert refusal_sentence(FactorDiffers(factor="model", words="model", sides=sides)) == (
        "The runs differ in model: a and c say small; b says large; d says nothing of it."
    )


def test_many_arms_and_long_values_are_cut_where_a_reader_would_stop() -> None:
    many = tuple(f"arm{number}" for number in range(40))
    sentence = refusal_sentence(ArmsDiffer(sides=(RunArms(run="a", arms=many), RunArms(run="b", arms=()))))
    assert "arm7 and 32 more; b has none" in sentence
    sides = (RunSays(run="a", says="x" * 500), RunSays(run="b", says="line\nbreak"))
    shown = refusal_sentence(FactorDiffers(factor="model", words="model", sides=sides))
    assert len(shown) < 180
    assert shown.endswith("b says line break.")


@pytest.mark.parametrize(
    "refusal",
    [
        FactorDiffers(factor="model", words="model", sides=()),
        ArmsDiffer(sides=(RunArms(run="a", arms=("x",)), RunArms(run="b", arms=()))),
        ArmContentsDiffer(runs=("a", "b"), arms=("x",)),
        QuestionsDiffer(factor="question_ids", words="questions", position=0, sides=()),
        OnlySomeJudged(judged=("a",), unjudged=("b",)),
        JudgeNotStamped(run="a", missing=("judge_model",)),
        MixedMaterial(run="a", stamp=MIXED_MATERIAL),
        SamePluginSet(runs=("a", "b"), labels=("none", "none")),
        SamePluginLabel(runs=("a", "b"), label="x", ids=("1", "2")),
        NoCommonQuestion(runs=("a", "b")),
    ],
    ids=lambda refusal: refusal.reason,
)
def test_a_refusal_is_a_value_that_survives_json(refusal: Refusal) -> None:
    refused = Refused(comparison="plugin_delta", runs=("a", "b"), refusals=(refusal,))
    assert Refused.model_validate_json(refused.model_dump_json()) == refused


def test_every_refusal_there_is_has_words_of_its_own() -> None:
    union = get_args(get_args(Refusal)[0])
    assert set(get_args(FactorRefusal)) <= set(union)
    unworded = [refusal.__name__ for refusal in union if refusal_sentence.dispatch(refusal) is refusal_sentence.dispatch(object)]
    assert unworded == []
