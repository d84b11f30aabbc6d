"""Concurrency pools: which runs may ask an endpoint at the same time.

A pool belongs to an op, not to a partition, and an op has one. So an asset whose cells (or judges) share an endpoint waits in that
endpoint's pool, and one that asks several waits in a pool of their joined names, which holds back only what asks the same ones.
"""

from collections.abc import Iterable

from evalplatform.project.load import Project

JOINED = "+"  # no endpoint id holds it


def pool_of(project: Project, endpoint_ids: Iterable[str]) -> str | None:
    """Return the pool of an op that asks these endpoints, or None where it asks none.

    Raises:
        UnknownNameError: the project has no such endpoint.
    """
    asked = sorted(set(endpoint_ids))
    for endpoint_id in asked:
        project.endpoint(endpoint_id)
    return JOINED.join(asked) or None
