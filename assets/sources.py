"""What a suite starts from: its questions, and what its arms can inject. Both are read from files; neither has partitions."""

import dagster as dg

from assets.declared import suite_asset
from assets.materialized import materialized
from assets.run_tags import tag_run
from evalplatform.stages import corpus, question_set
from resources.project import ProjectResource


def source_assets(suite_id: str, *, description: str) -> list[dg.AssetsDefinition]:
    """Return the assets `question_set` and `corpus` of a suite; `description` says what the suite is about."""

    @suite_asset(
        suite_id,
        question_set,
        kinds={"python", "json"},
        description=f"The questions, checked and in one spelling. {description}\n\nUnpartitioned: every cell is asked the same questions.",
    )
    def questions(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        tag_run(context, suite_id)
        with project.opened(suite_id, context) as suite:
            return materialized(suite, question_set.materialize_question_set(suite))

    @suite_asset(
        suite_id,
        corpus,
        kinds={"python", "json"},
        description="What the arms can inject, by digest: documents, skills, profiles.\n\nMaterialize it again after editing one of "
        "them; until then no answer is asked, so that no answer comes from documents nobody recorded.",
    )
    def treatments(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        tag_run(context, suite_id)
        with project.opened(suite_id, context) as suite:
            return materialized(suite, corpus.materialize_corpus(suite))

    return [questions, treatments]
