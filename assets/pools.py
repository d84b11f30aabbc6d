"""Concurrency pools: which runs may ask an endpoint at the same time.

A pool belongs to an op, not to a partition, and an op has one. So an asset whose cells (or judges) share an endpoint waits in that
endpoint's pool, and one that asks several waits in a pool of their joined names, which holds back only what asks the same ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import dagster as dg

from evalplatform.project.load import Project

JOINED = "+"  # no endpoint id holds it


@dataclass(frozen=True)
class SuitePools:
    """The pools of a suite's ops that ask models; None asks nobody, or is not held back."""

    answers: str | None = None
    scores: str | None = None

    @property
    def names(self) -> frozenset[str]:
        """Every pool, once."""
        return frozenset(pool for pool in (self.answers, self.scores) if pool is not None)


def suite_pools(project: Project, suite_id: str) -> SuitePools:
    """Return the pools of a suite's ops. They are read when the code location loads: a cell that changes its endpoint needs a reload.

    Raises:
        UnknownNameError: the project has no such suite.
    """
    return SuitePools(
        answers=pool_of(cell.endpoint for cell in project.cells_of(suite_id)),
        scores=pool_of(judge.endpoint for judge in project.judges_of(suite_id)),
    )


def pool_of(endpoint_ids: Iterable[str]) -> str | None:
    """Return the pool of an op that asks these endpoints, or None where it asks none."""
    return JOINED.join(sorted(set(endpoint_ids))) or None


def limit_pools(instance: dg.DagsterInstance, project: Project) -> None:
    """Give the project's pools the instance's default limit where they have none yet.

    Dagster does so by itself, but only after it let go all runs that it first found waiting for a pool.
    """
    if instance.global_op_concurrency_default_limit is None or not instance.event_log_storage.supports_global_concurrency_limits:
        return
    limited = {limit.name for limit in instance.event_log_storage.get_pool_limits()}
    for suite_id in project.settings.suites:
        for pool in suite_pools(project, suite_id).names - limited:
            instance.event_log_storage.initialize_concurrency_limit_to_default(pool)
