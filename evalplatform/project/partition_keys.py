"""Which partition keys a project asks for, and how they differ from those that somebody knows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from evalplatform.artifacts.records import UNPARTITIONED, ArtifactId
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.key_register import KeyOwner
from evalplatform.project.load import Project

OWNERS: tuple[KeyOwner, ...] = ("cell", "judge")

KnownKeys = Callable[[str, KeyOwner], Iterable[str]]
"""Returns the keys of a suite's cells or judges that are registered somewhere."""


@dataclass(frozen=True)
class KeyChanges:
    """What brings a suite's registered cells or judges in line with the project file.

    Attributes:
        suite_id: the suite.
        owner: whether they are cells or judges.
        added: those that the file asks for and nobody knows.
        retired: the keys that are known and not asked for.
        in_use: the keys that are not asked for either, but stay until the runs that name them have ended.
    """

    suite_id: str
    owner: KeyOwner
    added: tuple[Cell | JudgeCell, ...] = ()
    retired: tuple[str, ...] = ()
    in_use: tuple[str, ...] = ()

    def keeping(self, is_in_use: Callable[[str], bool]) -> "KeyChanges":
        """Return the changes without retiring what is in use."""
        in_use = tuple(key for key in self.retired if is_in_use(key))
        return replace(self, retired=tuple(key for key in self.retired if key not in in_use), in_use=in_use)


def key_changes(project: Project, known_keys: KnownKeys) -> list[KeyChanges]:
    """Return the changes of every suite of the project file, cells before judges; those that change nothing are left out.

    A suite that the file no longer holds is left as it is: its assets go with the next load of the definitions, and what only looks like
    an empty project (a file that is just being saved) retires nothing.
    """
    changes = []
    for suite_id in project.settings.suites:
        for owner in OWNERS:
            asked = {asked.key: asked for asked in asked_for(project, suite_id, owner)}
            known = dict.fromkeys(known_keys(suite_id, owner))
            added = tuple(asked[key] for key in asked if key not in known)
            retired = tuple(key for key in known if key not in asked)
            if added or retired:
                changes.append(KeyChanges(suite_id=suite_id, owner=owner, added=added, retired=retired))
    return changes


def asked_for(project: Project, suite_id: str, owner: KeyOwner) -> list[Cell] | list[JudgeCell]:
    """Return the suite's cells or judges, in the file's order."""
    return project.cells_of(suite_id) if owner == "cell" else project.judges_of(suite_id)


def every_owner(project: Project) -> list[Cell | JudgeCell]:
    """Return every cell and judge that is a partition of a suite, each once."""
    every: dict[tuple[KeyOwner, str], Cell | JudgeCell] = {}
    for suite_id in project.settings.suites:
        for owner in OWNERS:
            every |= {(owner, asked.key): asked for asked in asked_for(project, suite_id, owner)}
    return list(every.values())


CurrentKeys = Mapping[tuple[str, KeyOwner], frozenset[str]]


def current_keys(project: Project) -> CurrentKeys:
    """Return the keys that the project file asks for, by suite and owner."""
    return {
        (suite_id, owner): frozenset(asked.key for asked in asked_for(project, suite_id, owner))
        for suite_id in project.settings.suites
        for owner in OWNERS
    }


def is_retired(artifact: ArtifactId, current: CurrentKeys) -> bool:
    """Say whether an artifact is of a cell or judge that its suite, in the project file, does not ask for (any more)."""
    if artifact.partition == UNPARTITIONED:
        return False
    owned = zip(artifact.partition.split("/"), OWNERS, strict=False)
    return any(key not in current.get((artifact.suite, owner), {key}) for key, owner in owned)
