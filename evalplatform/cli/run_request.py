"""From the flags of `arms run` and `arms matrix-run` to a project, a suite, its cells and a judge.

Flags win over the suite they name, and the suite over the defaults.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from evalplatform.adapters.models.open import model_providers
from evalplatform.arms.grammar import ArmRequest, parse_arm_list, parse_arm_option
from evalplatform.judging.judge import JudgeSettings, judge_kinds
from evalplatform.kernel.errors import InputError, PluginError, UnknownNameError
from evalplatform.kernel.keys import slug
from evalplatform.plugins.harness import refuse_unsupported_harness
from evalplatform.plugins.plugin_set import parse_plugins, plugin_refs, plugin_set_label
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.load import Project
from evalplatform.project.matrix_file import MatrixCell
from evalplatform.project.policy import SuiteChecks
from evalplatform.project.schema import (
    ArmDeclaration,
    CellSettings,
    EndpointSettings,
    JudgeDeclaration,
    ProductSettings,
    ProjectFile,
    SuiteSettings,
)
from evalplatform.project.yaml_file import problem_sentence

FLAGS_ID = "flags"
MATRIX_FLAG = "--matrix-cells"
OFFLINE_PROVIDER = "offline"
DEFAULT_TOP_K = 5
DEFAULT_RERANK_THRESHOLD = 0.3


@dataclass(frozen=True)
class ArmsRunFlags:
    """What `arms run` or `arms matrix-run` was told; None and empty mean "not told".

    Attributes:
        matrix_cells: the cells of `matrix_file` that are to be run, in place of the suite's; each replaces model, provider, harness and
            plugins.
        every_cell: run all cells of the suite.
    """

    suite: str | None = None
    cell: str | None = None
    product: str | None = None
    questions: Path | None = None
    arms: str | None = None
    arm: Sequence[str] = ()
    baseline_arm: str | None = None
    model: str | None = None
    provider: str | None = None
    harness: str | None = None
    plugins: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None
    draws: int | None = None
    top_k: int | None = None
    rerank_threshold: float | None = None
    concurrency: int | None = None
    judge: bool = False
    judge_model: str | None = None
    judge_provider: str | None = None
    judge_temperature: float | None = None
    judge_panel: str | None = None
    grounded_from_topics: bool = False
    matrix_file: Path | None = None
    matrix_cells: tuple[MatrixCell, ...] = ()
    every_cell: bool = False


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
    suite_id = f"{slug(suite.product) or 'product'}.flags" if named is None else (f"{named[0]}.flags" if changed else named[0])
    return RunRequest(
        project=request_project,
        suite_id=suite_id,
        suite=suite,
        cells=tuple(request_project.cell(cell_id) for cell_id in suite.cells),
        judge=request_project.judge(suite.judges[0]) if suite.judges else None,
        # A suite's spend cap holds for the suite with other flags too.
        max_cost_usd=None if named is None else base.max_cost_usd(named[0]),
    )


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
        cells=_cell_ids(flags, named),
        judges=_judge_ids(flags, named, project.settings.judges),
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


def _cell_flags(flags: ArmsRunFlags) -> bool:
    told = (flags.model, flags.provider, flags.harness, flags.plugins, flags.max_tokens, flags.temperature, flags.seed)
    return any(value is not None for value in told)


def _cell_ids(flags: ArmsRunFlags, named: SuiteSettings | None) -> tuple[str, ...]:
    if flags.matrix_cells:
        return tuple(cell.id for cell in flags.matrix_cells)
    if flags.every_cell and named is None:
        raise InputError(
            "is needed: the file of the matrix's cells, or --suite with a suite whose cells are the matrix.", field=MATRIX_FLAG
        )
    return named.cells if flags.every_cell and named is not None else (_cell_id(flags, named),)


def _cell_id(flags: ArmsRunFlags, named: SuiteSettings | None) -> str:
    if _cell_flags(flags) or named is None:
        return FLAGS_ID
    if flags.cell is not None:
        return flags.cell
    if len(named.cells) > 1:
        raise InputError(f"says which cell to run, since the suite has several ({', '.join(named.cells)}).", field="--cell")
    return named.cells[0]


def _judge_ids(flags: ArmsRunFlags, named: SuiteSettings | None, judges: Collection[str]) -> tuple[str, ...]:
    """Return the judge: one of the project's, which `--judge-model` may name by its id, or the one that the flags make up."""
    told = _judge_flags(flags)
    if not flags.judge:
        if told:
            raise InputError("changes nothing without --judge.", field=f"--{told[0].replace('_', '-')}")
        return ()
    if flags.judge_model is not None and flags.judge_model in judges and told == ["judge_model"]:
        return (flags.judge_model,)
    if flags.judge_model is None and named is not None and len(named.judges) != 1:
        listed = ", ".join(named.judges) or "none"
        raise InputError(f"says which judge to ask, by its id, since the suite names several or none ({listed}).", field="--judge-model")
    return (FLAGS_ID,) if told or named is None else named.judges


