"""`evalplatform arms`: the main job without Dagster."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.cli import matrix_run, plugin_delta, run_options
from evalplatform.kernel.text import plural

if TYPE_CHECKING:
    from evalplatform.cli.run_request import RunRequest
    from evalplatform.stages.pipeline import CellRun
    from evalplatform.wiring import OpenedProject

app = typer.Typer(help="Run treatment arms over a question set.", no_args_is_help=True)
app.command("matrix-run")(matrix_run.matrix_run)
app.command("plugin-delta")(plugin_delta.plugin_delta)


@app.command("run")
def run(
    suite: run_options.Suite = None,
    cell: Annotated[str | None, typer.Option(help="Cell of the project file.")] = None,
    product: run_options.Product = None,
    questions: run_options.Questions = None,
    arms: run_options.Arms = None,
    arm: run_options.Arm = None,
    baseline_arm: run_options.BaselineArm = None,
    model: Annotated[str | None, typer.Option(help="Answering model.")] = None,
    provider: Annotated[str | None, typer.Option(help="Endpoint id of the project file, or a provider's name.")] = None,
    harness: Annotated[str | None, typer.Option(show_default="arms-runner", help="Label of the harness.")] = None,
    plugins: Annotated[str | None, typer.Option(help="Comma list of plugins, such as caveman:lite,truncate:80; '' for none.")] = None,
    matrix_cells: Annotated[Path | None, typer.Option(help="Matrix file that --matrix-cell is in.")] = None,
    matrix_cell: Annotated[str | None, typer.Option(help="Its cell: in place of model, provider, harness and plugins.")] = None,
    context7_id: run_options.Context7Id = None,
    top_k: run_options.TopK = None,
    rerank_threshold: run_options.RerankThreshold = None,
    max_tokens: run_options.MaxTokens = None,
    temperature: run_options.Temperature = None,
    seed: run_options.Seed = None,
    draws: run_options.Draws = None,
    concurrency: run_options.Concurrency = None,
    max_cost_usd: run_options.MaxCostUsd = None,
    judge: run_options.Judge = False,
    judge_model: run_options.JudgeModel = None,
    judge_provider: run_options.JudgeProvider = None,
    judge_temperature: run_options.JudgeTemperature = None,
    judge_panel: run_options.JudgePanel = None,
    grounded_from_topics: run_options.GroundedFromTopics = False,
    out_json: Annotated[Path | None, typer.Option(show_default="results/arms/<product>.json", help="arms.v1 file.")] = None,
    out_md: Annotated[Path | None, typer.Option(show_default="results/arms/<product>.md", help="Markdown report.")] = None,
    project: run_options.ProjectFile = None,
    json_result: run_options.JsonResult = False,
) -> int:
    """Answer a question set under every arm, grade it with --judge, and write arms.v1 and a Markdown report.

    What is stored is not asked again: a second run makes no call. Exit code 2 when under 95% of the questions were scored in every arm.
    """
    from evalplatform.cli.console import found_project, say, shown_progress
    from evalplatform.cli.matrix_flags import with_matrix_cell
    from evalplatform.cli.results import counts_words
    from evalplatform.cli.run_flags import ArmsRunFlags
    from evalplatform.cli.run_request import run_request
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
        matrix_file=matrix_cells,
    )
    flags = with_matrix_cell(flags, matrix_cell)
    request = run_request(flags, found_project(project), working_folder=Path.cwd())
    targets = _targets(request, out_json=out_json, out_md=out_md, read=[] if matrix_cells is None else [matrix_cells])
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
        written = _written(opened, done, targets, matrix_cell)
    return _told(request, done, written, as_json=json_result)


def _targets(request: "RunRequest", *, out_json: Path | None, out_md: Path | None, read: Sequence[Path]) -> dict[Path, str]:
    """Return where each file of the report goes: every place writable, since nothing may be paid for a result without one, and free.

    `read` holds what is read beside the project and what it names.
    """
    from evalplatform.cli.cell_result import draw_files, file_name_of, results_folder
    from evalplatform.cli.files import check_outputs
    from evalplatform.cli.suite_inputs import suite_inputs
    from evalplatform.stages.arms_report import MARKDOWN_FILE

    folder, name = results_folder(request.project.root), file_name_of(request.suite.product)
    json_path, markdown_path = out_json or folder / f"{name}.json", out_md or folder / f"{name}.md"
    json_files = draw_files(json_path, draws=request.suite.draws)
    inputs = [*suite_inputs(request.project, request.suite), *read]
    check_outputs([*(("--out-json", path) for path in json_files), ("--out-md", markdown_path)], inputs=inputs)
    return {**json_files, markdown_path: MARKDOWN_FILE}


def _written(opened: "OpenedProject", done: "CellRun", targets: Mapping[Path, str], matrix_cell: str | None) -> list[Path]:
    """Write the report's files where they go, and return their paths."""
    from evalplatform.cli.cell_result import report_file
    from evalplatform.cli.files import write_if_changed

    for path, file in targets.items():
        write_if_changed(path, report_file(opened.catalog, done, file, matrix_cell=matrix_cell))
    return list(targets)


def _told(request: "RunRequest", done: "CellRun", written: list[Path], *, as_json: bool) -> int:
    """Print what was done and return the exit code."""
    from evalplatform.cli.cell_result import cell_result, check_warnings, ending, file_warnings
    from evalplatform.cli.console import say
    from evalplatform.cli.results import counts_words, interaction_lines, result_lines
    from evalplatform.stages.facts import report_facts

    for warning in (*file_warnings(done), *check_warnings(done)):
        say(f"warning: {warning}")
    if as_json:
        import orjson

        result = {
            "suite": request.suite_id,
            "cell": request.cell.key,
            "judge": None if request.judge is None else request.judge.key,
            **cell_result(done),
            "files": [os.fspath(path) for path in written],
        }
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
    else:
        facts = report_facts(done.report)
        interactions = interaction_lines(facts.interactions)
        for line in (*result_lines(facts.result), *interactions, *(f"retrieval {line}" for line in facts.retrieval)):
            typer.echo(line)
        for path in written:
            say(f"wrote {path}")
        say(f"nothing changed since the last run: {plural(0, 'model call')}" if done.unchanged else counts_words(done.counts))
    ended = ending(done, least_scored_rate=request.suite.checks.coverage.least_scored_rate)
    for problem in ended.problems:
        say(f"error: {problem}")
    if ended.advice is not None:
        say(ended.advice)
    return ended.code
