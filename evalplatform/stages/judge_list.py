"""Every judge that a project has or had: what it is, where it grades, and how much it has graded."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.records import ArtifactId, ArtifactManifest
from evalplatform.kernel.values import Value
from evalplatform.project.cells import JudgeCell
from evalplatform.project.key_register import KeyMeaning
from evalplatform.project.load import Project
from evalplatform.stages import judged_scores
from evalplatform.stages.facts import score_facts

READERS = 16


class JudgeEntry(Value):
    """One judge under one key: an edited rubric or model makes another entry of the same id.

    Attributes:
        id: its id in the project file, now or when it was retired.
        key: its partition key.
        kind: the judge kind.
        model: the model that grades.
        prompt_digest: the digest of everything fixed that it is or was told.
        state: `current` where the project file has it, else `retired`.
        suites: the suites whose `judges` name it; of a retired one, those that it has graded.
        cells_scored: how many cells it has graded, each counted once a suite.
        first_scored: when the first of its scores was stored, or None.
    """

    id: str
    key: str
    kind: str
    model: str
    prompt_digest: str
    state: Literal["current", "retired"]
    suites: tuple[str, ...] = ()
    cells_scored: int = 0
    first_scored: AwareDatetime | None = None


@dataclass(frozen=True)
class Graded:
    """What one judge key has graded: the suites and cells, when first, and the judge as the first of its scores knew it."""

    partitions: tuple[ArtifactId, ...]
    first_scored: datetime
    judge: JudgeCell

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites in which it has graded."""
        return tuple(dict.fromkeys(artifact.suite for artifact in self.partitions))


def graded_by_judge(catalog: ArtifactCatalog) -> dict[str, Graded]:
    """Return what each judge has graded, by its key.

    Raises:
        StorageError: a manifest cannot be read.
    """
    partitions = [artifact for artifact in catalog.list(asset=judged_scores.ASSET) if "/" in artifact.partition]
    with ThreadPoolExecutor(max_workers=READERS, thread_name_prefix="judges") as pool:
        versions = pool.map(catalog.versions, partitions)
        first = {artifact: found[0] for artifact, found in zip(partitions, versions, strict=True) if found}
    by_judge: dict[str, list[ArtifactManifest]] = defaultdict(list)
    for artifact, manifest in first.items():
        by_judge[artifact.partition.split("/")[1]].append(manifest)
    return {key: _graded(manifests) for key, manifests in by_judge.items()}


def judge_entries(project: Project, registered: Iterable[KeyMeaning], graded: Mapping[str, Graded]) -> list[JudgeEntry]:
    """Return every judge of the project file in its order, each followed by the retired ones of its id, and then the other retired ones.

    Args:
        project: the project as it is now.
        registered: the judges that were ever claimed.
        graded: what each judge has graded, by key.
    """
    current = [_current(project, project.judge(judge_id), graded) for judge_id in project.settings.judges]
    known = {entry.key for entry in current}
    retired = [_retired_of_register(meaning, graded) for meaning in registered if meaning.key not in known]
    known |= {entry.key for entry in retired}
    retired += [_entry(found.judge, "retired", found.suites, found) for key, found in graded.items() if key not in known]
    place = {entry.id: number for number, entry in enumerate(current)}
    return sorted(
        [*current, *retired],
        key=lambda entry: (place.get(entry.id, len(place)), entry.id, entry.state, str(entry.first_scored or ""), entry.key),
    )


def _graded(manifests: list[ArtifactManifest]) -> Graded:
    first = min(manifests, key=lambda manifest: manifest.created_at)
    return Graded(
        partitions=tuple(manifest.artifact for manifest in manifests), first_scored=first.created_at, judge=score_facts(first).judge
    )


def _current(project: Project, judge: JudgeCell, graded: Mapping[str, Graded]) -> JudgeEntry:
    suites = tuple(suite_id for suite_id, suite in project.settings.suites.items() if judge.id in suite.judges)
    return _entry(judge, "current", suites, graded.get(judge.key))


def _entry(judge: JudgeCell, state: Literal["current", "retired"], suites: tuple[str, ...], found: Graded | None) -> JudgeEntry:
    return JudgeEntry(
        id=judge.id,
        key=judge.key,
        kind=judge.settings.kind,
        model=judge.settings.model,
        prompt_digest=judge.prompt_digest,
        state=state,
        suites=suites,
        cells_scored=0 if found is None else len(found.partitions),
        first_scored=None if found is None else found.first_scored,
    )


def _retired_of_register(meaning: KeyMeaning, graded: Mapping[str, Graded]) -> JudgeEntry:
    found = graded.get(meaning.key)
    return JudgeEntry(
        id=meaning.id,
        key=meaning.key,
        kind=meaning.labels["kind"],
        model=meaning.labels["model"],
        prompt_digest=meaning.labels["prompt_digest"],
        state="retired",
        suites=() if found is None else found.suites,
        cells_scored=0 if found is None else len(found.partitions),
        first_scored=None if found is None else found.first_scored,
    )
