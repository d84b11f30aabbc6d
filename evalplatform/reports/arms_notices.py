"""What to know before any number: the header list and the warnings of an arms report."""

from collections import Counter
from datetime import datetime

from evalplatform.calls.counts import CallCounts
from evalplatform.comparisons.equal_arms import equal_arms
from evalplatform.comparisons.records import ArmSummary
from evalplatform.judging.records import Judgement
from evalplatform.kernel.text import plural
from evalplatform.questions.records import QuestionSet
from evalplatform.reports import words
from evalplatform.reports.arms_rows import RunRows
from evalplatform.reports.run_facts import RunFacts
from evalplatform.reports.view import Fact, Notice
from evalplatform.stats.paired import MIN_PAIRS_FOR_TEST

OFFLINE_PROVIDER = "offline"

STOPS = {
    "budget_exhausted": "the budget was spent",
    "circuit_open": "the same failure came again and again",
    "deferred": "the server asked for a longer wait than the cap",
}


def headline_facts(facts: RunFacts, questions: QuestionSet, summary: ArmSummary) -> tuple[Fact, ...]:
    """Return the facts that belong beside the title."""
    return (
        Fact(label="Product", value=facts.library_name),
        Fact(label="Model", value=f"{facts.model} ({facts.provider})"),
        Fact(label="Judge", value=_judge(facts)),
        Fact(label="Questions", value=_questions(questions, facts)),
        Fact(label="Coverage", value=coverage(summary)),
        Fact(label="Plugin set", value=facts.plugin_set),
    )


def all_facts(facts: RunFacts, questions: QuestionSet, summary: ArmSummary) -> tuple[Fact, ...]:
    """Return the header list: all that was fixed in this run, and how its calls were answered."""
    rows = [
        ("Product", facts.library_name),
        ("Project and suite", f"{facts.project} / {facts.suite}"),
        ("Model", facts.model),
        ("Provider", facts.provider if facts.base_url is None else f"{facts.provider} at {facts.base_url}"),
        ("Harness", facts.harness),
        ("Plugin set", f"{facts.plugin_set} ({facts.plugin_set_id})"),
        ("Cell", facts.cell_key),
        ("Sampling", f"{words.sampling(facts.sampling)}; {plural(facts.draws, 'draw')} per question"),
        *_judge_rows(facts),
        ("Question set", f"{facts.question_set_source}, {plural(len(questions.questions), 'question')}"),
        ("Question set digest", facts.question_set_digest),
        ("Retrieval", _retrieval(facts)),
        *((f"Arm {arm}", facts.arm_specs.get(arm, arm)) for arm in facts.arms),
        *((f"Documents of {source.arm}", f"{source.name} ({source.digest})") for source in facts.document_sources),
        ("Price table", facts.price_table or "none: no call is priced"),
        ("Answer calls", _calls(facts.answer_calls)),
        ("Judge calls", _calls(facts.judge_calls)),
        *(() if facts.answers_stored_at is None else (("Answers stored", _stored(facts.answers_stored_at, facts.judging_answer_calls)),)),
        ("Coverage", coverage(summary)),
        ("Complete", "yes" if facts.truncated_reason is None else f"no: {facts.truncated_reason}"),
        ("Generated", f"{facts.generated_at:%Y-%m-%d %H:%M:%S} UTC"),
        *((f"Digest of {name}", digest) for name, digest in sorted(facts.input_digests.items())),
    ]
    return tuple(Fact(label=label, value=value) for label, value in rows)


def notices(facts: RunFacts, questions: QuestionSet, summary: ArmSummary, rows: RunRows) -> tuple[Notice, ...]:
    """Return every warning, the worst first."""
    found = [*_completeness(facts, questions, summary, rows), *_offline(facts), *_shaped(facts, rows), *_draws(facts, summary)]
    found += _per_arm(facts, summary, rows)
    found += [Notice(level="caution", text=text) for text in (*facts.warnings, *questions.warnings)]
    order = {"problem": 0, "caution": 1, "note": 2}
    return tuple(sorted(found, key=lambda notice: order[notice.level]))


def coverage(summary: ArmSummary) -> str:
    """Return the coverage as `97.5% of questions scored in both arms`; the least over all arms."""
    if summary.coverage_rate is None:
        return f"{words.MISSING} ({'nothing was judged' if summary.deltas else 'no second arm'})"
    return f"{words.share(summary.coverage_rate)} of questions scored in both arms"


