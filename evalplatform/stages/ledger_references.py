"""Which calls of the ledger stored answers came from."""

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.parquet import parquet_rows
from evalplatform.ports.ledger import CallSelection, Ledger
from evalplatform.stages import arm_answers


def answered_digests(catalog: ArtifactCatalog) -> set[str]:
    """Return the request digests of all answers that are current in any suite. Scores do not name their calls."""
    digests: set[str] = set()
    for artifact in catalog.list(asset=arm_answers.ASSET):
        manifest = catalog.find_current(artifact)
        if manifest is not None:
            for rows in parquet_rows(catalog.read(manifest, arm_answers.ANSWERS_FILE), columns=["request_digest"]):
                digests.update(row["request_digest"] for row in rows if row["request_digest"] is not None)
    return digests


async def calls_behind_answers(ledger: Ledger, catalog: ArtifactCatalog, selection: CallSelection) -> int:
    """Return how many of the selected calls current answers came from.

    Raises:
        StorageError: the store or the database cannot be read.
    """
    digests = answered_digests(catalog)
    if not digests:
        return 0
    return len([row.key async for row in ledger.rows(selection) if row.key.request_digest in digests])
