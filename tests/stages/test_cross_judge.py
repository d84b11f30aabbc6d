"""What the stage guards against, beside what its command shows."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.records import ArtifactId, ArtifactManifest
from evalplatform.kernel.errors import InputError
from evalplatform.ports.object_store import ObjectStore
from evalplatform.stages import arm_answers
from evalplatform.stages.cross_judge import cross_judge_cells, stored_cross_judgement
from evalplatform.stages.pipeline import run_cell
from evalplatform.wiring import OpenedProject
from tests.support.starter import starter_project

SECOND_JUDGE = (
    "  facts: {kind: overlap, model: overlap, endpoint: here}",
    "  facts: {kind: overlap, model: overlap, endpoint: here}\n  again: {kind: overlap, model: overlap, endpoint: here}",
)


class AnsweredMeanwhile(ArtifactCatalog):
    """A catalog in which another run stores new answers once they have been looked up so many times."""

    def __init__(self, store: ObjectStore, later: ArtifactManifest, *, after: int) -> None:
        super().__init__(store)
        self.later, self.left = later, after

    def current(self, artifact: ArtifactId) -> ArtifactManifest | None:
        if artifact == self.later.artifact:
            self.left -= 1
            if self.left < 0:
                return self.later
        return super().current(artifact)


def test_scores_of_other_answers_are_never_compared(tmp_path: Path) -> None:
    project = starter_project(tmp_path, SECOND_JUDGE)
    cell, judges = project.cells_of("kettle")[0], [project.judge("facts"), project.judge("again")]
    with OpenedProject(project) as opened:
        context = opened.suite_context("kettle")
        run_cell(context, cell, None)
        first = context.upstream(arm_answers.ASSET, cell.key)
        run_cell(replace(context, suite=context.suite.with_changes(draws=2)), cell, None)
        later = context.upstream(arm_answers.ASSET, cell.key)
        context.catalog.make_current(first)
        assert first.data_version != later.data_version
        meanwhile = replace(context, catalog=AnsweredMeanwhile(opened.store, later, after=2))
        with pytest.raises(InputError, match="was made from an earlier arm_answers; materialize judged_scores again first"):
            asyncio.run(cross_judge_cells(meanwhile, [cell], judges))
        settled = asyncio.run(cross_judge_cells(replace(context, catalog=opened.catalog), [cell], judges))
        assert stored_cross_judgement(context, settled.manifest) == settled.result
        assert (settled.answer_calls, settled.facts.complete) == (0, True)