def _completeness(facts: RunFacts, questions: QuestionSet, summary: ArmSummary, rows: RunRows) -> list[Notice]:
    found = []
    expected = len(questions.questions) * len(facts.arms) * facts.draws
    if facts.truncated_reason is not None:
        why = STOPS.get(facts.truncated_reason, facts.truncated_reason)
        text = f"Truncated run: {why}, with {len(rows.answers):,} of {plural(expected, 'answer')} there. A rerun asks only what is missing."
        found.append(Notice(level="problem", text=text))
    elif len(rows.answers) < expected:
        text = f"{len(rows.answers):,} of {plural(expected, 'answer')} are there; the others are counted as not asked."
        found.append(Notice(level="problem", text=text))
    if facts.judge is None:
        found.append(Notice(level="problem", text="Not judged: this run has answers and costs, but no points."))
    elif facts.judging_answer_calls:
        text = f"This judging asked {plural(facts.judging_answer_calls, 'answer call')}; a judge grades stored answers and asks for none."
        found.append(Notice(level="problem", text=text))
    elif summary.coverage_rate is not None and summary.coverage_rate < facts.least_coverage_rate:
        below = f"Coverage is {words.share(summary.coverage_rate)}, below {facts.least_coverage_rate * 100:g}%"
        text = f"{below}: the deltas leave questions out, and what is left out may differ from what is not."
        found.append(Notice(level="problem", text=text))
    return found


def _offline(facts: RunFacts) -> list[Notice]:
    found = []
    if facts.provider == OFFLINE_PROVIDER:
        text = (
            f"Offline reader: answers come from {facts.model}, a program that copies sentences out of what it is given, not from a model."
        )
        found.append(Notice(level="caution", text=f"{text} Points show how this pipeline works, not how good a model is."))
    if facts.judge is not None and facts.judge.provider == OFFLINE_PROVIDER:
        text = f"Offline grader: points come from {facts.judge.model}, a program that applies a fixed rule, not from a judge model."
        found.append(Notice(level="caution", text=text))
    return found


def _shaped(facts: RunFacts, rows: RunRows) -> list[Notice]:
    shaped = [row for row in rows.answers.values() if row.raw_answer is not None]
    changed = sum(row.raw_answer != row.answer for row in shaped)
    text = (
        f"Shaped answers: plugins ({facts.plugin_set}) changed {changed:,} of {plural(len(shaped), 'answer')}. Points are of what a user "
        "would see; tokens and cost are of what the model wrote."
    )
    return [Notice(level="note", text=text)] if shaped else []


def _draws(facts: RunFacts, summary: ArmSummary) -> list[Notice]:
    """Say what draws do to the numbers, and where a question lacks some of them."""
    if facts.draws == 1 or facts.judge is None:
        return []
    text = f"{facts.draws} draws of each question: its score is their mean, and the intervals are over questions, clustered by question."
    found = [Notice(level="note", text=text)]
    lacking = {
        arm: sum(score.unscored_reasons.values()) - (score.questions - score.scored) * facts.draws for arm, score in summary.scores.items()
    }
    if any(lacking.values()):
        missing = f"Scores of fewer than {facts.draws} draws: some have no points ({words.tally(lacking)})."
        text = f"{missing} These questions weigh as others do."
        found.append(Notice(level="caution", text=text))
    return found


def _per_arm(facts: RunFacts, summary: ArmSummary, rows: RunRows) -> list[Notice]:
    found = []
    equal = {arm for pair in equal_arms(rows.answers.values()) for arm in (pair.arm_a, pair.arm_b)}  # a check says that of them
    same = Counter(row.arm for row in rows.answers.values() if row.same_call and row.arm not in equal)
    if same:
        text = (
            f"Same call: some answers are one reply to one request that two arms share ({words.tally(same)}). Their answers cannot differ."
        )
        found.append(Notice(level="caution", text=text))
    for arm in facts.arms:
        if (failed := rows.failed_answers(arm)).counts:
            found.append(Notice(level="caution", text=f"{arm}: {_unscored(words.failures('answer', failed))}"))
        if reasons := rows.states(arm, "no_answer"):
            text = f"{plural(reasons.total(), 'answer')} ended without an answer ({words.tally(reasons)})"
            found.append(Notice(level="caution", text=f"{arm}: {_unscored(text)}"))
        for what, number in rows.cut(arm).items():
            text = f"{arm}: {plural(number, 'answer')} got a {what} that was cut at its limit; the model was not sent all of it."
            found.append(Notice(level="caution", text=text))
        delta = summary.deltas.get(arm)
        if delta is not None and facts.judge is not None and delta.pairs < MIN_PAIRS_FOR_TEST:
            text = f"{arm}: {plural(delta.pairs, 'pair')} with {facts.baseline_arm}; a test needs {MIN_PAIRS_FOR_TEST}."
            found.append(Notice(level="caution", text=text))
    if (failed := rows.failed_scores()).counts:
        found.append(Notice(level="caution", text=_unscored(words.failures("score", failed))))
    return found + _judge_notes(rows)


