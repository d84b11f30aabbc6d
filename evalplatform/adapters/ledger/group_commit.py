"""One thread that serves many coroutines: whatever waits when it is free goes into one transaction."""

from asyncio import AbstractEventLoop, Future, get_running_loop
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from evalplatform.kernel.errors import StorageError, StorageUnavailableError

Operation = TypeVar("Operation")

MAX_BATCH = 500


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting(Generic[Operation]):
    """An operation, and the coroutine that waits for its result."""

    operation: Operation
    loop: AbstractEventLoop
    future: "Future[Any]"


class GroupCommit(Generic[Operation]):
    """Runs operations in batches, on a thread of its own.

    While one batch commits, the next one gathers: the more callers, the larger the batches and the cheaper each operation. The queue never
    holds more than the callers that wait, since each waits for its own result before it goes on.

    Every caller gets an answer: a batch that fails because the database does not answer fails for all of its callers; one that fails for
    any other reason is run again one operation at a time, so that an operation the database refuses fails alone.

    Args:
        run_batch: does what the operations say in one transaction and returns their results in order, after the commit.
        name: the thread's name.
    """

    def __init__(self, run_batch: Callable[[Sequence[Operation]], Sequence[object]], *, name: str) -> None:
        self._run_batch = run_batch
        self._queue: SimpleQueue[_Waiting[Operation] | None] = SimpleQueue()
        self._closing = Lock()
        self._closed = False
        self._thread = Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def submit(self, operation: Operation) -> Any:
        """Return the operation's result, once its transaction is committed.

        Raises:
            StorageUnavailableError: the database does not answer, or `close` was called.
            StorageError: the database refuses this operation.
        """
        loop = get_running_loop()
        future: Future[Any] = loop.create_future()
        with self._closing:  # nothing may queue up behind the closing mark: nobody would answer it
            if self._closed:
                raise StorageUnavailableError("the ledger is closed.")
            self._queue.put(_Waiting(operation, loop, future))
        return await future

    def close(self) -> None:
        """Finish what is queued and end the thread; calling it twice is fine."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
        closing = False
        while not closing:
            batch: list[_Waiting[Operation]] = []
            waiting = self._queue.get()
            while waiting is not None:
                batch.append(waiting)
                if len(batch) == MAX_BATCH:
                    break
                try:
                    waiting = self._queue.get_nowait()
                except Empty:
                    break
            closing = waiting is None
            if batch:
                self._answer(batch)

    def _answer(self, batch: Sequence[_Waiting[Operation]]) -> None:
        try:
            results = self._run_batch([waiting.operation for waiting in batch])
        except StorageUnavailableError as error:
            _resolve(batch, [error] * len(batch))
        except Exception as error:
            if len(batch) > 1:
                for waiting in batch:
                    self._answer([waiting])
            else:
                _resolve(batch, [error if isinstance(error, StorageError) else _refused(error)])
        else:
            _resolve(batch, results)


def _refused(error: Exception) -> StorageError:
    refusal = StorageError(f"the ledger cannot do this: {type(error).__name__}: {error}")
    refusal.__cause__ = error
    return refusal


def _resolve(batch: Sequence[_Waiting[Any]], results: Sequence[object]) -> None:
    """Hand the results over, with one wake-up for each event loop."""
    by_loop: dict[AbstractEventLoop, list[tuple[Future[Any], object]]] = {}
    for waiting, result in zip(batch, results, strict=True):
        by_loop.setdefault(waiting.loop, []).append((waiting.future, result))
    for loop, outcomes in by_loop.items():
        try:
            loop.call_soon_threadsafe(_set_results, outcomes)
        except RuntimeError:  # the loop has ended, and with it everyone who waited
            continue


def _set_results(outcomes: Sequence[tuple["Future[Any]", object]]) -> None:
    for future, result in outcomes:
        if future.done():  # its caller was cancelled
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
