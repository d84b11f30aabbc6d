"""A cell with and without a plugin set, as comparisons see it: every factor stated, points from seeded numbers, failures included."""

from dataclasses import replace
from random import Random

from evalplatform.comparisons.compared_run import ComparedArm, ComparedRun, CostFigures, RunIdentity
from evalplatform.kernel.digests import text_digest

ARMS = ("baseline", "docs", "skill:bucket-lifecycle", "docs+skill:bucket-lifecycle")
EFFECTS = {"baseline": -1.0, "docs": -9.0, "skill:bucket-lifecycle": 0.5, "docs+skill:bucket-lifecycle": 7.0}
"""What the plugin set adds to an arm's points, about."""
NO_PLUGINS_ID = "sha256:" + "0" * 32
CAVEMAN_ID = "sha256:" + "1" * 32


_NO_ARM = ComparedArm(points={})


def identity(questions: int = 24, **changes: object) -> RunIdentity:
    """Return the identity of a judged run without plugins that states every factor."""
    ids = tuple(f"q{number:03d}" for number in range(questions))
    return RunIdentity(
        library_name="Object Storage",
        model="small-8b-instruct",
        provider="openai-chat",
        base_url="http://127.0.0.1:8000/v1",
        harness="arms-runner",
        plugin_set="none",
        plugin_set_id=NO_PLUGINS_ID,
        arms=ARMS,
        baseline_arm="baseline",
        arm_content_digests={arm: text_digest(arm) for arm in ARMS},
        total_questions=questions,
        question_ids=ids,
        question_texts_digest=text_digest("texts"),
        question_set_digest=text_digest("set"),
        evaluation_ids=ids,
        run_config={"max_tokens": 800, "max_iterations": None, "temperature": 0.0, "grounded_from_topics": False},
        seed=7,
        answering_digest=text_digest("answering"),
        retrieval={"top_k": 5, "rerank_threshold": 0.3, "reranker": "lexical"},
        answer_prompt_digest=text_digest("answer prompt"),
        judge_model="judge-large",
        judge_provider="anthropic",
        judge_temperature=0.0,
        judge_prompt_digest=text_digest("judge prompt"),
        judge_digest=text_digest("judge"),
        judge_context="treatment_material.v1",
        grounded_from_topics=False,
    ).with_changes(**changes)


def control_run(questions: int = 24) -> ComparedRun:
    """Return the run without plugins; the docs arm has no points for the fourth question."""
    arms = {arm: _arm(arm, questions, effect=0.0, unscored=(3,) if arm == "docs" else ()) for arm in ARMS}
    return _run("plain", identity(questions), arms)


def plugin_run(questions: int = 24) -> ComparedRun:
    """Return the same cell with a plugin set, its answers half as long; in the baseline arm two answers have no known price."""
    arms = {arm: _arm(arm, questions, effect=EFFECTS[arm], shorter=0.5, unpriced=2 if arm == "baseline" else 0) for arm in ARMS}
    named = identity(questions, plugin_set="caveman:full", plugin_set_id=CAVEMAN_ID)
    return _run("caveman", named, arms)


def unjudged(run: ComparedRun) -> ComparedRun:
    """Return the run as it was before anybody judged it."""
    of_judge = ("evaluation_ids", "judge_model", "judge_provider", "judge_temperature", "judge_prompt_digest", "judge_digest")
    bare = changed(run, **dict.fromkeys((*of_judge, "judge_context", "grounded_from_topics")))
    return replace(bare, has_judge_metrics=False, arms={arm: replace(rows, points={}) for arm, rows in run.arms.items()})


def changed(run: ComparedRun, **factors: object) -> ComparedRun:
    """Return the run with other fields of its identity, of its questions, or of all its arms; None is what it does not say."""
    of_run = {name: factors.pop(name) or {} for name in ("question_texts", "references") if name in factors}
    fields = ("profile_prompts", "material_digests")
    of_arms = {name: factors.pop(name) or getattr(_NO_ARM, name) for name in fields if name in factors}
    arms = {arm: replace(rows, **of_arms) for arm, rows in run.arms.items()}  # type: ignore[arg-type]
    return replace(run, identity=run.identity.with_changes(**factors), arms=arms, **of_run)  # type: ignore[arg-type]


def with_arm(run: ComparedRun, arm: str, **changes: object) -> ComparedRun:
    """Return the run with other facts of one arm."""
    return replace(run, arms={**run.arms, arm: replace(run.arms[arm], **changes)})  # type: ignore[arg-type]


def _run(name: str, named: RunIdentity, arms: dict[str, ComparedArm]) -> ComparedRun:
    return ComparedRun(
        name=name,
        source=f"results/{name}.json",
        identity=named,
        arms=arms,
        question_texts={question: f"How does {question} work?" for question in named.question_ids},
        references={question: f"{question} works." for question in named.question_ids},
        has_judge_metrics=True,
    )


def _arm(
    arm: str, questions: int, *, effect: float, shorter: float = 1.0, unscored: tuple[int, ...] = (), unpriced: int = 0
) -> ComparedArm:
    ground, noise = Random(f"ground {arm}"), Random(f"noise {arm} {effect}")
    points, raw_chars, final_chars = {}, {}, {}
    for number in range(questions):
        question, value = f"q{number:03d}", ground.gauss(62, 11)
        chars = round(ground.uniform(300, 900))
        raw_chars[question] = float(round(chars * shorter))
        final_chars[question] = min(raw_chars[question], 400.0)
        if number not in unscored:
            points[question] = min(100.0, max(0.0, round(value + effect + noise.gauss(0, 6), 1)))
    tokens = sum(int(chars / 4) for chars in raw_chars.values())
    return ComparedArm(
        points=points,
        unscored_reasons={"malformed_reply": len(unscored)} if unscored else {},
        answers=questions,
        material_digests={question: text_digest(f"{arm} {question}") for question in raw_chars},
        raw_answer_chars=raw_chars,
        final_answer_chars=final_chars,
        cost=CostFigures(
            answers=questions,
            priced_answers=questions - unpriced,
            total_cost_usd=round(0.00004 * (questions - unpriced) + 0.000002 * tokens, 6),
            prompt_tokens=420 * questions,
            completion_tokens=tokens,
            total_tokens=420 * questions + tokens,
            mean_latency_seconds=round(0.4 + tokens / questions / 90, 4),
        ),
    )
