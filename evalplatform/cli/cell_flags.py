"""From the flags of `arms run` and `arms matrix-run` to cells."""

from dataclasses import replace

from evalplatform.adapters.models.open import model_providers
from evalplatform.cli.run_flags import FLAGS_ID, MATRIX_FLAG, ArmsRunFlags
from evalplatform.kernel.errors import InputError, PluginError, UnknownNameError
from evalplatform.kernel.keys import slug
from evalplatform.plugins.harness import refuse_unsupported_harness
from evalplatform.plugins.plugin_set import parse_plugins, plugin_refs, plugin_set_label
from evalplatform.project.load import Project
from evalplatform.project.matrix_file import MatrixCell
from evalplatform.project.schema import CellSettings, EndpointSettings, SuiteSettings


def _cell_flags(flags: ArmsRunFlags) -> bool:
    told = (flags.model, flags.provider, flags.harness, flags.plugins, flags.max_tokens, flags.temperature, flags.seed)
    return any(value is not None for value in told)


def cell_ids(flags: ArmsRunFlags, named: SuiteSettings | None) -> tuple[str, ...]:
    """Return the ids of the cells to run: those of a matrix file, all of the suite's, or the one that is named or made up.

    Raises:
        InputError: it is not said which cell, or which matrix.
    """
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


def cell_settings(
    flags: ArmsRunFlags, named: SuiteSettings | None, project: Project, endpoints: dict[str, EndpointSettings]
) -> CellSettings:
    """Return the cell that flags make up: what they do not say is as in the cell they name, or in the suite's only one.

    An endpoint that they name and the project has not is added to `endpoints`.

    Raises:
        InputError: no model is told, or no provider.
        PluginError: a plugin is wrong, or the harness cannot run it.
    """
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
        model=model, endpoint=base.endpoint if base and flags.provider is None else endpoint_of(flags.provider, endpoints)
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


def matrix_cell_settings(
    declared: MatrixCell, flags: ArmsRunFlags, named: SuiteSettings | None, project: Project, endpoints: dict[str, EndpointSettings]
) -> CellSettings:
    """Return a cell of a matrix file: sampling is as flags and suite say, the rest as the file says."""
    plugins = ",".join(declared.plugins)
    told = replace(flags, model=declared.model, provider=declared.provider, harness=declared.harness, plugins=plugins)
    try:
        return cell_settings(told, named, project, endpoints)
    except UnknownNameError as error:
        raise error.placed(file=flags.matrix_file, field=f"{declared.field}.provider") from None


def endpoint_of(provider: str | None, endpoints: dict[str, EndpointSettings], *, flag: str = "--provider") -> str:
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
