"""Stage `arm_answers` [cell]: ask every arm every question, keep answers, timings and texts."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator

from evalplatform.answering.prompts import ANSWER_PROMPT_DIGEST
from evalplatform.answering.records import ArmAnswer, CallTiming
from evalplatform.answering.run import NOT_ASKED, AnswerPlan, AnswerSheet, answer_cell
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.calls.counts import CallCounts
from evalplatform.calls.failures import failures_of
from evalplatform.calls.progress import ProgressMeter
from evalplatform.kernel.digests import bytes_digest, json_digest
from evalplatform.kernel.errors import InputError
from evalplatform.plugins.plugin_set import stamped_plugins
from evalplatform.project.cells import Cell
from evalplatform.questions.records import QuestionSet
from evalplatform.retrieval.rerank import RERANKER
from evalplatform.stages import corpus, question_set
from evalplatform.stages.context import WARNINGS_INPUT, StageKey, StageResult, SuiteContext, stored_result, unchanged_result
from evalplatform.stages.corpus import OpenTreatments, corpus_inputs, open_treatments
from evalplatform.stages.facts import AnswerFacts, RetrievalFacts, as_facts
from evalplatform.stages.partition_lock import partition_held
from evalplatform.stages.tables import ANSWERS, TIMINGS, AnswerShape, read_answer_shapes, read_texts, texts_table

ASSET = "arm_answers"
CODE_VERSION = "3"
ANSWERS_FILE = "answers.parquet"
TIMINGS_FILE = "timings.parquet"
TEXTS_FILE = "texts.parquet"


BeforeAsking = Callable[[], Awaitable[None]]


async def materialize_arm_answers(context: SuiteContext, cell: Cell, *, before_asking: BeforeAsking | None = None) -> StageResult:
    """Answer the suite's questions in one cell.

    Nothing is computed where answers of exactly these inputs are stored. A run with failed or unasked rows is stored under a version of its
    own, so that a rerun asks what is missing; what was finished is in the ledger and is not asked again.

    Args:
        context: the suite.
        cell: who answers.
        before_asking: awaited once answers have to be asked for, and before the first is; what it raises stops the stage. Drivers check
            there what comes after the answers, so that nothing is paid for a run that cannot finish.

    Raises:
        InputError: the question set or corpus was never materialized, or the corpus has changed since.
        TreatmentFileError, RetrievalError: a treatment cannot be opened.
    """
    questions = question_set.stored_questions(context)
    lineage = (context.upstream(question_set.ASSET), context.upstream(corpus.ASSET))
    async with open_treatments(context) as opened:
        _refuse_changed_corpus(lineage[1], opened)
        key = StageKey(
            context.artifact(ASSET, cell.key),
            inputs=answer_inputs(context, cell, questions, opened),
            code_version=CODE_VERSION,
            lineage=lineage,
        )
        if (known := unchanged_result(context, key)) is not None:
            return known
        async with partition_held(context, key, stage=_progress_name(cell)) as stored_meanwhile:
            if stored_meanwhile is not None:
                return stored_meanwhile
            context.claim_key(cell)
            if before_asking is not None:
                await before_asking()
            return await _answered(context, key, cell, questions, opened)


def answer_inputs(context: SuiteContext, cell: Cell, questions: QuestionSet, opened: OpenTreatments) -> dict[str, str]:
    """Return the named inputs of a cell's answers."""
    return {
        "question_set": questions.digest,
        **corpus_inputs(opened.arms, opened.digests),
        "cell": cell.behaviour_digest,
        # The seed is no part of the cell's key; another seed asks for other samples, though.
        "seed": str(cell.sampling.seed),
        **asking_inputs(context),
    }


def asking_inputs(context: SuiteContext) -> dict[str, str]:
    """Return those named inputs of answers that say how every cell of the suite is asked."""
    suite = context.suite
    return {
        "answer_prompt": ANSWER_PROMPT_DIGEST,
        "draws": str(suite.draws),
        "retrieval": json_digest([suite.top_k, suite.rerank_threshold, RERANKER]),
    }


def stored_draws(manifest: ArtifactManifest) -> int:
    """Return how often each question of a stored version was asked, whatever the project file says by now."""
    return int(manifest.inputs["draws"])


