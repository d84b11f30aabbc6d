"""Asks for the scores of stored answers that a judge has not graded: what a new judge needs, and nothing more."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

import dagster as dg
from pydantic import Field, ValidationError

from assets.declared import SUITE_TAG, asset_key, group_name
from assets.partitions import CELL, JUDGE, partitions_name, suite_partitions
from assets.run_tags import CELL_TAG, JUDGE_TAG
from assets.unfinished import UnfinishedWork, unfinished_work
from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.records import ArtifactId
from evalplatform.kernel.errors import InputError, ObjectNotFoundError
from evalplatform.kernel.text import plural
from evalplatform.kernel.values import Value
from evalplatform.project.load import Project, load_project
from evalplatform.stages import arm_answers, judged_scores
from evalplatform.stages.facts import answer_facts
from evalplatform.stages.unjudged import Pair, RecordedVersion, UnjudgedAnswers, still_unjudged, unjudged_answers
from evalplatform.wiring import OpenedProject

EVERY_SECONDS = 60
MAX_REQUESTS = 25
"""The most runs that one look asks for, and the most answers whose manifest it reads."""
MAX_UNDER_WAY = 100
"""With so many partitions of the suite under way, a look asks for nothing more."""

VERSION_TAG = "dagster/data_version"

_DESCRIPTION = (
    "Starts a run for every cell whose stored answers are complete and that a judge of the suite has not graded. **Spends money**: each "
    f"run asks the judge's model, so it is stopped until you start it. At most {MAX_REQUESTS} runs a look; what failed is asked again when "
    'its answers are recorded anew, or when you set the cursor to {"attempt": 2}.'
)


class AskedCursor(Value):
    """What the looks so far have asked for and not seen finished.

    Attributes:
        attempt: goes into the run keys, which Dagster remembers for ever. Write `{"attempt": 2}` as the cursor to have asked again what
            failed, then 3, and so on.
        asked: by `CELL|JUDGE`, the recorded answers (`VERSION@NUMBER`) that a run was asked for.
        incomplete: by cell, the recorded answers that are not complete, or that a stopped run has replaced in the store; they are not
            looked at again until answers are recorded anew.
    """

    attempt: Annotated[int, Field(strict=True, ge=1)] = 1
    asked: dict[str, str] = Field(default_factory=dict)
    incomplete: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def read(cls, text: str | None) -> "AskedCursor":
        """Return the cursor, or raise InputError where what stands there is none."""
        if not text:
            return cls()
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise InputError(f'{text[:100]!r} is no cursor of this sensor; write {{"attempt": 2}} to ask again.', field="cursor") from error


def new_judges_sensor(project_file: Path, suite_id: str) -> dg.SensorDefinition:
    """Return the sensor of one suite. It is stopped until somebody starts it, since the runs it asks for spend money.

    A look reads Dagster's index of partitions, once an asset, and the manifests of at most `MAX_REQUESTS` answers. It asks once for each
    pair of cell and judge whenever answers were recorded, whatever becomes of the run.
    """

    @dg.sensor(
        name=f"{group_name(suite_id)}__new_judges",
        job_name=f"{group_name(suite_id)}__judge_cells",
        minimum_interval_seconds=EVERY_SECONDS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description=_DESCRIPTION,
    )
    def new_judges(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        project = load_project(project_file)
        project.suite(suite_id)
        cursor = AskedCursor.read(context.cursor)
        under_way = unfinished_work(context.instance, suite_id)
        if under_way.batches or len(under_way.partitions) >= MAX_UNDER_WAY:
            return dg.SkipReason("A backfill, or as many runs as one look waits for, are under way in this suite.")
        with OpenedProject(project) as opened:
            requests, left = requested(context.instance, project, suite_id, opened.catalog, cursor=cursor, under_way=under_way)
        if not requests:
            context.update_cursor(left.model_dump_json())
            return dg.SkipReason(_nothing_to_ask(left))
        return dg.SensorResult(run_requests=requests, cursor=left.model_dump_json())

    return new_judges


def requested(
    instance: dg.DagsterInstance,
    project: Project,
    suite_id: str,
    catalog: ArtifactCatalog,
    *,
    cursor: AskedCursor,
    under_way: UnfinishedWork,
) -> tuple[list[dg.RunRequest], AskedCursor]:
    """Return the runs to ask for now, and the cursor that knows of them.

    Raises:
        StorageError: a manifest cannot be read.
    """
    found = list(_unjudged(instance, project, suite_id))
    of_pairs = {_text(one.pair): one.answers.name for one in found}
    asked = {pair: name for pair, name in cursor.asked.items() if of_pairs.get(pair) == name}
    of_cells = {one.cell.key: one.answers.name for one in found}
    incomplete = {cell: name for cell, name in cursor.incomplete.items() if of_cells.get(cell) == name}
    open_pairs = still_unjudged(found, asked={_pair(text): name for text, name in asked.items()}, under_way=_pairs(under_way))
    chosen = islice(_complete(open_pairs, catalog, suite_id, incomplete), MAX_REQUESTS)
    requests = []
    for one in chosen:
        asked[_text(one.pair)] = one.answers.name
        requests.append(_request(one, suite_id, attempt=cursor.attempt))
    return requests, AskedCursor(attempt=cursor.attempt, asked=asked, incomplete=incomplete)


def _unjudged(instance: dg.DagsterInstance, project: Project, suite_id: str) -> Iterator[UnjudgedAnswers]:
    registered = {owner: set(instance.get_dynamic_partitions(partitions_name(suite_id, owner))) for owner in (CELL, JUDGE)}
    return unjudged_answers(
        [cell for cell in project.cells_of(suite_id) if cell.key in registered[CELL]],
        [judge for judge in project.judges_of(suite_id) if judge.key in registered[JUDGE]],
        answers=_recorded(instance, asset_key(suite_id, arm_answers.ASSET)),
        scores={_pair(text): made for text, made in _recorded(instance, asset_key(suite_id, judged_scores.ASSET)).items()},
    )


def _recorded(instance: dg.DagsterInstance, key: dg.AssetKey) -> dict[str, RecordedVersion]:
    """Return what was last recorded of every partition of an asset, in two queries however many there are."""
    event = dg.DagsterEventType.ASSET_MATERIALIZATION
    recorded = instance.get_latest_storage_id_by_partition(key, event)
    tags = instance.event_log_storage.get_latest_tags_by_partition(key, event, [VERSION_TAG])
    return {
        partition: RecordedVersion(data_version=tags.get(partition, {}).get(VERSION_TAG, ""), recorded=number)
        for partition, number in recorded.items()
    }


def _complete(
    found: Iterable[UnjudgedAnswers], catalog: ArtifactCatalog, suite_id: str, incomplete: dict[str, str]
) -> Iterator[UnjudgedAnswers]:
    """Iterate over those whose answers are complete; each cell's manifest is read once, and at most `MAX_REQUESTS` of them.

    What cannot be graded yet is added to `incomplete`.
    """
    complete: set[str] = set()
    reads = 0
    for one in found:
        cell = one.cell.key
        if cell in incomplete:
            continue
        if cell not in complete:
            if reads == MAX_REQUESTS:
                return
            reads += 1
            if not _can_be_graded(catalog, ArtifactId(suite=suite_id, asset=arm_answers.ASSET, partition=cell), one.answers):
                incomplete[cell] = one.answers.name
                continue
            complete.add(cell)
        yield one


def _can_be_graded(catalog: ArtifactCatalog, artifact: ArtifactId, recorded: RecordedVersion) -> bool:
    """Say whether recorded answers are complete and what a run would grade, which is what is current in the store.

    A run that was stopped leaves answers there that are not complete, and that Dagster does not know of.
    """
    try:
        current = catalog.current(artifact)
    except ObjectNotFoundError:  # damaged answers are removed by hand, to be made again
        return False
    return current is not None and current.data_version == recorded.data_version and answer_facts(current).complete


def _request(one: UnjudgedAnswers, suite_id: str, *, attempt: int) -> dg.RunRequest:
    key = dg.MultiPartitionKey({CELL: one.cell.key, JUDGE: one.judge.key})
    # With the partition's tags Dagster takes the key as resolved. It would otherwise look each up, which fails for two dynamic dimensions.
    partition_tags = suite_partitions(suite_id).scores.get_tags_for_partition_key(key)
    return dg.RunRequest(
        run_key=f"{suite_id}:{one.cell.key}:{one.judge.key}:{one.answers.name}:{attempt}",
        partition_key=key,
        tags={**partition_tags, SUITE_TAG: suite_id, CELL_TAG: one.cell.key, JUDGE_TAG: one.judge.key},
    )


def _nothing_to_ask(cursor: AskedCursor) -> str:
    sentences = ["Every judge has graded the complete answers of every cell, or was asked to."]
    if cursor.asked:
        sentences.append(f"{plural(len(cursor.asked), 'partition')} asked for and not finished, or failed.")
    if cursor.incomplete:
        sentences.append(f"{plural(len(cursor.incomplete), 'cell')} with answers that are not complete.")
    return " ".join(sentences)


def _pairs(under_way: UnfinishedWork) -> set[Pair]:
    return {_pair(partition) for partition in under_way.partitions if "|" in partition}


def _pair(text: str) -> Pair:
    cell, _, judge = text.partition("|")
    return cell, judge


def _text(pair: Pair) -> str:
    return "|".join(pair)
