"""Moved scores in words: what they are compared with, what the judge moved, what the answers moved, and what cannot be told."""

from collections.abc import Sequence

from evalplatform.comparisons.score_move_summary import ArmMoves, DeltaMove, MeanMove, MoveSummary, ScoredVersion, StoredMoves
from evalplatform.comparisons.score_moves import Bridge, ScoreMove
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.markdown import markdown_facts, markdown_section, markdown_text
from evalplatform.reports.view import Cell, Column, Fact, Section, Table

LARGEST_SHOWN = 20
RELATIONS = {
    "same_judge": "earlier scores by the same judge",
    "edited_judge": "scores by this judge before it was edited",
    "other_judge": "scores by another judge",
}
# Where what was edited was put back: the scores now were stored before the edit, and those of the edit were current until it was undone.
RELATIONS_OF_LATER = {
    "same_judge": "the scores that were current before: made later, by the same judge, of what was edited until that was undone",
    "edited_judge": "the scores that were current before: made later, by the judge as it was until its edit was undone",
    "other_judge": "the scores that were current before: made later, by another judge",
}
BRIDGES: dict[Bridge, str] = {
    "new_answer_old_judge": "the new answer by the judge before",
    "old_answer_new_judge": "the old answer by the judge now",
}
FIRST_SCORES = "These are the first scores of this cell: there are none before them to compare with."
ARM = Column(label="Arm", numeric=False)
ARM_COLUMNS = (
    ARM,
    Column(label="Scores", meaning="All scores of the arm, before or now."),
    Column(label="Told apart", meaning="Scores whose move is known to be the judge's, the answer's, or how much of each."),
    Column(label="Judge moved", meaning="Mean over questions, in points: the same answer, judged in another way."),
    Column(label="95% interval"),
    Column(label="Scores moved by it"),
    Column(label="Answers moved", meaning="Mean over questions, in points: another answer, judged in the same way."),
    Column(label="95% interval"),
    Column(label="Scores moved by it"),
)
DELTA_COLUMNS = (
    ARM,
    Column(label="Questions", meaning="Scored in both arms, before and now."),
    Column(label="Delta before"),
    Column(label="Delta now"),
    Column(label="Change"),
    Column(label="95% interval"),
    Column(label="Told apart", meaning="Questions over which the two columns beside it are."),
    Column(label="By the judge"),
    Column(label="By the answers"),
)


def score_moves_markdown(stored: StoredMoves, moves: Sequence[ScoreMove], *, suite: str) -> str:
    """Return the moves as a Markdown page: what is compared, sentences, the arms, their deltas, what cannot be told, the largest moves."""
    parts = [f"# {markdown_text(f'Score moves of {suite}')}\n", markdown_facts(_facts(stored))]
    parts.append("\n".join(f"- {markdown_text(sentence)}" for sentence in move_sentences(stored)) + "\n")
    if stored.summary is not None:
        sections = (_arm_section(stored.summary), _delta_section(stored.summary), _rest_section(stored.summary), _largest_section(moves))
        parts += [markdown_section(section) for section in sections if section is not None]
    return "\n".join(parts)


def move_sentences(stored: StoredMoves) -> tuple[str, ...]:
    """Return what moved the scores, a sentence an arm; one sentence where these are the first scores."""
    if stored.summary is None or stored.relation is None:
        return (FIRST_SCORES,)
    return tuple(_sentence(arm) for arm in stored.summary.arms.values())


def _sentence(arm: ArmMoves) -> str:
    untold = arm.rows - arm.separable
    rest = f"; {untold:,} of {plural(arm.rows, 'score')} cannot be told" if untold else ""
    if not arm.separable:
        return f"{arm.arm}: none of {plural(arm.rows, 'score')} can be told."
    return f"{arm.arm}: the judge moved it by {_mean_words(arm.judge)}, the answers by {_mean_words(arm.answers)}{rest}."


def _mean_words(mean: MeanMove) -> str:
    interval = "" if mean.ci_lo_points is None else f" {words.interval(mean.ci_lo_points, mean.ci_hi_points, signed=True)}"
    return f"{words.points(mean.mean_points, signed=True)}{interval} points"


def _facts(stored: StoredMoves) -> list[Fact]:
    facts = [Fact(label="Cell", value=stored.cell_key), Fact(label="Now", value=_version(stored.now))]
    if stored.before is not None and stored.relation is not None:
        same = stored.before.answers_version == stored.now.answers_version
        relations = RELATIONS_OF_LATER if stored.before.scored_at > stored.now.scored_at else RELATIONS
        facts.append(Fact(label="Before", value=f"{_version(stored.before)}; {relations[stored.relation]}"))
        facts.append(
            Fact(label="Answers", value="the same version" if same else "another version; texts that are the same count as the same")
        )
    return [*facts, Fact(label="Model calls", value="0")]


