"""What an arms report says of retrieval: of the documents that questions require, how many each arm brought back."""

from evalplatform.answering.records import ArmAnswer
from evalplatform.comparisons.arm_retrieval import answer_retrieval
from evalplatform.comparisons.records import ArmRetrieval, ArmSummary
from evalplatform.kernel.values import Value
from evalplatform.questions.records import Question
from evalplatform.reports import words
from evalplatform.reports.view import Cell, Column, Section, Table
from evalplatform.retrieval.measures import RetrievalMeasures

RATE_DECIMALS = 3

COLUMNS = (
    Column(label="Arm", numeric=False),
    Column(label="Documents", numeric=False, meaning="Retrieved: before reranking. Kept: what passed the reranker and went to the model."),
    Column(label="k", meaning="How many documents there could be for a question."),
    Column(label="Recall@k", meaning="Mean share of a question's required documents that are there."),
    Column(label="95% interval", meaning="Student's t over questions, cut at 0 and 1."),
    Column(label="Best possible", meaning="Recall@k of a perfect source: below 1 where questions require more than k documents."),
    Column(label="Hit@k", meaning="Share of questions with at least one required document."),
    Column(label="95% interval of hit@k", meaning="Wilson's score interval."),
    Column(label="Hits"),
    Column(label="Measured", meaning="Questions whose retrieval came back, of those that require documents."),
)


class RequiredFound(Value):
    """How many of one question's required documents one answer's retrieval found, and how many of those it kept."""

    required: int
    retrieved: int
    kept: int


def required_found(question: Question, answer: ArmAnswer) -> RequiredFound | None:
    """Return what an answer's retrieval found, or None where nothing is required or nothing was retrieved."""
    required = frozenset(question.required_documents)
    found = answer_retrieval(answer)
    if not required or found is None:
        return None
    return RequiredFound(
        required=len(required), retrieved=len(required.intersection(found.retrieved)), kept=len(required.intersection(found.kept))
    )


def retrieval_section(summary: ArmSummary) -> Section | None:
    """Return recall and hits of every arm that retrieves; None where none does or no question requires a document."""
    rows = tuple(row for found in summary.retrieval.values() for row in _rows(found))
    if not rows:
        return None
    notes = ["A question that requires no document is not measured. Each question weighs the same."]
    if any(found.retrieved is None or found.retrieved.measured < found.questions for found in summary.retrieval.values()):
        notes.append("Questions whose retrieval failed, or was never tried, are not measured: they are not counted as misses.")
    if summary.cluster_field is not None:
        notes.append(
            f"Intervals of recall are clustered by {summary.cluster_field}; Wilson's interval would suppose independent questions."
        )
    return Section(
        key="retrieval",
        title="Retrieval",
        intro="Of the documents that a question requires: how many were found, and how many of them the model was sent.",
        table=Table(columns=COLUMNS, rows=rows),
        notes=tuple(notes),
    )


def retrieval_sentences(summary: ArmSummary) -> tuple[str, ...]:
    """Return the retrieval of every arm as one line, for a terminal: `docs: recall@5 0.071 [0.042, 0.100], hit@5 32/97; ...`."""
    return tuple(f"{found.arm}: {_sentence(found.retrieved)}; kept: {_sentence(found.kept)}" for found in summary.retrieval.values())


def _sentence(measures: RetrievalMeasures | None) -> str:
    if measures is None:
        return "no retrieval came back"
    recall = words.fixed(measures.mean_recall_rate, RATE_DECIMALS)
    interval = words.interval(measures.recall_ci_lo_rate, measures.recall_ci_hi_rate, decimals=RATE_DECIMALS)
    return f"recall@{measures.k} {recall} {interval}, hit@{measures.k} {measures.hits:,}/{measures.measured:,}"


def _rows(found: ArmRetrieval) -> tuple[tuple[Cell, ...], ...]:
    return tuple(_row(found, name, measures) for name, measures in (("retrieved", found.retrieved), ("kept", found.kept)))


def _row(found: ArmRetrieval, name: str, measures: RetrievalMeasures | None) -> tuple[Cell, ...]:
    if measures is None:
        missing = (Cell(text=words.MISSING),) * (len(COLUMNS) - 3)
        return (Cell(text=found.arm), Cell(text=name), *missing, Cell(text=f"0/{found.questions:,}", tone="caution"))
    lo, hi = measures.recall_ci_lo_rate, measures.recall_ci_hi_rate
    texts = (
        found.arm,
        name,
        words.count(measures.k),
        words.fixed(measures.mean_recall_rate, RATE_DECIMALS),
        words.interval(lo, hi, decimals=RATE_DECIMALS),
        words.fixed(measures.best_recall_rate, RATE_DECIMALS),
        words.fixed(measures.hit_rate, RATE_DECIMALS),
        words.interval(measures.hit_ci_lo_rate, measures.hit_ci_hi_rate, decimals=RATE_DECIMALS),
        f"{measures.hits:,}/{measures.measured:,}",
    )
    measured = Cell(text=f"{measures.measured:,}/{found.questions:,}", tone="caution" if measures.measured < found.questions else "plain")
    return (*(Cell(text=text) for text in texts), measured)
