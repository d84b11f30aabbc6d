"""The assets of a suite and the jobs over them: question set, corpus, answers by cell, and what is made of answers by cell and judge."""

import dagster as dg

from assets.answers import answer_asset
from assets.declared import SUITE_TAG, group_name, keys_of
from assets.partitions import suite_partitions
from assets.scores import score_assets
from assets.sources import source_assets
from evalplatform.stages import arm_answers, corpus, question_set
from evalplatform.stages.score_stages import SCORE_STAGES


def suite_definitions(suite_id: str, *, description: str) -> dg.Definitions:
    """Return the assets `suites/<suite>/...` of one suite, and the jobs over them.

    One asset job holds one partitions definition, so answering and judging are two jobs.
    """
    jobs = (
        ("evaluate_cell", (question_set, corpus, arm_answers), "Read the questions and arms, and answer them in one cell."),
        (
            "judge_cells",
            [stage.module for stage in SCORE_STAGES],
            "Grade stored answers, summarise and report, for one or many cells. Asks no answer.",
        ),
        (
            "reports",
            [stage.module for stage in SCORE_STAGES if not stage.asks_judge],
            "Summarise and report what is graded already, for one or many cells. Asks no model.",
        ),
    )
    return dg.Definitions(
        assets=suite_assets(suite_id, description=description),
        jobs=[
            dg.define_asset_job(
                f"{group_name(suite_id)}__{name}",
                selection=dg.AssetSelection.assets(*keys_of(suite_id, stages)),
                description=text,
                tags={SUITE_TAG: suite_id},
            )
            for name, stages, text in jobs
        ],
    )


def suite_assets(suite_id: str, *, description: str) -> list[dg.AssetsDefinition]:
    """Return the assets of one suite, in the order of the data."""
    partitions = suite_partitions(suite_id)
    return [
        *source_assets(suite_id, description=description),
        answer_asset(suite_id, partitions),
        score_assets(suite_id, partitions),
    ]
