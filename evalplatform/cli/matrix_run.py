"""`evalplatform arms matrix-run`: every cell of a matrix, the rollup, and the plugin deltas, without Dagster."""

from pathlib import Path
from typing import Annotated

import typer

from evalplatform.cli import run_options


def matrix_run(
    suite: Annotated[
        str | None, typer.Option(help="Suite of the project file; its own cells are the matrix where no --matrix-cells is given.")
    ] = None,
    matrix_cells: Annotated[
        Path | None, typer.Option(help="Matrix file, JSON or YAML: cells with id, model, provider, harness, plugins.")
    ] = None,
    product: run_options.Product = None,
    questions: run_options.Questions = None,
    arms: run_options.Arms = None,
    arm: run_options.Arm = None,
    baseline_arm: run_options.BaselineArm = None,
    context7_id: run_options.Context7Id = None,
    top_k: run_options.TopK = None,
    rerank_threshold: run_options.RerankThreshold = None,
    max_tokens: run_options.MaxTokens = None,
    temperature: run_options.Temperature = None,
    seed: run_options.Seed = None,
    draws: run_options.Draws = None,
    concurrency: run_options.Concurrency = None,
    max_cost_usd: Annotated[
        float | None, typer.Option(min=0, help="Stop before the call that could pass this; it holds for the whole matrix.")
    ] = None,
    judge: run_options.Judge = False,
    judge_model: run_options.JudgeModel = None,
    judge_provider: run_options.JudgeProvider = None,
    judge_temperature: run_options.JudgeTemperature = None,
    judge_panel: run_options.JudgePanel = None,
    grounded_from_topics: run_options.GroundedFromTopics = False,
    out_dir: Annotated[
        Path | None, typer.Option(show_default="results/arms/<product>-matrix", help="Folder of cells, rollup and plugin deltas.")
    ] = None,
    out_json: Annotated[Path | None, typer.Option(show_default="<out-dir>/matrix-rollup.json", help="matrix_rollup.v1 file.")] = None,
    out_md: Annotated[Path | None, typer.Option(show_default="<out-dir>/matrix-rollup.md", help="Markdown report of the rollup.")] = None,
    no_plugin_deltas: Annotated[bool, typer.Option("--no-plugin-deltas", help="Compare no cells.")] = False,
    project: run_options.ProjectFile = None,
    json_result: run_options.JsonResult = False,
) -> int:
    """Run every cell of a matrix side by side, and write each cell's report, the rollup, and every plugin delta.

    The whole plan is resolved before the first call. What two cells ask alike is asked once, and what is stored is not asked again. A cell
    that fails stops no other; the exit code is then 2.
    """
    from evalplatform.cli.console import found_project
    from evalplatform.cli.matrix_flags import with_whole_matrix
    from evalplatform.cli.matrix_job import MatrixJob
    from evalplatform.cli.run_flags import ArmsRunFlags
    from evalplatform.cli.run_request import run_request

    flags = ArmsRunFlags(
        suite=suite,
        product=product,
        questions=questions,
        arms=arms,
        arm=tuple(arm or ()),
        baseline_arm=baseline_arm,
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
    flags = with_whole_matrix(flags)
    request = run_request(flags, found_project(project), working_folder=Path.cwd())
    job = MatrixJob.planned(
        request,
        flags.matrix_cells,
        out_dir=out_dir,
        out_json=out_json,
        out_md=out_md,
        deltas=not no_plugin_deltas,
        matrix_file=matrix_cells,
    )
    return job.run(max_cost_usd=max_cost_usd, context7_id=context7_id, as_json=json_result)
