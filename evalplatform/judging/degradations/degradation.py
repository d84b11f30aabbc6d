"""What a degradation is, and the registry that kinds join."""

from collections.abc import Sequence
from typing import Protocol

from evalplatform.judging.degradations.names import Name
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.registry import Registry
from evalplatform.kernel.seeds import derived_seed
from evalplatform.kernel.values import Value


class Degraded(Value):
    """An answer made worse. `change` says in a clause what was done to it, such as `"30" became "50" in 2 places`."""

    text: str
    change: str


class Degradation(Protocol):
    """Makes an answer worse in one way. A pure function of what it is given."""

    @property
    def what(self) -> str:
        """What is done to an answer, as a clause."""
        ...

    @property
    def lack(self) -> str:
        """The word for an answer that offers nothing to degrade in this way, such as `no_number`."""
        ...

    @property
    def is_worse(self) -> bool:
        """Whether a judge should rank the degraded answer lower; False where it only should not rank it higher."""
        ...

    def degraded(self, answer: str, *, seed: int, names: Sequence[Name]) -> Degraded | None:
        """Return the answer made worse, or None where it offers nothing to change.

        Args:
            answer: the intact answer.
            seed: decides every choice there is.
            names: names that stand in other answers, where one is to be taken for another.
        """
        ...


class DegradationFactory(Protocol):
    """Makes a degradation; a class without parameters is one."""

    def __call__(self) -> Degradation:
        """Return the degradation."""
        ...


degradations: Registry[DegradationFactory] = Registry(
    "degradations", noun="degradation", kinds_package="evalplatform.judging.degradations.kinds"
)


def degraded_answer(name: str, answer: str, *, names: Sequence[Name] = ()) -> Degraded | None:
    """Return an answer degraded by the degradation of that name, or None where it offers nothing to change.

    The seed is derived from the answer's digest and the degradation's name, so that an answer has one degraded copy of each kind: judged
    once, it is in the ledger.

    Raises:
        UnknownNameError: no degradation has that name.
    """
    if not answer.strip():
        return None
    return degradations.get(name)().degraded(answer, seed=derived_seed("degradation", name, text_digest(answer)), names=names)
