"""The judge protocol, its settings, and the registry that kinds join."""

from typing import Protocol

from pydantic import Field

from evalplatform.calls.ask import Asker
from evalplatform.judging.records import Judgement, JudgeTask
from evalplatform.kernel.registry import Registry
from evalplatform.kernel.values import Value
from evalplatform.ports.model_client import Sampling


class JudgeSettings(Value):
    """What decides a judge's behaviour, and so its key. `rubric` is further instructions in the user's words, or None."""

    kind: str
    provider: str = Field(min_length=1)
    model: str = Field(min_length=1)
    base_url: str | None = None
    sampling: Sampling = Sampling()
    rubric: str | None = None
    grounded_from_topics: bool = False


class Judge(Protocol):
    """Judges one answer at a time. One instance serves many concurrent tasks."""

    @property
    def prompt_digest(self) -> str:
        """The digest of everything fixed that the judge is told (or, for a program, of its rule's name and version)."""
        ...

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the dimensions it gives."""
        ...

    async def judge(self, task: JudgeTask) -> Judgement:
        """Return points, or None with a reason. A call that failed becomes an unscored judgement, never an exception.

        Raises:
            RunStoppedError: the run ends here.
        """
        ...


class JudgeFactory(Protocol):
    """Builds a judge of one kind. `asker` is None for kinds that make no call, and where only the judge's digest and metrics are wanted."""

    def __call__(self, settings: JudgeSettings, *, asker: Asker | None) -> Judge:
        """Return the judge, or raise InputError where the settings make no sense for the kind."""
        ...


judge_kinds: Registry[JudgeFactory] = Registry("judge_kinds", noun="judge kind", kinds_package="evalplatform.judging.kinds")
