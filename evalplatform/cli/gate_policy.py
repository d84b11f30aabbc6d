"""`evalplatform gate policy`: the gate policy that the platform holds for a project, shown and changed."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalplatform.cli.project import ProjectOption

if TYPE_CHECKING:
    from evalplatform.runs.gate_policy import HeldPolicy

app = typer.Typer(help="The gate policy that the platform holds: show it, change it.", no_args_is_help=True)
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def add_commands(parent: typer.Typer) -> None:
    """Add the commands to the group."""
    parent.add_typer(app, name="policy")


@app.command("show")
def show(project: ProjectOption = None, json_result: JsonOption = False) -> int:
    """Show the gate policy in force, where it stands, and where the scenario file or the newest batch differs from it.

    Exit code 1 when the project has none.
    """
    import orjson

    from evalplatform.cli.console import required_project
    from evalplatform.reports.gate_policy_words import policy_lines
    from evalplatform.stages.gate_policies import read_policy
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        standing = read_policy(opened.runs_context())
    if json_result:
        stored = standing.stored
        result = {
            "policy": None if standing.source == "none" else standing.policy.model_dump(mode="json"),
            "source": standing.source,
            "set_by": None if stored is None else stored.set_by,
            "set_at": None if stored is None else stored.set_at.isoformat(),
            "file_differs": [difference._asdict() for difference in standing.file_differs],
            "newest_batch": None if standing.newest is None else standing.newest.id,
            "newest_batch_differs": [difference._asdict() for difference in standing.batch_differs],
        }
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
    else:
        for line in policy_lines(standing):
            typer.echo(line)
    return 1 if standing.source == "none" else 0


@app.command("set")
def set_(
    target_drop: Annotated[int | None, typer.Option(help="The fall in pass rate to catch, in points, 5 to 95.")] = None,
    target_drop_of: Annotated[
        list[str] | None, typer.Option(metavar="TIER=POINTS", help="Another target for a tier; TIER= takes it back. Repeat it.")
    ] = None,
    max_runs: Annotated[int | None, typer.Option(help="The most runs that one gate plans.")] = None,
    runs: Annotated[int | None, typer.Option(help="Runs of a scenario without enough history, 1 to 50.")] = None,
    tier: Annotated[
        list[str] | None, typer.Option(metavar="SCENARIO=TIER", help="Move a scenario to a tier; SCENARIO= takes it back. Repeat it.")
    ] = None,
    tier_of_tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG=TIER", help="The tier of a tag's scenarios; TAG= takes it back. Repeat it.")
    ] = None,
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """Hold another gate policy; what is not named stays as it is. The change is in the audit log, with the old and the new value.

    Plans follow it at once, and so do batches that the platform runs itself. A batch keeps the policy that it ran under.
    """
    from evalplatform.cli.console import required_project, say
    from evalplatform.cli.system_user import system_user
    from evalplatform.reports.gate_policy_words import ONE_GATE_LATER, policy_lines
    from evalplatform.stages.gate_policies import read_policy, set_policy
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        context = opened.runs_context()
        standing = read_policy(context)
        policy = _changed(
            standing.policy,
            {"target_drop": target_drop, "max_runs_per_gate": max_runs, "runs": runs},
            {
                "--target-drop-of": ("target_drop_by_tier", target_drop_of or []),
                "--tier": ("tier_by_scenario", tier or []),
                "--tier-of-tag": ("tier_by_tag", tier_of_tag or []),
            },
        )
        stored = set_policy(context, policy, standing, actor=system_user())
        standing = read_policy(context)
    if json_result:
        typer.echo(stored.model_dump_json(indent=2))
    else:
        for line in policy_lines(standing):
            typer.echo(line)
    if tier or tier_of_tag:
        say(f"note: {ONE_GATE_LATER}")
    return 0


def _changed(policy: "HeldPolicy", plain: dict[str, int | None], mapped: dict[str, tuple[str, list[str]]]) -> "HeldPolicy":
    """Return the policy with what was asked for.

    Raises:
        InputError: nothing was asked for, or a value cannot be used; the option is named.
    """
    from pydantic import ValidationError

    from evalplatform.kernel.errors import InputError, UnknownNameError

    changes: dict[str, Any] = {field: value for field, value in plain.items() if value is not None}
    option_of = {"target_drop": "--target-drop", "max_runs_per_gate": "--max-runs", "runs": "--runs"}
    for option, (field, pairs) in mapped.items():
        if pairs:
            changes[field] = _with_pairs(dict(getattr(policy, field)), pairs, option, is_number=field == "target_drop_by_tier")
            option_of[field] = option
    if not changes:
        raise InputError("needs something to set, such as `--target-drop 40`.", field="gate policy set")
    try:
        return policy.with_changes(**changes)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = str(problem["loc"][0])
        if problem["type"] == "literal_error":
            raise UnknownNameError("tier", str(problem["input"]), ["critical", "standard"], field=option_of.get(field)) from None
        raise InputError(
            f"{problem['msg'].replace('Input should', 'must')}; it is {problem['input']!r}.", field=option_of.get(field)
        ) from None


def _with_pairs(kept: dict[str, Any], pairs: list[str], option: str, *, is_number: bool) -> dict[str, Any]:
    from evalplatform.kernel.errors import InputError

    for pair in pairs:
        name, equals, value = pair.rpartition("=")
        if not equals or not name:
            raise InputError(f"takes NAME=VALUE; not {pair!r}.", field=option)
        if not value:
            kept.pop(name, None)
        elif is_number and not value.isdecimal():
            raise InputError(f"takes points from 5 to 95; not {value!r}.", field=option)
        else:
            kept[name] = int(value) if is_number else value
    return kept
