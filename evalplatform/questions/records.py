"""A question and a question set, as values."""

from pydantic import Field, JsonValue

from evalplatform.kernel.values import Value

REQUIRED_DOCUMENTS = "required_documents"
"""The key of a question's metadata that lists the documents a full answer needs, by id: a file's name without folder and last ending."""


class Fact(Value):
    """Something a good answer says (or, as a forbidden fact, must not say).

    An answer states the fact when it holds any one of the wordings; the first is the one that reports show.
    """

    any_of: tuple[str, ...] = Field(min_length=1)

    @property
    def label(self) -> str:
        """The wording that reports show."""
        return self.any_of[0]


class Question(Value):
    """One question. `id` is unique in its set and always text; `extra` keeps the keys that questions.v2 leaves open."""

    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    category: str | None = None
    level: str | None = None
    difficulty: str | int | float | None = None
    persona: str | dict[str, JsonValue] | None = None
    expected_skill: str | list[str] | None = None
    has_expected_skill: bool = False
    ground_truth_chunk: str | None = None
    expected_topics: tuple[str, ...] = ()
    expected_facts: tuple[Fact, ...] = ()
    forbidden_facts: tuple[Fact, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    extra: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def required_documents(self) -> tuple[str, ...]:
        """The ids of the documents that a full answer needs: `metadata.required_documents`, empty where the question names none."""
        ids = self.metadata.get(REQUIRED_DOCUMENTS)
        return tuple(str(document_id) for document_id in ids) if isinstance(ids, list) else ()


class QuestionSet(Value):
    """Ordered questions with unique ids.

    `digest` covers everything of every question, in order, after upgrading, and nothing of the file's spelling: the same questions as CSV,
    JSON or JSON Lines have one digest. `warnings` holds one sentence for each kind of upgrade that was not silent.
    """

    source: str
    questions: tuple[Question, ...]
    digest: str
    warnings: tuple[str, ...] = ()

    @property
    def required_documents(self) -> dict[str, frozenset[str]]:
        """The ids of the documents that each question requires, of the questions that require any."""
        return {question.id: frozenset(question.required_documents) for question in self.questions if question.required_documents}
