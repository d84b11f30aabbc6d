"""`evalplatform diff`: two batches compared, or one scenario of them step by step."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from evalplatform.cli.project import ProjectOption
from evalplatform.cli.replication import ReplicationOption

if TYPE_CHECKING:
    from evalplatform.comparisons.batches.records import BaselineChoice
    from evalplatform.ports.labels import LabelStore
    from evalplatform.stages.batch_gate import PinnedBaseline
    from evalplatform.stages.batch_sides import BatchSide

BATCH_HELP = "A batch id, or what only one id begins or ends with; or the file of a bundle."


class Sides(NamedTuple):
    """The two batches of a comparison, why the baseline is the one, where labels are (None where no project is open), and what the last
    gate of these two pinned, where that is why."""

    baseline: "BatchSide"
    candidate: "BatchSide"
    choice: "BaselineChoice"
    labels: "LabelStore | None" = None
    pinned: "PinnedBaseline | None" = None


def add_commands(app: typer.Typer) -> None:
    """Add the command of this file to the root command."""
    app.command("diff")(diff)


def diff(
    baseline: Annotated[str | None, typer.Argument(metavar="BASELINE", help=BATCH_HELP, show_default=False)] = None,
    candidate: Annotated[str | None, typer.Argument(metavar="CANDIDATE", help=BATCH_HELP, show_default=False)] = None,
    scenario: Annotated[str | None, typer.Option(help="Only this scenario: where its two runs part, step by step.")] = None,
    out_md: Annotated[Path | None, typer.Option(help="Markdown report.")] = None,
    out_html: Annotated[Path | None, typer.Option(help="HTML report (a file, or a folder for report.html), and its diff pages.")] = None,
    out_json: Annotated[Path | None, typer.Option(help="The comparison as JSON, schema version 3.")] = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    project: ProjectOption = None,
    _replication: ReplicationOption = False,
) -> int:
    """Compare two batches scenario by scenario. Without batches: the newest one against the one recorded just before it.

    Exit code 0 when a gate would pass, 1 when a scenario that passed in the baseline does not pass in the candidate, 2 when the batches
    could not be compared.
    """
    from evalplatform.cli.batch_diff import print_scenario, report_batches
    from evalplatform.cli.diff_outputs import DiffOutputs

    outputs = DiffOutputs(markdown=out_md, html=out_html, json_file=out_json, prints_json=json_result)
    outputs.check(inputs=[name for name in (baseline, candidate) if name is not None], one_scenario=scenario is not None)
    with _sides(baseline, candidate, project) as sides:
        if scenario is not None:
            return print_scenario(sides, scenario, outputs)
        return report_batches(sides, outputs)


@contextmanager
def _sides(baseline: str | None, candidate: str | None, project: Path | None) -> Iterator[Sides]:
    """Open both sides. A project is opened only where a batch id needs one, or none was given: two bundles need none."""
    from evalplatform.cli.console import required_project
    from evalplatform.kernel.errors import InputError
    from evalplatform.stages.batch_diff import headline_batches
    from evalplatform.stages.batch_gate import pinned_baseline, remembered_for
    from evalplatform.stages.batch_sides import bundle_side, is_bundle_path, matching_id, stored_side
    from evalplatform.wiring import OpenedProject

    if baseline is not None and candidate is None:
        raise InputError("takes two batches, the baseline and the candidate, or none.", field="diff")
    if baseline is not None and candidate is not None and is_bundle_path(baseline) and is_bundle_path(candidate):
        yield Sides(bundle_side(Path(baseline)), bundle_side(Path(candidate)), "named")
        return
    with OpenedProject(required_project(project)) as opened:

        def side(name: str) -> "BatchSide":
            if is_bundle_path(name):
                return bundle_side(Path(name))
            return stored_side(matching_id(name, opened.batch_store.ids()), batches=opened.batch_store, objects=opened.store)

        if baseline is not None and candidate is not None:
            yield Sides(side(baseline), side(candidate), "named", opened.label_store)
        else:
            chosen = headline_batches(opened.batch_store, opened.gate_store)
            context = opened.runs_context()
            pinned = pinned_baseline(context, chosen.candidate, remembered_for(context, chosen))
            yield Sides(side(chosen.baseline.id), side(chosen.candidate.id), chosen.choice, opened.label_store, pinned)