def _version(scored: ScoredVersion) -> str:
    return (
        f"judge {scored.judge_key} ({scored.judge_model}, prompt {scored.prompt_digest[:19]}), scores {scored.scores_version} of "
        f"{scored.scored_at:%Y-%m-%d %H:%M:%S} UTC, answers {scored.answers_version}"
    )


def _arm_section(summary: MoveSummary) -> Section:
    return Section(
        key="arms",
        title="What moved each arm",
        intro="The judge moves a score where one answer is judged in two ways, the answers where two answers are judged in one way.",
        table=Table(columns=ARM_COLUMNS, rows=tuple(_arm_row(arm) for arm in summary.arms.values())),
        notes=tuple(_bridge_note(arm) for arm in summary.arms.values() if arm.bridges),
    )


def _arm_row(arm: ArmMoves) -> tuple[Cell, ...]:
    texts = (arm.arm, words.count(arm.rows), words.count(arm.separable), *_mean_texts(arm.judge), *_mean_texts(arm.answers))
    return tuple(Cell(text=text) for text in texts)


def _mean_texts(mean: MeanMove) -> tuple[str, str, str]:
    interval = words.interval(mean.ci_lo_points, mean.ci_hi_points, signed=True)
    return words.points(mean.mean_points, signed=True), interval, words.count(mean.moved_rows)


def _bridge_note(arm: ArmMoves) -> str:
    named = ", ".join(f"{BRIDGES[bridge]} {number:,}" for bridge, number in arm.bridges.items())
    return f"{arm.arm}: where answer and judging both changed, a third score told them apart ({named})."


def _delta_section(summary: MoveSummary) -> Section | None:
    if not summary.deltas:
        return None
    return Section(
        key="deltas",
        title=f"What became of the deltas against {summary.baseline_arm}",
        table=Table(columns=DELTA_COLUMNS, rows=tuple(_delta_row(delta) for delta in summary.deltas.values())),
        notes=("Both deltas are over the same questions, so they may differ from those that the reports show.",),
    )


def _delta_row(delta: DeltaMove) -> tuple[Cell, ...]:
    change = delta.change
    texts = (
        delta.arm,
        words.count(change.questions),
        words.points(delta.before_points, signed=True),
        words.points(delta.now_points, signed=True),
        words.points(change.mean_points, signed=True),
        words.interval(change.ci_lo_points, change.ci_hi_points, signed=True),
        words.count(delta.separable_questions),
        words.points(delta.judge_points, signed=True),
        words.points(delta.answers_points, signed=True),
    )
    return tuple(Cell(text=text) for text in texts)


def _rest_section(summary: MoveSummary) -> Section | None:
    rows = []
    for arm in summary.arms.values():
        why = {
            "answer and judging both changed, and no third score tells them apart": arm.not_separable,
            **{f"unscored {reason}": number for reason, number in arm.unscored.items()},
            "scored now alone": arm.only_now,
            "scored before alone": arm.only_before,
        }
        rows += [(arm.arm, reason, words.count(number)) for reason, number in why.items() if number]
    if not rows:
        return None
    return Section(
        key="untold",
        title="What cannot be told",
        intro="These scores are in no mean of what moved an arm.",
        table=Table(
            columns=(ARM, Column(label="Reason", numeric=False), Column(label="Scores")),
            rows=tuple(tuple(Cell(text=text) for text in row) for row in rows),
        ),
    )


def _largest_section(moves: Sequence[ScoreMove]) -> Section | None:
    moved = [move for move in moves if move.whole_move_points]
    largest = sorted(moved, key=lambda move: -abs(move.whole_move_points or 0.0))[:LARGEST_SHOWN]
    if not largest:
        return None
    labels = ("Draw", "Before", "Now", "Judge moved", "Answers moved")
    return Section(
        key="largest",
        title="The largest moves",
        intro=f"{len(largest):,} of the {plural(len(moved), 'score')} that moved; all are in the Parquet file of this artifact.",
        table=Table(
            columns=(Column(label="Id", numeric=False), ARM, *(Column(label=label) for label in labels)),
            rows=tuple(_move_row(move) for move in largest),
        ),
    )


def _move_row(move: ScoreMove) -> tuple[Cell, ...]:
    texts = (
        move.question_id,
        move.arm,
        words.count(move.draw),
        words.points(move.points_before),
        words.points(move.points_now),
        words.points(move.judge_move_points, signed=True),
        words.points(move.answers_move_points, signed=True),
    )
    return tuple(Cell(text=text) for text in texts)
