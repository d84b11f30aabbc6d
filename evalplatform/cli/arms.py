"""`evalplatform arms`: the main job without Dagster."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.cli import plugin_delta
from evalplatform.kernel.text import plural

if TYPE_CHECKING:
    from evalplatform.cli.run_request import RunRequest
    from evalplatform.stages.facts import ReportFacts
    from evalplatform.stages.pipeline import CellRun
    from evalplatform.wiring import OpenedProject

app = typer.Typer(help="Run treatment arms over a question set.", no_args_is_help=True)
app.command("plugin-delta")(plugin_delta.plugin_delta)

RESULTS_FOLDER = Path("results/arms")


@app.command("run")
def run(
    suite: Annotated[str | None, typer.Option(help="Suite of the project file; flags below override it.")] = None,
    cell: Annotated[str | None, typer.Option(help="Cell of the project file.")] = None,
    product: Annotated[str | None, typer.Option(help="What the questions are about.")] = None,
    questions: Annotated[Path | None, typer.Option(help="Question set: JSON, JSON Lines or CSV.")] = None,
    arms: Annotated[str | None, typer.Option(help="Comma list of arm specs, such as baseline,docs:local:docs.")] = None,
    arm: Annotated[list[str] | None, typer.Option(help="One arm, SPEC or NAME=SPEC; repeat it.")] = None,
    baseline_arm: Annotated[str | None, typer.Option(show_default="baseline", help="The arm that deltas are taken from.")] = None,
    model: Annotated[str | None, typer.Option(help="Answering model.")] = None,
    provider: Annotated[str | None, typer.Option(help="Endpoint id of the project file, or a provider's name.")] = None,
    harness: Annotated[str | None, typer.Option(show_default="arms-runner", help="Label of the harness.")] = None,
    context7_id: Annotated[str | None, typer.Option(help="Library id at Context7, for docs arms.")] = None,
    top_k: Annotated[int | None, typer.Option(min=1, show_default="5", help="Chunks a docs arm retrieves.")] = None,
    rerank_threshold: Annotated[
        float | None, typer.Option(min=0, max=1, show_default="0.3", help="Least rerank score of a kept chunk.")
    ] = None,
    plugins: Annotated[str | None, typer.Option(help="Comma list of plugins, such as caveman:lite,truncate:80; '' for none.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Most tokens of an answer.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help="Sampling temperature of answers.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of draw 0; draw d sends seed + d.")] = None,
    draws: Annotated[int | None, typer.Option(min=1, max=100, show_default="1", help="Samples of each answer.")] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Calls in flight at once.")] = None,
    max_cost_usd: Annotated[float | None, typer.Option(min=0, help="Stop before the call that could pass this.")] = None,
    judge: Annotated[bool, typer.Option("--judge", help="Grade the answers too.")] = False,
    judge_model: Annotated[str | None, typer.Option(help="Judging model, or the id of a judge of the project file.")] = None,
    judge_provider: Annotated[str | None, typer.Option(show_default="--provider", help="Endpoint id or provider of the judge.")] = None,
    judge_temperature: Annotated[float | None, typer.Option(min=0, help="Sampling temperature of the judge.")] = None,
    judge_panel: Annotated[str | None, typer.Option(help="Comma list of the roles of a judge panel, such as doc_reviewer.")] = None,
    grounded_from_topics: Annotated[bool, typer.Option("--grounded-from-topics", help="Ground the judge on expected_topics.")] = False,
    out_json: Annotated[Path | None, typer.Option(show_default="results/arms/<product>.json", help="arms.v1 file.")] = None,
    out_md: Annotated[Path | None, typer.Option(show_default="results/arms/<product>.md", help="Markdown report.")] = None,
    project: Annotated[Path | None, typer.Option(show_default="found upward", help="Project file or its folder.")] = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Answer a question set under every arm, grade it with --judge, and write arms.v1 and a Markdown report.

    What is stored is not asked again: a second run makes no call. Exit code 2 when under 95% of the questions were scored in every arm.
    """
    from evalplatform.cli.console import found_project, say, shown_progress
    from evalplatform.cli.results import counts_words
    from evalplatform.cli.run_request import ArmsRunFlags, run_request
    from evalplatform.stages.pipeline import BlockedRunError, run_cell
    from evalplatform.wiring import OpenedProject

    flags = ArmsRunFlags(
        suite=suite,
        cell=cell,
        product=product,
        questions=questions,
        arms=arms,
        arm=tuple(arm or ()),
        baseline_arm=baseline_arm,
        model=model,
        provider=provider,
        harness=harness,
        plugins=plugins,
        max_tokens=max_tokens,
        temperature=temperature,
        seed=seed,
        draws=draws,
        top_k=top_k,
        rerank_threshold=rerank_threshold,
        concurrency=concurrency,
        judge=judge,
        judge_model=judge_model,
        judge_provider=judge_provider,
        judge_temperature=judge_temperature,
        judge_panel=judge_panel,
        grounded_from_topics=grounded_from_topics,
    )
    request = run_request(flags, found_project(project), working_folder=Path.cwd())
    targets = _targets(request, out_json=out_json, out_md=out_md)
    with OpenedProject(request.project) as opened, shown_progress() as on_progress:
        context = opened.suite_context(
            request.suite_id,
            suite=request.suite,
            max_cost_usd=request.max_cost_usd if max_cost_usd is None else max_cost_usd,
            on_progress=on_progress,
            library_id=context7_id,
        )
        try:
            done = run_cell(context, request.cell, request.judge)
        except BlockedRunError as blocked:
            say(counts_words(blocked.counts))
            raise
        written = _written(opened, done, targets)
    return _told(request, done, written, as_json=json_result)


