"""The judge protocol, its settings, and the registry that kinds join."""

from collections.abc import Sequence
from typing import Protocol

from pydantic import Field

from evalplatform.calls.ask import Asker
from evalplatform.judging.records import Judgement, JudgeTask
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.registry import Registry
from evalplatform.kernel.values import Value
from evalplatform.ports.model_client import Sampling


class JudgeSettings(Value):
    """What decides a judge's behaviour, and so its key.

    `rubric` is further instructions in the user's words, or None. `roles` names who votes, of a kind that votes; None is all of them.
    """

    kind: str
    provider: str = Field(min_length=1)
    model: str = Field(min_length=1)
    base_url: str | None = None
    sampling: Sampling = Sampling()
    rubric: str | None = None
    grounded_from_topics: bool = False
    roles: tuple[str, ...] | None = None


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

    @property
    def roles(self) -> tuple[str, ...]:
        """The names of those who vote, in the order of their votes; empty for a judge of one voice."""
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


def judge_model_stamp(model: str, roles: Sequence[str]) -> str:
    """Return how an artifact names the model that judged: `panel[a+b]:model` where roles vote (treatment-arms spec, section 6)."""
    return f"panel[{'+'.join(roles)}]:{model}" if roles else model


def model_of_stamp(stamp: str) -> str:
    """Return the model that a `judge_model_stamp` names, without the roles that voted."""
    _, panel, model = stamp.partition("]:")
    return model if panel and stamp.startswith("panel[") else stamp


def refuse_roles(settings: JudgeSettings) -> None:
    """Raise InputError where a judge of one voice was given roles."""
    if settings.roles is not None:
        raise InputError(f"are for the judge kind 'panel'; the kind {settings.kind!r} has one voice.", field="roles")


judge_kinds: Registry[JudgeFactory] = Registry("judge_kinds", noun="judge kind", kinds_package="evalplatform.judging.kinds")
