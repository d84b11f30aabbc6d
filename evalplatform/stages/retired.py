"""Which stored artifacts the project file no longer asks for: of a cell or judge that is gone, or a comparison without cells to compare."""

from evalplatform.artifacts.records import ArtifactId
from evalplatform.kernel.values import Value
from evalplatform.project import partition_keys
from evalplatform.project.load import Project
from evalplatform.project.partition_keys import CurrentKeys, current_keys
from evalplatform.stages.comparison_stages import COMPARISON_ASSETS, comparisons_of


class AskedFor(Value):
    """What a project file asks for.

    Attributes:
        suites: the ids of its suites.
        keys: their keys of cells and judges.
        comparisons: every partition of what compares their cells.
    """

    suites: frozenset[str]
    keys: CurrentKeys
    comparisons: frozenset[ArtifactId]


def asked_for(project: Project) -> AskedFor:
    """Return what a project file asks for."""
    suites = project.settings.suites
    comparisons = (
        ArtifactId(suite=suite_id, asset=comparison.stage.asset, partition=comparison.partition)
        for suite_id in suites
        for comparison in comparisons_of(project, suite_id)
    )
    return AskedFor(suites=frozenset(suites), keys=current_keys(project), comparisons=frozenset(comparisons))


def is_retired(artifact: ArtifactId, asked: AskedFor) -> bool:
    """Say whether a suite of the project file does not ask for an artifact (any more).

    It is of a cell or judge that the suite does not have, or a comparison that its cells give nothing to: of a plugin cell that lost its
    plugin-free pair, say. What is of no suite of the file, such as one made up from flags, is not retired.
    """
    if artifact.asset in COMPARISON_ASSETS and artifact.suite in asked.suites:
        return artifact not in asked.comparisons
    return partition_keys.is_retired(artifact, asked.keys)