def _judge_flags(flags: ArmsRunFlags) -> list[str]:
    """Return the names of the flags that say something of the judge."""
    told = [name for name in ("judge_model", "judge_provider", "judge_temperature", "judge_panel") if getattr(flags, name) is not None]
    return [*told, "grounded_from_topics"] if flags.grounded_from_topics else told


def _with_flags(flags: ArmsRunFlags, suite: SuiteSettings, named: SuiteSettings | None, project: Project) -> Mapping[str, object]:
    """Return the project sections that the flags add to."""
    if flags.cell is not None:
        project.cell(flags.cell)  # an unknown one is answered with the nearest name
    settings = project.settings
    endpoints, cells, judges = dict(settings.endpoints), dict(settings.cells), dict(settings.judges)
    if suite.cells == (FLAGS_ID,):
        cells[FLAGS_ID] = _cell(flags, named, project, endpoints)
    cells |= {cell.id: _matrix_cell(cell, flags, named, project, endpoints) for cell in flags.matrix_cells}
    if suite.judges == (FLAGS_ID,):
        only = judges[named.judges[0]] if named is not None and len(named.judges) == 1 else None
        by_id = judges.get(flags.judge_model or "")
        told = flags if by_id is None else replace(flags, judge_model=by_id.model)
        of_cells = {cells[cell].endpoint for cell in suite.cells}
        judges[FLAGS_ID] = _judge(told, by_id or only, endpoints, cell_endpoints=of_cells, judge_ids=settings.judges)
    products = settings.products if suite.product in settings.products else {**settings.products, suite.product: ProductSettings()}
    for used in {cells[cell].endpoint for cell in suite.cells} | {judges[judge].endpoint for judge in suite.judges}:
        if flags.concurrency is not None:
            limits = endpoints[used].limits.with_changes(max_concurrent=flags.concurrency)
            endpoints[used] = endpoints[used].with_changes(limits=limits)
    return {"endpoints": endpoints, "cells": cells, "judges": judges, "products": products}


def _cell(flags: ArmsRunFlags, named: SuiteSettings | None, project: Project, endpoints: dict[str, EndpointSettings]) -> CellSettings:
    base_id = flags.cell or (named.cells[0] if named and len(named.cells) == 1 else None)
    base = project.settings.cells.get(base_id) if base_id else None
    model = flags.model or (base.model if base else None)
    if model is None:
        raise InputError("is needed: the answering model.", field="--model")
    sampling = {
        name: value
        for name, value in (("max_tokens", flags.max_tokens), ("temperature", flags.temperature), ("seed", flags.seed))
        if value is not None
    }
    settings = CellSettings(
        model=model, endpoint=base.endpoint if base and flags.provider is None else _endpoint(flags.provider, endpoints)
    )
    settings = settings.with_changes(
        harness=flags.harness or (base.harness if base else settings.harness),
        plugins=plugin_refs(flags.plugins) if flags.plugins is not None else (base.plugins if base else ()),
        sampling=(base.sampling if base else settings.sampling).with_changes(**sampling),
    )
    _check_plugins(settings)
    return settings


def _check_plugins(settings: CellSettings) -> None:
    """Read the plugins, and see that the harness can run them. Raises PluginError with the flag that mends it."""
    try:
        plugins = parse_plugins(settings.plugins).stamps
    except PluginError as error:
        raise error.placed(field=f"--plugins: {error.field}") from None
    if plugins:
        try:
            refuse_unsupported_harness(settings.harness, plugin_set_label(plugins))
        except PluginError as error:
            raise error.placed(field="--harness") from None