def _unscored(what: str) -> str:
    return f"{what}{'' if what.endswith(('.', '…')) else '.'} Unscored, never counted as 0 points."


def _judge_notes(rows: RunRows) -> list[Notice]:
    judged = rows.judgements.values()
    counts = (
        (
            sum(row.material_source == "snippet_fallback" for row in judged),
            "caution",
            "judged on 200-character snippets, not on the material",
        ),
        (
            sum(row.panel is not None and row.panel.flagged for row in judged),
            "caution",
            "flagged, since the panel's votes spread above 15 points and the mean hides that",
        ),
        (
            sum(row.panel is not None and bool(row.panel.valid) and bool(row.panel.lost) for row in judged),
            "caution",
            "the mean of fewer votes than the panel has, since the others gave no points",
        ),
        (sum(_read_after_redraw(row) for row in judged), "note", "read only after the judge was asked again"),
        (
            sum(row.points is None and row.redraws > 0 for row in judged),
            "note",
            "left without points although the judge was asked again",
        ),
        (sum(bool(row.caps) for row in judged), "note", "lowered by a rule (a wrong figure caps correctness)"),
    )
    return [
        Notice.model_validate({"level": level, "text": f"{plural(number, 'score')}: {what}."}) for number, level, what in counts if number
    ]


def _read_after_redraw(judgement: Judgement) -> bool:
    """Whether points came of a redraw; a panel's count where they came of a vote that has points."""
    if judgement.panel is not None:
        return any(vote.redraws > 0 for vote in judgement.panel.valid)
    return judgement.points is not None and judgement.redraws > 0


def _judge(facts: RunFacts) -> str:
    return "not judged" if facts.judge is None else f"{facts.judge.model_stamp} ({facts.judge.provider}, {facts.judge.kind})"


def _judge_rows(facts: RunFacts) -> list[tuple[str, str]]:
    judge = facts.judge
    if judge is None:
        return [("Judge", "not judged")]
    return [
        ("Judge", f"{_judge(facts)}, key {judge.key}"),
        ("Judge sampling", words.sampling(judge.sampling)),
        ("Judge prompt digest", judge.prompt_digest),
        ("Judge dimensions", ", ".join(judge.metrics) or "none"),
        ("Graded against", "expected topics" if judge.grounded_from_topics else "each question's own ground truth, where it has one"),
    ]


def _questions(questions: QuestionSet, facts: RunFacts) -> str:
    drawn = "" if facts.draws == 1 else f", {facts.draws} draws each"
    return f"{len(questions.questions):,}{drawn}"


def _calls(counts: CallCounts) -> str:
    paid = f"{counts.paid:,} paid" + (f" (USD {words.usd(counts.paid_usd)})" if counts.paid else "")
    replayed = f"{counts.replayed:,} replayed" + (f" (USD {words.usd(counts.replayed_usd)} when paid for)" if counts.replayed else "")
    unpriced = f"; {counts.unpriced:,} without a price" if counts.unpriced else ""
    return f"{paid}, {replayed}, {counts.shared:,} shared, {counts.failed:,} failed{unpriced}"


def _retrieval(facts: RunFacts) -> str:
    if facts.top_k is None or facts.rerank_threshold is None:
        return "not recorded with these answers"
    return f"top {facts.top_k}, rerank threshold {facts.rerank_threshold:g}, reranker {facts.reranker}"


def _stored(at: datetime, judging_answer_calls: int | None) -> str:
    when = f"{at:%Y-%m-%d %H:%M:%S} UTC"
    return when if judging_answer_calls is None else f"{when}; this judging asked {plural(judging_answer_calls, 'answer call')}"
