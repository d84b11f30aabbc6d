"""What an arm is: a treatment that, for one question, says what the answering agent is sent and what its judge may see."""

from typing import Protocol

from pydantic import Field, JsonValue

from evalplatform.kernel.material import JudgeMaterial
from evalplatform.kernel.values import Value
from evalplatform.ports.documents import Chunk
from evalplatform.questions.records import Question


class AgentConfig(Value):
    """What one arm adds for one question.

    `contexts` go before the question, in order, inside one context block; `chunks` are the retrieved pieces behind them, for the record;
    `metadata` is what the artifact keeps of the treatment (kind, digests, sizes, truncation).
    """

    system_prompt: str | None = None
    contexts: tuple[str, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    material: JudgeMaterial = JudgeMaterial()
    metadata: dict[str, JsonValue] = Field(default_factory=dict)


class Treatment(Protocol):
    """One built arm kind. Building reads its files; `open` connects what it needs; both happen before the first model call."""

    @property
    def kind(self) -> str:
        """The kind as in the spec, such as `docs`."""
        ...

    @property
    def name(self) -> str:
        """The arm name that the spec gives, such as `skill:demo`."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was found in its files that is no reason to refuse them, one sentence each, with the file's name."""
        ...

    async def open(self) -> dict[str, str]:
        """Make ready, once, and return the named digests of all that this treatment can inject; they go into the data version.

        Raises:
            TreatmentFileError: its files cannot be used.
            RetrievalError: its document source does not answer.
        """
        ...

    async def prepare(self, question: Question) -> AgentConfig:
        """Return what this arm adds for the question.

        Raises:
            RetrievalError: the treatment could not be prepared; the answer becomes a failed row.
        """
        ...

    async def aclose(self) -> None:
        """Close connections; calling it twice is fine."""
        ...


class Arm(Value):
    """A named place in an experiment: its spec as written, and the name that results carry."""

    name: str
    spec: str
