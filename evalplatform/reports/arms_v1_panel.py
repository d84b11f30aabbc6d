"""A panel's votes as the `panel` object of an arms.v1 score, and back."""

from evalplatform.judging.records import PanelVerdict, PanelVote
from evalplatform.reports.arms_v1_wire import JsonObject, WirePanel, WireVote


def panel_record(verdict: PanelVerdict) -> JsonObject:
    """Return how a panel voted, in the names of the format. Raw replies stay in the scores' own table, as those of one judge do."""
    return {
        "n_judges": len(verdict.votes),
        "n_valid": len(verdict.valid),
        "std_aggregate": verdict.sd_points,
        "agreement_score": verdict.agreement,
        "disagreement_flag": verdict.flagged,
        "votes": [_vote_record(vote) for vote in verdict.votes],
    }


def panel_row(wire: WirePanel) -> PanelVerdict:
    """Return a `panel` object as a verdict. The spread is the file's own, since other tools keep fewer decimals."""
    return PanelVerdict(
        votes=tuple(_vote_row(vote) for vote in wire.votes),
        sd_points=wire.std_aggregate,
        agreement=wire.agreement_score,
        flagged=wire.disagreement_flag,
    )


def _vote_record(vote: PanelVote) -> JsonObject:
    record: JsonObject = {"role": vote.role, "aggregate": vote.points, "error": vote.reason, "dimensions": dict(vote.dimensions)}
    optional: JsonObject = {
        "caps": vote.caps,
        "unread_claims": list(vote.unread_claims),
        "redraws": vote.redraws,
        "notes": vote.notes,
    }
    return {**record, **{name: value for name, value in optional.items() if value}}


def _vote_row(wire: WireVote) -> PanelVote:
    return PanelVote(
        role=wire.role,
        points=wire.aggregate,
        reason=None if wire.aggregate is not None else wire.error or "unknown",
        dimensions=wire.dimensions,
        caps=wire.caps,
        unread_claims=wire.unread_claims,
        redraws=wire.redraws,
        notes=wire.notes,
    )