def _targets(request: "RunRequest", *, out_json: Path | None, out_md: Path | None) -> dict[Path, str]:
    """Return where each file of the report goes, every place checked to be writable, since nothing may be paid for a result without one."""
    from evalplatform.cli.files import check_writable
    from evalplatform.kernel.errors import InputError
    from evalplatform.stages.arms_report import MARKDOWN_FILE, json_file

    suite, name = request.suite, file_name_of(request.suite.product)
    # Beside the project file, not in the working directory: that may be a folder of documents, which the report would then be one of.
    folder = Path(os.path.relpath(request.project.root / RESULTS_FOLDER))
    json_path, markdown_path = out_json or folder / f"{name}.json", out_md or folder / f"{name}.md"
    targets = {}
    for draw in range(suite.draws):
        path = json_path if suite.draws == 1 else json_path.with_name(f"{json_path.stem}.d{draw}{json_path.suffix}")
        targets[path] = json_file(draw, draws=suite.draws)
    if markdown_path in targets:
        raise InputError("names the file that --out-json names.", file=markdown_path, field="--out-md")
    targets[markdown_path] = MARKDOWN_FILE
    for path, file in targets.items():
        check_writable(path, field="--out-md" if file == MARKDOWN_FILE else "--out-json")
    return targets


def file_name_of(product: str) -> str:
    """Return a product's name as a file's: what separates folders becomes `-`, so that no product's report leaves its folder."""
    return re.sub(r"[/\\\x00-\x1f]+", "-", product).strip(".- ") or "product"


def _written(opened: "OpenedProject", done: "CellRun", targets: Mapping[Path, str]) -> list[Path]:
    """Write the report's files where they go, and return their paths."""
    from evalplatform.cli.files import write_if_changed

    for path, file in targets.items():
        write_if_changed(path, opened.catalog.read(done.report, file))
    return list(targets)


def _told(request: "RunRequest", done: "CellRun", written: list[Path], *, as_json: bool) -> int:
    """Print what was done and return the exit code."""
    from evalplatform.cli.console import say
    from evalplatform.cli.results import counts_words, result_lines
    from evalplatform.reports.visible import one_line
    from evalplatform.stages.facts import report_facts
    from evalplatform.stages.report_findings import other_failed_checks

    # A shortfall of coverage is the last line's error, with what lacks points.
    found = [result.finding.sentence for result in other_failed_checks(done.failed_checks)]
    for warning in (*done.warnings, *found):
        say(f"warning: {one_line(warning)}")
    facts = report_facts(done.report)
    counts = done.counts
    if as_json:
        import orjson

        result = {
            "suite": request.suite_id,
            "cell": request.cell.key,
            "judge": None if request.judge is None else request.judge.key,
            "data_version": done.report.data_version,
            "unchanged": done.unchanged,
            "calls": orjson.loads(counts.model_dump_json()),
            "result": [row.model_dump() for row in facts.result],
            "coverage_rate": facts.coverage_rate,
            "retrieval": facts.retrieval,
            "truncated": done.truncated_message,
            "warnings": list(done.warnings),
            "checks": [result.model_dump() for result in facts.checks],
            "failed_answers": done.failed_answers.model_dump(),
            "failed_scores": done.failed_scores.model_dump(),
            "failed_votes": done.failed_votes.model_dump(),
            "files": [os.fspath(path) for path in written],
        }
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
    else:
        for line in (*result_lines(facts.result), *(f"retrieval {line}" for line in facts.retrieval)):
            typer.echo(line)
        for path in written:
            say(f"wrote {path}")
        say(f"nothing changed since the last run: {plural(0, 'model call')}" if done.unchanged else counts_words(counts))
    return _exit_code(done, facts, request.suite.checks.coverage.least_scored_rate)


def _exit_code(done: "CellRun", facts: "ReportFacts", least_scored_rate: float) -> int:
    from evalplatform.cli.console import say
    from evalplatform.cli.results import failure_lines

    if done.truncated_message is not None:
        say(f"error: the run is truncated. {done.truncated_message}")
    failures = failure_lines(done)
    for line in failures:
        say(f"error: {line}")
    if failures:
        say("Once that is mended, a rerun asks only those." if done.truncated_message is None else "A rerun asks only what is missing.")
    if done.truncated_message is not None or not facts.complete:
        return 2
    return _coverage_code(done, facts, least_scored_rate)


def _coverage_code(done: "CellRun", facts: "ReportFacts", least_scored_rate: float) -> int:
    """Say what lacks points where too little was scored to answer the question, and return the exit code."""
    from evalplatform.cli.console import say
    from evalplatform.reports.visible import one_line
    from evalplatform.stages.report_findings import coverage_shortfall

    shortfall = coverage_shortfall(
        coverage_rate=facts.coverage_rate, scored_rate=done.scored_rate, unscored=done.unscored.counts, least_rate=least_scored_rate
    )
    if shortfall is None:
        return 0
    say(f"error: {one_line(shortfall.sentence)}")
    return 2