def _matrix_cell(
    declared: MatrixCell, flags: ArmsRunFlags, named: SuiteSettings | None, project: Project, endpoints: dict[str, EndpointSettings]
) -> CellSettings:
    """Return a cell of a matrix file: sampling is as flags and suite say, the rest as the file says."""
    told = replace(flags, model=declared.model, provider=declared.provider, harness=declared.harness)
    try:
        settings = _cell(told, named, project, endpoints)
    except UnknownNameError as error:
        raise error.placed(file=flags.matrix_file, field=f"{declared.field}.provider") from None
    return settings.with_changes(plugins=declared.plugins)


def _judge(
    flags: ArmsRunFlags,
    base: JudgeDeclaration | None,
    endpoints: dict[str, EndpointSettings],
    *,
    cell_endpoints: Collection[str],
    judge_ids: Collection[str],
) -> JudgeDeclaration:
    """Return the suite's judge with what the flags change of it, or one made of flags alone, at the answers' endpoint unless told."""
    model = flags.judge_model or (base.model if base else None)
    if model is None:
        raise InputError("is needed with --judge: the judging model.", field="--judge-model")
    if flags.judge_provider is not None:
        endpoint = _endpoint(flags.judge_provider, endpoints, flag="--judge-provider")
    elif base is not None:
        endpoint = base.endpoint
    elif len(cell_endpoints) == 1:
        (endpoint,) = cell_endpoints
    else:
        raise InputError("is needed: the cells are at several endpoints, so the judge's has to be told.", field="--judge-provider")
    if flags.judge_panel is not None:
        return _panel(flags, base, model=model, endpoint=endpoint)
    if base is None or flags.judge_provider is not None:
        kind = "overlap" if endpoints[endpoint].provider == OFFLINE_PROVIDER else "rubric"
        base = JudgeDeclaration(kind=kind, model=model, endpoint=endpoint)
    if base.kind == "overlap" and model != base.model:
        raise UnknownNameError("judge", model, judge_ids, field="--judge-model")  # a program has no other model: an id was meant
    return _with_judge_flags(base.with_changes(model=model, endpoint=endpoint), flags)


def _panel(flags: ArmsRunFlags, base: JudgeDeclaration | None, *, model: str, endpoint: str) -> JudgeDeclaration:
    """Return the panel of those roles: the judge's model, rubric and sampling stay, and each role votes."""
    if base is not None and base.kind == "overlap" and flags.judge_model is None:
        raise InputError("is needed with --judge-panel: a panel asks a model, and the suite's judge is a program.", field="--judge-model")
    roles = tuple(role.strip() for role in (flags.judge_panel or "").split(",") if role.strip())
    kept = JudgeDeclaration(kind="panel", model=model, endpoint=endpoint) if base is None or base.kind == "overlap" else base
    declared = kept.with_changes(kind="panel", model=model, endpoint=endpoint, roles=roles or None)
    try:
        judge_kinds.get("panel")(JudgeSettings(kind="panel", provider="flags", model=model, roles=declared.roles), asker=None)
    except InputError as error:
        raise InputError(error.rule, field="--judge-panel", nearest=error.nearest) from None
    return _with_judge_flags(declared, flags)


def _with_judge_flags(declared: JudgeDeclaration, flags: ArmsRunFlags) -> JudgeDeclaration:
    sampling = {} if flags.judge_temperature is None else {"temperature": flags.judge_temperature}
    return declared.with_changes(
        grounded_from_topics=flags.grounded_from_topics or declared.grounded_from_topics,
        sampling=declared.sampling.with_changes(**sampling),
    )


def _endpoint(provider: str | None, endpoints: dict[str, EndpointSettings], *, flag: str = "--provider") -> str:
    """Return the endpoint that a provider flag means: one of the project's by id, else the provider's own, added to `endpoints`."""
    if provider is None:
        raise InputError("is needed: an endpoint id of the project file, or a provider such as openai, anthropic or offline.", field=flag)
    if provider in endpoints:
        return provider
    if provider not in model_providers:
        raise UnknownNameError("endpoint or provider", provider, {*endpoints, *model_providers}, field=flag)
    endpoint_id = slug(provider)
    endpoints[endpoint_id] = EndpointSettings(provider=provider)
    return endpoint_id


def _first(told: float | None, otherwise: float) -> float:
    return otherwise if told is None else told
