"""Bringing the project's Dagster instance in line with the project file and the object store. Dagster is imported inside functions."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import AwareDatetime, Field

from evalplatform.cli.orchestration.instance import open_instance
from evalplatform.kernel.values import Value
from evalplatform.project.key_register import KeyRegister
from evalplatform.project.load import Project
from evalplatform.project.partition_keys import KeyChanges, KeyGroup, every_owner
from evalplatform.stages.comparison_stages import project_comparisons
from evalplatform.wiring import OpenedProject

if TYPE_CHECKING:
    import dagster as dg


class SyncedKey(Value):
    """A partition key with what it stands for; `id` and `labels` are empty where nobody ever registered that.

    `owner` is the group of keys: cell, judge, or plugin_cell, which a cell is once more whose plugins can be measured.
    """

    owner: KeyGroup
    key: str
    id: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)


class ReportedCheck(Value):
    """A check's result that Dagster did not know; `path` is that of the artifact that it is about, as in `SyncedSuite.reported`."""

    check: str
    path: str
    passed: bool


class SyncedSuite(Value):
    """What was changed for a suite. `in_use` keys are retired once the runs that name them have ended; `reported` are artifact paths."""

    suite: str
    added: tuple[SyncedKey, ...] = ()
    retired: tuple[SyncedKey, ...] = ()
    in_use: tuple[SyncedKey, ...] = ()
    reported: tuple[str, ...] = ()
    reported_checks: tuple[ReportedCheck, ...] = ()


class SyncedBatches(Value):
    """What was changed for stored batches: `added` partitions, and what was `reported`, as in `SyncedSuite`."""

    added: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    reported_checks: tuple[ReportedCheck, ...] = ()


class SyncedNights(Value):
    """What was told of nights that Dagster did not know as materialized: their artifact paths, and their checks."""

    reported: tuple[str, ...] = ()
    reported_checks: tuple[ReportedCheck, ...] = ()


class CodeLocation(Value):
    """What the code location was seen to have loaded, from what its partitions sensor last wrote down.

    `looked_at` is None where no sensor of the project has looked yet; then nothing is known, and all lists are empty. `missing_comparisons`
    are assets as `SUITE/ASSET`, of suites that it has; `missing_agent_side` are parts of the agent side: batches, scenarios.
    """

    looked_at: AwareDatetime | None = None
    missing_suites: tuple[str, ...] = ()
    extra_suites: tuple[str, ...] = ()
    missing_comparisons: tuple[str, ...] = ()
    missing_agent_side: tuple[str, ...] = ()

    @property
    def needs_reload(self) -> bool | None:
        """Whether it has to be loaded again; None where it is not known."""
        if self.looked_at is None:
            return None
        return bool(self.missing_suites or self.extra_suites or self.missing_comparisons or self.missing_agent_side)


class SyncReport(Value):
    """What `evalplatform sync` did, or would do in a dry run."""

    dry_run: bool
    suites: tuple[SyncedSuite, ...]
    batches: SyncedBatches = SyncedBatches()
    nights: SyncedNights = SyncedNights()
    code_location: CodeLocation


def sync_project(project: Project, home: Path, *, dry_run: bool) -> SyncReport:
    """Add and retire partitions, and report to Dagster what the store holds and it does not know; in a dry run only say what would be done.

    Raises:
        InputError: a key stands for something else already.
        StorageError: the store cannot be read or written, or Dagster's database does not answer.
    """
    from assets.partitions import pending_changes, register_partitions

    with open_instance(home) as instance, OpenedProject(project) as opened:
        if dry_run:
            changes = pending_changes(instance, project)
        else:
            # Of keys too that Dagster knows: they may be older than the register, or stand for something else since an edit.
            opened.key_register.claim_all(every_owner(project), first_seen=opened.clock.now())
            changes = register_partitions(instance, project)
        return SyncReport(
            dry_run=dry_run,
            suites=tuple(_suite(suite_id, changes, opened, instance, dry_run=dry_run) for suite_id in project.settings.suites),
            batches=_batches(opened, instance, dry_run=dry_run),
            nights=_nights(opened, instance, dry_run=dry_run),
            code_location=seen_code_location(instance, project),
        )


