"""`evalplatform assets`: list what is stored, and fetch any file of it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.kernel.errors import (
    DigestMismatchError,
    InputError,
    ObjectNotFoundError,
    StorageError,
    StorageUnavailableError,
    UnknownNameError,
)

if TYPE_CHECKING:
    from evalplatform.artifacts.records import ArtifactId, ArtifactManifest
    from evalplatform.wiring import OpenedProject

FORMATS = ("csv", "html", "json", "md", "parquet")

app = typer.Typer(help="List and download stored artifacts.", no_args_is_help=True)

SuiteOption = Annotated[str | None, typer.Option(help="Only this suite.")]
AssetOption = Annotated[str | None, typer.Option(help="Only this asset, such as arms_report.")]
PartitionOption = Annotated[
    str | None, typer.Option(help="Only this partition and what lies below it: a cell key, CELL/JUDGE, or CELL/JUDGE/POLICY.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
ProjectOption = Annotated[Path | None, typer.Option(show_default="found upward", help="Project file or its folder.")]


@app.command("list")
def list_assets(
    suite: SuiteOption = None,
    asset: AssetOption = None,
    partition: PartitionOption = None,
    verify: Annotated[bool, typer.Option("--verify", help="Read every file, and name those that are not as they were written.")] = False,
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """List the current version of every artifact, with its files. Exit code 1 when there is none, or when --verify finds a damaged file.

    What is of a cell or judge that the project file does not ask for says `retired`, and so does a comparison of cells. What cannot be
    listed is named at the end, with exit code 2.
    """
    import orjson

    from evalplatform.cli.console import required_project, say
    from evalplatform.stages.retired import asked_for, is_retired
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        manifests, unreadable = _readable(opened, _named(opened, suite, asset, partition))
        damaged = [problem for manifest in manifests for problem in _damaged_files(opened, manifest)] if verify else []
        asked = asked_for(opened.project)
    retired = [is_retired(manifest.artifact, asked) for manifest in manifests]
    if json_result:
        rows = [
            {**orjson.loads(manifest.model_dump_json()), "retired": is_old} for manifest, is_old in zip(manifests, retired, strict=True)
        ]
        typer.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
    else:
        for manifest, is_old in zip(manifests, retired, strict=True):
            made = f"{manifest.created_at:%Y-%m-%d %H:%M} UTC{'  retired' if is_old else ''}"
            typer.echo(f"{manifest.artifact.path}  version {manifest.data_version}  {made}")
            for name, file in sorted(manifest.files.items()):
                typer.echo(f"    {name}  {file.size_bytes:,} bytes  {file.media_type}")
    for problem in (*unreadable, *damaged):
        say(f"error: {problem}")
    if unreadable:
        return 2
    return 0 if manifests and not damaged else 1


@app.command("download")
def download(
    suite: SuiteOption = None,
    asset: AssetOption = None,
    partition: PartitionOption = None,
    file: Annotated[str | None, typer.Option(help="Only the file of this name.")] = None,
    format: Annotated[str | None, typer.Option(help=f"Only files that end so: {', '.join(FORMATS)}.")] = None,  # noqa: A002
    bundle: Annotated[bool, typer.Option("--bundle", help="Each partition's reports as one zip that opens offline.")] = False,
    version: Annotated[str | None, typer.Option(help="This data version instead of the current one.")] = None,
    out: Annotated[Path, typer.Option(help="Folder to write below.")] = Path("downloads"),
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """Fetch files of stored artifacts, each checked against its digest, to OUT/<suite>/<asset>/<partition>/. Exit code 1 when none fits.

    With --bundle, fetch OUT/<suite>/<partition>/reports.zip for every report.
    """
    import orjson

    from evalplatform.artifacts.download_paths import REPORT_ASSET
    from evalplatform.cli.console import required_project, say
    from evalplatform.wiring import OpenedProject

    ending = None if format is None else format.lstrip(".")
    if ending not in (None, *FORMATS):
        raise UnknownNameError("format", ending, FORMATS, field="--format")
    if bundle and (asset, file, format) != (None, None, None):
        raise InputError("takes all reports of a partition: leave --asset, --file and --format away.", field="--bundle")
    with OpenedProject(required_project(project)) as opened:
        found = _versions(opened, suite, REPORT_ASSET if bundle else asset, partition, version)
        written = _write_bundles(opened, found, out) if bundle else _write_files(opened, found, out, file=file, ending=ending)
        _say_retired(opened, found if written else [])
    typer.echo(orjson.dumps(written, option=orjson.OPT_INDENT_2).decode() if json_result else "\n".join(written), nl=bool(written))
    if not written:
        say("error: no stored file fits; `evalplatform assets list` shows what there is.")
    return 0 if written else 1


def _say_retired(opened: "OpenedProject", manifests: "Sequence[ArtifactManifest]") -> None:
    """Say which of the artifacts the project file does not ask for."""
    from evalplatform.cli.console import say
    from evalplatform.stages.comparison_stages import COMPARISON_ASSETS
    from evalplatform.stages.retired import asked_for, is_retired

    asked = asked_for(opened.project)
    for manifest in manifests:
        if is_retired(manifest.artifact, asked):
            what = "a comparison" if manifest.artifact.asset in COMPARISON_ASSETS else "of a cell or judge"
            say(f"retired: {manifest.artifact.path} is {what} that the project file does not ask for.")


def _write_files(
    opened: "OpenedProject", manifests: "Sequence[ArtifactManifest]", out: Path, *, file: str | None, ending: str | None
) -> list[str]:
    """Write the files of the versions that have the name and the ending asked for, and return where."""
    from evalplatform.cli.files import write_if_changed

    written = []
    for manifest in manifests:
        for name in sorted(manifest.files):
            if file in (None, name) and (ending is None or name.endswith(f".{ending}")):
                path = out / manifest.artifact.path / name
                write_if_changed(path, opened.catalog.read(manifest, name))
                written.append(str(path))
    return written


def _write_bundles(opened: "OpenedProject", reports: "Sequence[ArtifactManifest]", out: Path) -> list[str]:
    """Write the bundle of each report, and return where."""
    from evalplatform.artifacts.download_paths import BUNDLE_FILE
    from evalplatform.cli.files import write_if_changed
    from evalplatform.stages.reports_bundle import bundled_manifests, reports_bundle

    written = []
    for report in reports:
        path = out / report.artifact.suite / report.artifact.partition / BUNDLE_FILE
        write_if_changed(path, reports_bundle(opened.catalog, bundled_manifests(opened.catalog, report)))
        written.append(str(path))
    return written


def _named(opened: "OpenedProject", suite: str | None, asset: str | None, partition: str | None) -> list["ArtifactId"]:
    """Return the stored artifacts that the flags ask for.

    Raises:
        UnknownNameError: nothing stored has the suite, asset or partition asked for, while other things are stored.
    """
    found = list(opened.catalog.list())
    for noun, wanted in (("suite", suite), ("asset", asset), ("partition", partition)):
        if wanted is not None:
            fitting = [artifact for artifact in found if _is_within(getattr(artifact, noun), wanted)]
            if found and not fitting:
                raise UnknownNameError(f"stored {noun}", wanted, {getattr(artifact, noun) for artifact in found}, field=f"--{noun}")
            found = fitting
    return found


def _readable(opened: "OpenedProject", artifacts: "Sequence[ArtifactId]") -> tuple[list["ArtifactManifest"], list[str]]:
    """Return the current versions of artifacts, and what is wrong with those that have none that can be read."""
    manifests: list[ArtifactManifest] = []
    problems: list[str] = []
    for artifact in artifacts:
        try:
            manifest = opened.catalog.current(artifact)
        except StorageUnavailableError:
            raise
        except StorageError as error:
            problems.append(str(error))
        else:
            manifests += [manifest] if manifest is not None else []
    return manifests, problems


def _damaged_files(opened: "OpenedProject", manifest: "ArtifactManifest") -> Iterator[str]:
    """Read every file of a version, and yield what is wrong with those that are gone or not as they were written."""
    for name in sorted(manifest.files):
        try:
            opened.catalog.read(manifest, name)
        except (DigestMismatchError, ObjectNotFoundError) as error:
            yield str(error)


def _is_within(name: str, wanted: str) -> bool:
    """Whether a name is the one that is wanted, or of a partition below it: only those have slashes in them."""
    return f"{name}/".startswith(f"{wanted}/")


def _versions(
    opened: "OpenedProject", suite: str | None, asset: str | None, partition: str | None, version: str | None
) -> list["ArtifactManifest"]:
    found = _named(opened, suite, asset, partition)
    current = [manifest for artifact in found if (manifest := opened.catalog.current(artifact)) is not None]
    if version is None:
        return current
    stored = [manifest for at_present in current for manifest in opened.catalog.versions(at_present.artifact)]
    named = [manifest for manifest in stored if manifest.data_version == version]
    if stored and not named:
        raise UnknownNameError("stored version", version, {manifest.data_version for manifest in stored}, field="--version")
    return named
