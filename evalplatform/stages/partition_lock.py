"""One run at a time at one partition: what it asks, no other run asks beside it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evalplatform.calls.progress import Progress
from evalplatform.stages.context import StageKey, StageResult, SuiteContext, unchanged_result

OTHER_RUN = "another run of this partition"


@asynccontextmanager
async def partition_held(context: SuiteContext, key: StageKey, *, stage: str) -> AsyncIterator[StageResult | None]:
    """Hold the lock of a stage's partition for the body, and yield what is stored of exactly these inputs by then, or None.

    A stage comes here once it has found nothing stored, so a run that changes nothing takes no lock. While it waited, the run that it
    waited for may have stored what it was to make: then it has nothing to ask.

    Args:
        context: the suite.
        key: which version the stage makes; the lock is of its artifact, whatever the inputs.
        stage: the name under which progress is told.

    Raises:
        StorageUnavailableError: the lock cannot be asked for.
    """
    waiting = Progress(stage=stage, done=0, total=0, waits_for=OTHER_RUN)
    name = f"{context.project.settings.project}/{key.artifact.path}"
    async with context.locks.held(name, on_wait=lambda: context.on_progress(waiting)):
        yield unchanged_result(context, key)
