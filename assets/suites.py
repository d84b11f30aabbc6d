"""The assets of a suite and the jobs over them: sources, answers by cell, what is made of them by cell and judge, what compares cells."""

from collections.abc import Sequence
from types import ModuleType

import dagster as dg

from assets.answers import answer_asset
from assets.comparisons import comparison_assets
from assets.declared import SUITE_TAG, group_name, keys_of
from assets.partitions import suite_partitions
from assets.pools import SuitePools
from assets.scores import score_assets
from assets.sources import source_assets
from evalplatform.project.schema import SuiteSettings
from evalplatform.stages import arm_answers, corpus, question_set
from evalplatform.stages.comparison_stages import ComparisonStage
from evalplatform.stages.score_stages import suite_stages

UNPOOLED = SuitePools()


def suite_definitions(
    suite_id: str, settings: SuiteSettings, *, description: str, pools: SuitePools, comparisons: Sequence[ComparisonStage] = ()
) -> dg.Definitions:
    """Return the assets `suites/<suite>/...` of one suite, and the jobs over them.

    One asset job holds one partitions definition, so answering, judging and the two kinds of comparisons are jobs of their own.
    """
    stages = suite_stages(settings)
    jobs: tuple[tuple[str, Sequence[ModuleType], str], ...] = (
        ("evaluate_cell", (question_set, corpus, arm_answers), "Read the questions and arms, and answer them in one cell."),
        (
            "judge_cells",
            [stage.module for stage in stages],
            "Grade stored answers, summarise and report, for one or many cells. Asks no answer.",
        ),
        (
            "reports",
            [stage.module for stage in stages if not stage.asks_judge],
            "Summarise and report what is graded already, for one or many cells. Asks no model.",
        ),
        (
            "plugin_deltas",
            [stage.module for stage in comparisons if stage.of_plugin_cells],
            "Compare plugin cells with their plugin-free pairs, from stored scores. Asks no model.",
        ),
        (
            "comparisons",
            [stage.module for stage in comparisons if not stage.of_plugin_cells],
            "Compare the suite's cells under one judge, from stored scores. Asks no model.",
        ),
    )
    return dg.Definitions(
        assets=suite_assets(suite_id, settings, description=description, pools=pools, comparisons=comparisons),
        jobs=[
            dg.define_asset_job(
                f"{group_name(suite_id)}__{name}",
                selection=dg.AssetSelection.assets(*keys_of(suite_id, modules)),
                description=text,
                tags={SUITE_TAG: suite_id},
            )
            for name, modules, text in jobs
            if modules
        ],
    )


def suite_assets(
    suite_id: str,
    settings: SuiteSettings,
    *,
    description: str,
    pools: SuitePools = UNPOOLED,
    comparisons: Sequence[ComparisonStage] = (),
) -> list[dg.AssetsDefinition]:
    """Return the assets of one suite, in the order of the data; `comparisons` are those that its cells have something for."""
    partitions = suite_partitions(suite_id)
    return [
        *source_assets(suite_id, description=description),
        answer_asset(suite_id, partitions, settings.checks, pool=pools.answers),
        score_assets(suite_id, partitions, settings, pool=pools.scores),
        *comparison_assets(suite_id, partitions, comparisons),
    ]
