"""From the flags of `arms run` and `arms matrix-run` to a judge."""

from collections.abc import Collection

from evalplatform.cli.cell_flags import endpoint_of
from evalplatform.cli.run_flags import FLAGS_ID, ArmsRunFlags
from evalplatform.judging.judge import JudgeSettings, judge_kinds
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.project.schema import EndpointSettings, JudgeDeclaration, SuiteSettings

OFFLINE_PROVIDER = "offline"


def judge_ids_of(flags: ArmsRunFlags, named: SuiteSettings | None, judges: Collection[str]) -> tuple[str, ...]:
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


def judge_declaration(
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
        endpoint = endpoint_of(flags.judge_provider, endpoints, flag="--judge-provider")
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
