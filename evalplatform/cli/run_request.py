"""From the flags of `arms run` and `arms matrix-run` to a project, a suite, its cells and a judge.

Flags win over the suite they name, and the suite over the defaults.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from evalplatform.arms.grammar import ArmRequest, parse_arm_list, parse_arm_option
from evalplatform.cli.cell_flags import cell_ids, cell_settings, matrix_cell_settings
from evalplatform.cli.judge_flags import judge_declaration, judge_ids_of
from evalplatform.cli.run_flags import FLAGS_ID, ArmsRunFlags
from evalplatform.kernel.errors import InputError, PluginError
from evalplatform.kernel.keys import slug
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.idle_plugins import refuse_idle_plugins
from evalplatform.project.load import Project
from evalplatform.project.policy import SuiteChecks
from evalplatform.project.schema import (
    ArmDeclaration,
    ProductSettings,
    ProjectFile,
    SuiteSettings,
)
from evalplatform.project.yaml_file import problem_sentence

DEFAULT_TOP_K = 5
DEFAULT_RERANK_THRESHOLD = 0.3


@dataclass(frozen=True)
class RunRequest:
    """What is to be run. `suite_id` is the suite's own only where no flag changes what the suite asks; `cells` are in the order told."""

    project: Project
    suite_id: str
    suite: SuiteSettings
    cells: tuple[Cell, ...]
    judge: JudgeCell | None
    max_cost_usd: float | None = None

    @property
    def cell(self) -> Cell:
        """The cell of a run of one cell."""
        (only,) = self.cells
        return only


def run_request(flags: ArmsRunFlags, project: Project | None, *, working_folder: Path) -> RunRequest:
    """Return what the flags ask for.

    Args:
        flags: the flags.
        project: the project around the working directory, or None; endpoints and products come from it.
        working_folder: what paths in flags are relative to.

    Raises:
        InputError: a flag is missing, or makes no sense with the others.
        UnknownNameError: a suite, cell, product, provider or judge that is not known.
    """
    try:
        return _run_request(flags, project, working_folder)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise InputError(problem_sentence(problem, [problem]), field="--" + str(problem["loc"][-1]).replace("_", "-")) from None


def _run_request(flags: ArmsRunFlags, project: Project | None, working_folder: Path) -> RunRequest:
    base = project or Project(root=working_folder, settings=ProjectFile(version=1, project=slug(flags.product or "") or "arms-run"))
    named = _named_suite(flags, base)
    suite = _suite(flags, named[1] if named else None, base, working_folder)
    settings = base.settings.model_copy(update=_with_flags(flags, suite, named[1] if named else None, base))
    request_project = replace(base, settings=settings)
    changed = named is None or suite.model_copy(update={"cells": named[1].cells, "judges": named[1].judges}) != named[1]
    cells = tuple(request_project.cell(cell_id) for cell_id in suite.cells)
    _refuse_idle_plugins(flags, cells, suite)
    suite_id = f"{slug(suite.product) or 'product'}.flags" if named is None else (f"{named[0]}.flags" if changed else named[0])
    return RunRequest(
        project=request_project,
        suite_id=suite_id,
        suite=suite,
        cells=cells,
        judge=request_project.judge(suite.judges[0]) if suite.judges else None,
        # A suite's spend cap holds for the suite with other flags too.
        max_cost_usd=None if named is None else base.max_cost_usd(named[0]),
    )


def _refuse_idle_plugins(flags: ArmsRunFlags, cells: Sequence[Cell], suite: SuiteSettings) -> None:
    """Raise PluginError, at the flag or the place in the matrix file, where a cell has a plugin that no arm gives anything to do."""
    of_file = {cell.id: cell for cell in flags.matrix_cells}
    for cell in cells:
        declared = of_file.get(cell.id)
        made_up = cell.label if cell.id == FLAGS_ID else cell.id
        try:
            refuse_idle_plugins(cell.plugins, suite.arm_specs, cell=made_up if declared is None else declared.name)
        except PluginError as error:
            if declared is not None:
                raise error.placed(file=flags.matrix_file, field=f"{declared.field}.plugins") from None
            raise error.placed(field=f"cells.{cell.id}.plugins" if flags.plugins is None else "--plugins") from None


