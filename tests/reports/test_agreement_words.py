"""How the agreement of judges with people is spelled."""

from evalplatform.comparisons.label_records import JudgeAgreement, LabelAgreement, PointsAgreement, VerdictAgreement
from evalplatform.reports.agreement_words import agreement_lines
from evalplatform.stats.wilson import wilson_interval


def test_a_share_and_its_interval_are_rounded_to_the_nearest() -> None:
    found = LabelAgreement(
        answers=77,
        labelled=77,
        unscored=0,
        tied_verdicts=0,
        labellers=("ana",),
        decided_by_model=True,
        points=PointsAgreement(
            pairs=77,
            rank_correlation=None,
            rank_correlation_reason="withheld",
            same_side=wilson_interval(34, 77),  # 0.441558 [0.336053, 0.552618]
            same_side_reason=None,
        ),
        verdicts=VerdictAgreement(pairs=0, agreement=None, agreement_reason="withheld", kappa=None, kappa_reason="withheld"),
    )
    lines = list(
        agreement_lines(
            JudgeAgreement(
                suite="kettle", judge="strict", judge_key="strict-000000", is_retired=False, cells=("one",), pass_points=50.0, found=found
            )
        )
    )
    assert "    same side of 50 points: 44.2% [33.6%, 55.3%]" in lines
