"""Which partition keys a project asks for, and how they differ from those that somebody knows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from evalplatform.artifacts.records import UNPARTITIONED, ArtifactId
from evalplatform.project.cells import Cell, JudgeCell, paired_plugin_cells
from evalplatform.project.key_register import KeyOwner
from evalplatform.project.load import Project

OWNERS: tuple[KeyOwner, ...] = ("cell", "judge")

KeyGroup = Literal["cell", "judge", "plugin_cell"]
"""What keys are registered as, each by itself: cells, judges, and once more those cells whose plugins can be measured."""

KEY_GROUPS: tuple[KeyGroup, ...] = (*OWNERS, "plugin_cell")

KnownKeys = Callable[[str, KeyGroup], Iterable[str]]
"""Returns the keys of one group of a suite that are registered somewhere."""


@dataclass(frozen=True)
class KeyChanges:
    """What brings one group of a suite's registered keys in line with the project file.

    Attributes:
        suite_id: the suite.
        group: whether they are cells, judges, or cells with plugins that can be measured.
        added: those that the file asks for and nobody knows.
        retired: the keys that are known and not asked for.
        in_use: the keys that are not asked for either, but stay until the runs that name them have ended.
    """

    suite_id: str
    group: KeyGroup
    added: tuple[Cell | JudgeCell, ...] = ()
    retired: tuple[str, ...] = ()
    in_use: tuple[str, ...] = ()

    def keeping(self, is_in_use: Callable[[str], bool]) -> "KeyChanges":
        """Return the changes without retiring what is in use."""
        in_use = tuple(key for key in self.retired if is_in_use(key))
        return replace(self, retired=tuple(key for key in self.retired if key not in in_use), in_use=in_use)


def key_changes(project: Project, known_keys: KnownKeys) -> list[KeyChanges]:
    """Return the changes of every suite of the project file, group by group; those that change nothing are left out.

    A suite that the file no longer holds is left as it is: its assets go with the next load of the definitions, and what only looks like
    an empty project (a file that is just being saved) retires nothing.
    """
    changes = []
    for suite_id in project.settings.suites:
        for group in KEY_GROUPS:
            asked = {asked.key: asked for asked in asked_for(project, suite_id, group)}
            known = dict.fromkeys(known_keys(suite_id, group))
            added = tuple(asked[key] for key in asked if key not in known)
            retired = tuple(key for key in known if key not in asked)
            if added or retired:
                changes.append(KeyChanges(suite_id=suite_id, group=group, added=added, retired=retired))
    return changes


def asked_for(project: Project, suite_id: str, group: KeyGroup) -> list[Cell] | list[JudgeCell]:
    """Return the suite's cells or judges of a group, in the file's order."""
    if group == "judge":
        return project.judges_of(suite_id)
    cells = project.cells_of(suite_id)
    return cells if group == "cell" else paired_plugin_cells(cells)


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


def owned_keys(partition: str) -> list[tuple[str, tuple[KeyOwner, ...]]]:
    """Return the keys of an artifact's partition, each with who may own it.

    A partition of several keys is of a cell under a judge (and what follows names a policy). One key is a cell's, or a judge's where an
    asset is about many cells.
    """
    keys = [] if partition == UNPARTITIONED else partition.split("/")
    return [(keys[0], OWNERS)] if len(keys) == 1 else [(key, (owner,)) for key, owner in zip(keys, OWNERS, strict=False)]


def is_retired(artifact: ArtifactId, current: CurrentKeys) -> bool:
    """Say whether an artifact is of a cell or judge that its suite, in the project file, does not ask for (any more)."""

    def is_asked_for(key: str, owners: Iterable[KeyOwner]) -> bool:
        return any(key in current.get((artifact.suite, owner), {key}) for owner in owners)

    return not all(is_asked_for(key, owners) for key, owners in owned_keys(artifact.partition))
