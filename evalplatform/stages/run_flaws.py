"""What a stored run of a cell lacks to be whole, as sentences: what failed, and whether too little was scored."""

from evalplatform.calls.failures import Failures
from evalplatform.reports import words
from evalplatform.reports.visible import one_line
from evalplatform.stages.compared_runs import RunVersions
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.facts import answer_facts, score_facts, summary_facts
from evalplatform.stages.report_findings import coverage_shortfall


def run_flaws(context: SuiteContext, versions: RunVersions) -> tuple[str, ...]:
    """Return what failed of a run and, where its question cannot be answered for that, the shortfall; nothing of a whole run.

    That a run ended too early is not said: the run says it itself, and too little is scored then in any case.
    """
    answers = answer_facts(versions.answers)
    scores = None if versions.scores is None else score_facts(versions.scores)
    failed = [("answer", Failures(counts=answers.failure_reasons, first=answers.first_failure))]
    if scores is not None:
        failed.append(("score", Failures(counts=scores.failure_reasons, first=scores.first_failure)))
        if scores.panel is not None:
            failed.append(("vote", Failures(counts=scores.panel.failed_votes, first=scores.panel.first_failed_vote)))
    found = [words.failures(noun, failures) for noun, failures in failed if failures.counts]
    truncated = answers.truncated_reason is not None or (scores is not None and scores.truncated_reason is not None)
    shortfall = coverage_shortfall(
        coverage_rate=summary_facts(versions.summary).coverage_rate,
        scored_rate=scores.scored / scores.rows if scores is not None and scores.rows else None,
        unscored={} if scores is None else scores.unscored_reasons,
        least_rate=context.suite.checks.coverage.least_scored_rate,
    )
    if shortfall is not None and not truncated:
        found.append(shortfall.sentence)
    return tuple(_ended(one_line(sentence)) for sentence in found)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "\N{HORIZONTAL ELLIPSIS}")) else f"{sentence}."