def _named_suite(flags: ArmsRunFlags, project: Project) -> tuple[str, SuiteSettings] | None:
    """Return the suite that `--suite` names, or the only suite of `--product` where its questions or arms are not given as flags."""
    if flags.suite is not None:
        return flags.suite, project.suite(flags.suite)
    if flags.questions is not None and (flags.arms is not None or flags.arm):
        return None
    of_product = [(suite_id, suite) for suite_id, suite in project.settings.suites.items() if flags.product in (None, suite.product)]
    if len(of_product) == 1:
        return of_product[0]
    if len(of_product) > 1:
        raise InputError(
            f"says which suite to run, since there are several ({', '.join(name for name, _ in of_product)}).", field="--suite"
        )
    return None


def _suite(flags: ArmsRunFlags, named: SuiteSettings | None, project: Project, working_folder: Path) -> SuiteSettings:
    product = flags.product or (named.product if named else None)
    if product is None:
        raise InputError("is needed: the product that the questions are about.", field="--product")
    if flags.questions is None and named is None:
        raise InputError("is needed: the question set's file.", field="--questions")
    arms: tuple[ArmDeclaration | str, ...] = _arms(flags) or (named.arms if named else ())
    if not arms:
        raise InputError("is needed: a comma list of arm specs, such as baseline,docs:local:docs (or --arm once for each).", field="--arms")
    questions = named.questions if named and flags.questions is None else str(working_folder / (flags.questions or ""))
    return SuiteSettings(
        product=product,
        questions=questions,
        arms=arms,
        baseline_arm=flags.baseline_arm or (named.baseline_arm if named else "baseline"),
        cells=cell_ids(flags, named),
        judges=judge_ids_of(flags, named, project.settings.judges),
        draws=flags.draws or (named.draws if named else 1),
        top_k=flags.top_k or (named.top_k if named else DEFAULT_TOP_K),
        rerank_threshold=_first(flags.rerank_threshold, named.rerank_threshold if named else DEFAULT_RERANK_THRESHOLD),
        correction=named.correction if named else "holm",
        cluster_field=named.cluster_field if named else None,
        pass_points=named.pass_points if named else None,
        checks=named.checks if named else SuiteChecks(),
    )


def _arms(flags: ArmsRunFlags) -> tuple[ArmDeclaration | str, ...]:
    listed: tuple[ArmRequest, ...] = () if flags.arms is None else parse_arm_list(flags.arms)
    requests = (*listed, *(parse_arm_option(text) for text in flags.arm))
    return tuple(request.spec if request.name is None else ArmDeclaration(name=request.name, spec=request.spec) for request in requests)


def _with_flags(flags: ArmsRunFlags, suite: SuiteSettings, named: SuiteSettings | None, project: Project) -> Mapping[str, object]:
    """Return the project sections that the flags add to."""
    if flags.cell is not None:
        project.cell(flags.cell)  # an unknown one is answered with the nearest name
    settings = project.settings
    endpoints, cells, judges = dict(settings.endpoints), dict(settings.cells), dict(settings.judges)
    if suite.cells == (FLAGS_ID,):
        cells[FLAGS_ID] = cell_settings(flags, named, project, endpoints)
    cells |= {cell.id: matrix_cell_settings(cell, flags, named, project, endpoints) for cell in flags.matrix_cells}
    if suite.judges == (FLAGS_ID,):
        only = judges[named.judges[0]] if named is not None and len(named.judges) == 1 else None
        by_id = judges.get(flags.judge_model or "")
        told = flags if by_id is None else replace(flags, judge_model=by_id.model)
        of_cells = {cells[cell].endpoint for cell in suite.cells}
        judges[FLAGS_ID] = judge_declaration(told, by_id or only, endpoints, cell_endpoints=of_cells, judge_ids=settings.judges)
    products = settings.products if suite.product in settings.products else {**settings.products, suite.product: ProductSettings()}
    for used in {cells[cell].endpoint for cell in suite.cells} | {judges[judge].endpoint for judge in suite.judges}:
        if flags.concurrency is not None:
            limits = endpoints[used].limits.with_changes(max_concurrent=flags.concurrency)
            endpoints[used] = endpoints[used].with_changes(limits=limits)
    return {"endpoints": endpoints, "cells": cells, "judges": judges, "products": products}


def _first(told: float | None, otherwise: float) -> float:
    return otherwise if told is None else told