def stored_answers(context: SuiteContext, manifest: ArtifactManifest) -> list[ArmAnswer]:
    """Return the answers of a stored version, in the order question, arm, draw."""
    return list(ANSWERS.read(context.catalog.read(manifest, ANSWERS_FILE)))


def stored_shapes(context: SuiteContext, manifest: ArtifactManifest) -> Iterator[AnswerShape]:
    """Iterate over the answers of a stored version as comparisons across runs need them; what else they hold is not read."""
    return read_answer_shapes(context.catalog.read(manifest, ANSWERS_FILE))


def stored_timings(context: SuiteContext, manifest: ArtifactManifest) -> list[CallTiming]:
    """Return the timings of a stored version, row by row beside its answers."""
    return list(TIMINGS.read(context.catalog.read(manifest, TIMINGS_FILE)))


def stored_texts(context: SuiteContext, manifest: ArtifactManifest) -> dict[str, str]:
    """Return the texts of a stored version by digest: contexts, system prompts, judge materials."""
    return read_texts(context.catalog.read(manifest, TEXTS_FILE))


async def _answered(context: SuiteContext, key: StageKey, cell: Cell, questions: QuestionSet, opened: OpenTreatments) -> StageResult:
    """Ask what is not in the ledger, and store the answers."""
    async with context.open_desk(cell.endpoint) as desk:
        plan = AnswerPlan(
            provider=cell.provider,
            base_url=cell.base_url,
            model=cell.model,
            sampling=cell.sampling,
            questions=questions.questions,
            draws=context.suite.draws,
            concurrency=context.project.endpoint(cell.endpoint).limits.workers,
        )
        total = len(questions.questions) * len(opened.treatments) * context.suite.draws
        meter = ProgressMeter(_progress_name(cell), total, context.clock, context.on_progress, tally=desk.tally)
        sheet = await answer_cell(plan, treatments=opened.treatments, asker=desk, plugins=stamped_plugins(cell.plugins), meter=meter)
        counts = desk.tally.counts()
        price_table = desk.endpoint.prices.version
    return _stored(context, key, cell, sheet, counts, price_table, opened)


def _progress_name(cell: Cell) -> str:
    return f"answers {cell.id}"


def _refuse_changed_corpus(manifest: ArtifactManifest, opened: OpenTreatments) -> None:
    made_from = {name: digest for name, digest in manifest.inputs.items() if name != WARNINGS_INPUT}
    if made_from != corpus_inputs(opened.arms, opened.digests):
        raise InputError(
            "the arms or their documents have changed since `corpus` was materialized; materialize `corpus` again, then `arm_answers`."
        )


def _stored(
    context: SuiteContext,
    key: StageKey,
    cell: Cell,
    sheet: AnswerSheet,
    counts: CallCounts,
    price_table: str,
    opened: OpenTreatments,
) -> StageResult:
    answers = ANSWERS.write(sheet.answers)
    files = {ANSWERS_FILE: answers, TIMINGS_FILE: TIMINGS.write(sheet.timings), TEXTS_FILE: texts_table(sheet.texts)}
    failures = failures_of(
        answer.reason or "" for answer in sheet.answers if answer.state == "failed" and not (answer.reason or "").startswith(NOT_ASKED)
    )
    facts = AnswerFacts(
        arms=opened.arms,
        cell=cell,
        retrieval=RetrievalFacts(top_k=context.suite.top_k, rerank_threshold=context.suite.rerank_threshold, reranker=RERANKER),
        rows=len(sheet.answers),
        states=dict(Counter(answer.state for answer in sheet.answers)),
        calls=counts,
        price_table=price_table,
        failure_reasons=failures.counts,
        first_failure=failures.first,
        complete=sheet.is_complete,
        truncated_reason=None if sheet.stopped is None else sheet.stopped.reason,
        truncated_message=None if sheet.stopped is None else str(sheet.stopped),
    )
    version = None if sheet.is_complete else key.incomplete_version(bytes_digest(answers))
    return stored_result(context, key, files=files, facts=as_facts(facts), data_version=version)
