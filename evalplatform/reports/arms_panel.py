"""What an arms report shows of a judge panel: how far its votes lie apart, and which votes have no points."""

from collections.abc import Mapping

from evalplatform.comparisons.panel_spread import PanelSpread
from evalplatform.judging.records import Judgement, PanelVerdict
from evalplatform.reports import words
from evalplatform.reports.view import Cell, Column, Fact, Section, Table

COLUMNS = (
    Column(label="Arm", numeric=False),
    Column(label="Answers"),
    Column(label="Mean spread", meaning="Sample standard deviation of the votes on one answer, in points."),
    Column(label="Mean agreement", meaning="1 - spread / 50, never below 0."),
    Column(label="Flagged", meaning="Answers whose votes spread above 15 points: their mean hides a disagreement."),
    Column(label="Votes without points", numeric=False),
)


def panel_section(spreads: Mapping[str, PanelSpread]) -> Section | None:
    """Return the panel's spread by arm; None where no panel judged."""
    if not spreads:
        return None
    notes = ["Answers with one valid vote have a score and no spread; they are left out of both means."]
    return Section(
        key="panel",
        title="Judge panel",
        intro="Points are the mean of the votes. The further the votes lie apart, the less their mean says.",
        table=Table(columns=COLUMNS, rows=tuple(_row(spread) for spread in spreads.values())),
        notes=tuple(notes if any(spread.compared < spread.answers for spread in spreads.values()) else ()),
    )


def _row(spread: PanelSpread) -> tuple[Cell, ...]:
    return (
        Cell(text=spread.arm),
        Cell(text=words.count(spread.answers)),
        Cell(text=words.points(spread.mean_sd_points)),
        Cell(text=words.fixed(spread.mean_agreement, 3)),
        Cell(text=words.count(spread.flagged), tone="caution" if spread.flagged else "plain"),
        Cell(text=words.tally(spread.lost_votes), tone="caution" if spread.lost_votes else "muted"),
    )


def spread_cell(verdicts: list[PanelVerdict]) -> Cell:
    """Return the largest spread among one question's answers, by arms and draws."""
    sds = [verdict.sd_points for verdict in verdicts if verdict.sd_points is not None and len(verdict.valid) > 1]
    flagged = any(verdict.flagged for verdict in verdicts)
    return Cell(text=words.points(max(sds, default=None)), tone="caution" if flagged else "plain" if sds else "muted")


def panel_facts(verdict: PanelVerdict) -> tuple[Fact, ...]:
    """Return every vote on one answer, then how far they lie apart."""
    votes = [
        Fact(label=f"Vote of {vote.role}", value=words.points(vote.points) if vote.reason is None else vote.reason)
        for vote in verdict.votes
    ]
    apart = f"{words.points(verdict.sd_points)}, agreement {words.fixed(verdict.agreement, 3)}"
    return (*votes, Fact(label="Spread", value=f"{apart}{', flagged' if verdict.flagged else ''}"))


def judge_reply(judgement: Judgement) -> str | None:
    """Return what the judge wrote: its reply, or every vote's reply under its role; None where it wrote nothing."""
    if judgement.panel is None:
        return judgement.raw_reply
    replies = [f"{vote.role}:\n{vote.raw_reply}" for vote in judgement.panel.votes if vote.raw_reply is not None]
    return "\n\n".join(replies) or None
