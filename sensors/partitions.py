"""Keeps the partitions in line with the cells and judges of the project file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import dagster as dg
from pydantic import ValidationError

from assets.partitions import claim_keys, partitions_name, pending_changes
from assets.pools import limit_pools
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.text import plural
from evalplatform.kernel.values import Value
from evalplatform.project.load import Project, load_project
from evalplatform.project.partition_keys import KeyChanges, every_owner

SENSOR_NAME = "project_partitions"
EVERY_SECONDS = 30
MAX_SHOWN_KEYS = 10

PartitionsRequest = dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest

_DESCRIPTION = (
    "Adds a partition for each new cell and judge of the project file, and retires those that it no longer asks for once two looks in a "
    "row agree. What a retired one made is kept, and is there again when it is added again. Runs nothing."
)


class LookCursor(Value):
    """What a look at the project file leaves for the next one, and for `evalplatform sync`.

    `suites` of `project` are those that the loaded definitions were built with, `comparisons` the assets that compare their cells, as
    `SUITE/ASSET`, and `agent_side` the parts of the agent side. `retiring` is the digest of what the look would retire, or None. `claimed`
    is the digest of the cells and judges whose keys were claimed last, so that only an edit of them is claimed again.
    """

    project: str | None = None
    suites: tuple[str, ...] = ()
    comparisons: tuple[str, ...] = ()
    agent_side: tuple[str, ...] = ()
    retiring: str | None = None
    claimed: str | None = None

    @classmethod
    def read(cls, text: str | None) -> Self:
        """Return the cursor; one that is missing, or from elsewhere, is an empty one: nothing is then retired at the next look."""
        try:
            return cls() if text is None else cls.model_validate_json(text)
        except ValidationError:
            return cls()


def partitions_sensor(
    project_file: Path, *, suites: Sequence[str], comparisons: Sequence[str] = (), agent_side: Sequence[str] = ()
) -> dg.SensorDefinition:
    """Return the sensor that adds and retires partitions; `suites` to `agent_side` are what the definitions are built with.

    A file that cannot be read fails the look with the reason. One that can be read but is only half there, as while an editor saves it,
    asks for less than it will: so keys are retired at the second look in a row that would retire the same ones. A cell or judge whose key
    stands for something else fails the look too.
    """

    @dg.sensor(
        name=SENSOR_NAME,
        minimum_interval_seconds=EVERY_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=_DESCRIPTION,
    )
    def project_partitions(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        project = load_project(project_file)
        limit_pools(context.instance, project)
        changes = pending_changes(context.instance, project)
        look = LookCursor(
            project=project.settings.project,
            suites=tuple(suites),
            comparisons=tuple(comparisons),
            agent_side=tuple(agent_side),
            retiring=_digest_of_retired(changes),
            claimed=_digest_of_owners(project),
        )
        before = LookCursor.read(context.cursor)
        if look.claimed != before.claimed:  # a cell that was edited may have the key that another one has had
            claim_keys(project, every_owner(project))
        confirmed = look.retiring is not None and look.retiring == before.retiring
        requests: list[PartitionsRequest] = [*_additions(changes), *(_retirements(changes) if confirmed else [])]
        if not requests:
            context.update_cursor(look.model_dump_json())
            return dg.SkipReason(_nothing_to_do(changes))
        return dg.SensorResult(dynamic_partitions_requests=requests, cursor=look.model_dump_json())

    return project_partitions


def _additions(changes: Sequence[KeyChanges]) -> list[dg.AddDynamicPartitionsRequest]:
    return [
        dg.AddDynamicPartitionsRequest(partitions_name(change.suite_id, change.group), [owner.key for owner in change.added])
        for change in changes
        if change.added
    ]


def _retirements(changes: Sequence[KeyChanges]) -> list[dg.DeleteDynamicPartitionsRequest]:
    return [
        dg.DeleteDynamicPartitionsRequest(partitions_name(change.suite_id, change.group), list(change.retired))
        for change in changes
        if change.retired
    ]


def _digest_of_retired(changes: Sequence[KeyChanges]) -> str | None:
    retired = {partitions_name(change.suite_id, change.group): sorted(change.retired) for change in changes if change.retired}
    return json_digest(retired) if retired else None


def _digest_of_owners(project: Project) -> str:
    return json_digest(sorted([type(owner).__name__, owner.key, owner.behaviour_digest] for owner in every_owner(project)))


def _nothing_to_do(changes: Sequence[KeyChanges]) -> str:
    retired = [key for change in changes for key in change.retired]
    in_use = [key for change in changes for key in change.in_use]
    sentences = ["Every cell and judge of the project file has its partition."]
    if retired:
        sentences.append(f"{_keys(retired)} will be retired if the next look agrees.")
    if in_use:
        sentences.append(f"{_keys(in_use)} will be retired when the runs that name them have ended.")
    return " ".join(sentences)


def _keys(keys: Sequence[str]) -> str:
    shown = ", ".join(keys[:MAX_SHOWN_KEYS])
    return f"{plural(len(keys), 'key')} ({shown}{', ...' if len(keys) > MAX_SHOWN_KEYS else ''})"