def seen_code_location(instance: "dg.DagsterInstance", project: Project) -> CodeLocation:
    """Return which suites the project's code location had at its sensor's last look, against those of the project file."""
    from dagster._core.definitions.run_request import InstigatorType  # there is no public way to a sensor's state from outside

    from assets.agent_side import agent_side_parts
    from sensors.partitions import SENSOR_NAME, LookCursor

    looks = []
    for state in instance.all_instigator_state(instigator_type=InstigatorType.SENSOR):
        data = state.instigator_data
        cursor = LookCursor.read(getattr(data, "cursor", None))
        ticked_at = getattr(data, "last_tick_timestamp", None)
        if state.instigator_name == SENSOR_NAME and cursor.project == project.settings.project and ticked_at is not None:
            looks.append((ticked_at, cursor.suites, cursor.comparisons, cursor.agent_side))
    if not looks:
        return CodeLocation()
    ticked_at, loaded, comparisons, agent_side = max(looks)
    wanted = (name for name in project_comparisons(project) if name.partition("/")[0] in loaded)
    return CodeLocation(
        looked_at=datetime.fromtimestamp(ticked_at, tz=UTC),
        missing_suites=tuple(suite for suite in project.settings.suites if suite not in loaded),
        extra_suites=tuple(suite for suite in loaded if suite not in project.settings.suites),
        missing_comparisons=tuple(name for name in wanted if name not in comparisons),
        missing_agent_side=tuple(part for part in agent_side_parts(project) if part not in agent_side),
    )


def _suite(
    suite_id: str, changes: Iterable[KeyChanges], opened: OpenedProject, instance: "dg.DagsterInstance", *, dry_run: bool
) -> SyncedSuite:
    own = [change for change in changes if change.suite_id == suite_id]
    register = opened.key_register
    reported, checks = _report_stored(suite_id, opened, instance, dry_run=dry_run)
    return SyncedSuite(
        suite=suite_id,
        added=tuple(
            SyncedKey(owner=change.group, key=added.key, id=added.id, labels=added.labels) for change in own for added in change.added
        ),
        retired=tuple(_registered(register, change.group, key) for change in own for key in change.retired),
        in_use=tuple(_registered(register, change.group, key) for change in own for key in change.in_use),
        reported=reported,
        reported_checks=checks,
    )


def _batches(opened: OpenedProject, instance: "dg.DagsterInstance", *, dry_run: bool) -> SyncedBatches:
    from assets.batch_partitions import register_batches, unregistered_batches
    from assets.runs_reconcile import report_batch_artifact, unknown_batch_artifacts

    if not opened.holds_batches():
        return SyncedBatches()
    stored = opened.batch_store.ids(with_legs=False)
    added = unregistered_batches(instance, stored) if dry_run else register_batches(instance, stored)
    context = opened.runs_context()
    found = list(unknown_batch_artifacts(instance, context))
    checks = [
        ReportedCheck(check=result.check_name, path=manifest.artifact.path, passed=result.passed)
        for manifest in ([] if dry_run else found)
        for result in report_batch_artifact(instance, context, manifest)
    ]
    return SyncedBatches(added=tuple(added), reported=tuple(manifest.artifact.path for manifest in found), reported_checks=tuple(checks))


def _nights(opened: OpenedProject, instance: "dg.DagsterInstance", *, dry_run: bool) -> SyncedNights:
    from assets.monitoring_reconcile import report_night, unreported_nights
    from assets.night_runs import NightRuns
    from evalplatform.stages.night_legs import nights_folder
    from evalplatform.stages.night_reports import night_artifact

    if not opened.holds_batches():  # no night is without: neither a schedule nor a sentinel's night
        return SyncedNights()
    context = opened.monitoring_context()
    found = list(unreported_nights(instance, context.store.nights(), NightRuns(instance, nights_folder(opened.project))))
    checks = [
        ReportedCheck(check=result.check_name, path=night_artifact(context, night).path, passed=result.passed)
        for night in ([] if dry_run else found)
        for result in report_night(instance, context, night)
    ]
    return SyncedNights(reported=tuple(night_artifact(context, night).path for night in found), reported_checks=tuple(checks))


def _registered(register: KeyRegister, group: KeyGroup, key: str) -> SyncedKey:
    meaning = register.find("judge" if group == "judge" else "cell", key)
    if meaning is None:
        return SyncedKey(owner=group, key=key)
    return SyncedKey(owner=group, key=key, id=meaning.id, labels=meaning.labels)


def _report_stored(
    suite_id: str, opened: OpenedProject, instance: "dg.DagsterInstance", *, dry_run: bool
) -> tuple[tuple[str, ...], tuple[ReportedCheck, ...]]:
    from assets.reconcile import report_materialization, unknown_materializations
    from assets.reported_checks import unknown_check_results

    suite = opened.suite_context(suite_id)
    found = list(unknown_materializations(instance, suite))
    if not dry_run:
        for shown, manifest in found:
            report_materialization(instance, suite, shown, manifest)
    checks = []
    for shown, result in unknown_check_results(instance, suite, reported=[shown for shown, _ in found]):
        if not dry_run:
            instance.report_runless_asset_event(result)
        checks.append(ReportedCheck(check=result.check_name, path=shown.artifact.path, passed=result.passed))
    return tuple(manifest.artifact.path for _, manifest in found), tuple(checks)
