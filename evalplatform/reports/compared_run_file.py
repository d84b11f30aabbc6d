"""An arms.v1 file of any tool, read as a comparison needs it: stamps, points, costs and lengths, without its texts.

The whole file is checked where a new run is read (`arms_v1_file`); here only what is used is, since a comparison reads many large files.
"""

from collections.abc import Mapping
from pathlib import Path

from evalplatform.comparisons.compared_run import PROVIDER_ADDRESS, ComparedRun, RunIdentity
from evalplatform.comparisons.run_factors import arm_content_digests, config_without_seed, question_texts_digest, retrieval_settings
from evalplatform.kernel.errors import InputError
from evalplatform.plugins.plugin_set import EMPTY_PLUGIN_SET_ID, NO_PLUGINS_LABEL
from evalplatform.reports.arms_v1_file import loaded_json
from evalplatform.reports.arms_v1_wire import MOST_COUNTED, WireHead, checked
from evalplatform.reports.compared_run_columns import rows_by_column
from evalplatform.reports.compared_run_rows import FileRows, cost_figures, rows_one_by_one


def read_compared_run(path: str | Path, *, name: str | None = None, lengths: bool = True) -> ComparedRun:
    """Read a run from an arms.v1 file.

    Args:
        path: the file.
        name: what reports call the run; the file's name without its ending where None.
        lengths: whether to read how long answers are, which takes a fifth of the time; without it no answer has a length.

    Raises:
        InputError: no such file, not JSON, or a part that is used and is not as the format requires; it names file, field and rule.
    """
    path = Path(path)
    return compared_run_of(loaded_json(path), path=path, name=name or path.stem, lengths=lengths)


def compared_run_of(data: object, *, path: Path, name: str, lengths: bool = True) -> ComparedRun:
    """Return the run that a parsed arms.v1 object holds. Raises InputError as `read_compared_run` does."""
    head = checked(WireHead, data, file=path)
    rows = rows_by_column(head, lengths=lengths) or rows_one_by_one(head, path, lengths=lengths)
    _refuse_impossible_lengths(rows, path)
    costs = {arm: cost_figures(head.cost_summary.get(arm), arm, path=path) for arm in head.arms}
    return ComparedRun(
        name=name,
        source=str(path),
        identity=_identity(head, rows.question_texts, None if rows.evaluation_ids is None else tuple(rows.evaluation_ids)),
        arms={arm: of_arm.arm(costs[arm]) for arm, of_arm in rows.arms.items()},
        difficulty=rows.difficulty,
        question_texts=rows.question_texts,
        references=rows.references,
        clusters=rows.clusters if head.cluster_field is not None else None,
        generated_at=head.generated_at,
        has_judge_metrics=bool(head.judge_metrics),
        truncated_reason=head.truncated,
    )


def _refuse_impossible_lengths(rows: FileRows, path: Path) -> None:
    """Raise InputError for the first stated length that no answer has."""
    for arm, of_arm in rows.arms.items():
        for name, chars in (("raw_answer_chars", of_arm.raw_chars), ("final_answer_chars", of_arm.final_chars)):
            if chars and not 0 <= min(chars.values()) <= max(chars.values()) <= MOST_COUNTED:
                question, stated = next((question, stated) for question, stated in chars.items() if not 0 <= stated <= MOST_COUNTED)
                place = list(rows.question_texts).index(question)
                raise InputError(
                    f"is a number of characters, which {stated:g} is not.", file=path, field=f"answers.{place}.arms.{arm}.metrics.{name}"
                )


def _identity(head: WireHead, texts: Mapping[str, str], evaluated: tuple[str, ...] | None) -> RunIdentity:
    return RunIdentity(
        library_name=head.library_name,
        model=head.model,
        provider=head.provider,
        base_url=PROVIDER_ADDRESS if head.base_url is None and "base_url" in head.model_fields_set else head.base_url,
        harness=head.harness,
        plugin_set=head.plugin_set,
        plugin_set_id=head.plugin_set_id or (EMPTY_PLUGIN_SET_ID if head.plugin_set == NO_PLUGINS_LABEL else None),
        arms=head.arms,
        baseline_arm=head.baseline_arm,
        arm_content_digests=arm_content_digests(head.arms, head.input_digests),
        total_questions=len(texts) if head.total_questions is None else head.total_questions,
        question_ids=tuple(texts),
        question_texts_digest=question_texts_digest(texts.values()),
        question_set_digest=head.question_set_hash,
        evaluation_ids=evaluated,
        run_config=config_without_seed(head.run_config),
        answering_digest=head.answering_digest,
        seed=seed if isinstance(seed := head.run_config.get("seed"), int) else None,
        retrieval=retrieval_settings(top_k=head.top_k, rerank_threshold=head.rerank_threshold, reranker=head.reranker),
        answer_prompt_digest=head.input_digests.get("answer_prompt"),
        judge_model=head.judge_model or None,
        judge_provider=head.judge_provider or None,
        judge_temperature=head.judge_temperature,
        judge_prompt_digest=head.judge_prompt_sha256,
        judge_digest=head.judge_digest,
        judge_context=head.judge_context,
        grounded_from_topics=head.grounded_from_topics if evaluated is not None else None,
        cluster_field=head.cluster_field,
    )
