"""Verdicts as words."""

from evalplatform.comparisons.records import ArmDelta
from evalplatform.reports.arms_report import finding
from evalplatform.reports.arms_sections import verdict
from evalplatform.stats.paired import PairedEffect


def delta(*, p_adjusted: float, p_wilcoxon: float, significant: bool) -> ArmDelta:
    effect = PairedEffect(
        n=40,
        delta_mean=13.1,
        delta_sd=30.0,
        standard_error=4.7,
        d_z=0.44,
        effect="small",
        ci_lo=3.0,
        ci_hi=23.2,
        ci_method="student_t",
        p_t=p_adjusted,
        p_wilcoxon=p_wilcoxon,
        n_wilcoxon=40,
        p_permutation=None,
    )
    return ArmDelta(
        arm="skill:demo",
        baseline_arm="baseline",
        pairs=40,
        effect=effect,
        significant=significant,
        p_adjusted=p_adjusted,
        significant_adjusted=significant,
        correction="holm",
        family_size=1,
        family_tested=1,
    )


def test_a_small_p_without_the_rank_test_is_said_to_be_a_disagreement_of_tests():
    undecided = delta(p_adjusted=0.012, p_wilcoxon=0.07, significant=False)
    assert verdict(undecided) == "no difference shown (tests disagree)"
    assert finding(undecided).sentence == "skill:demo: no difference from baseline shown, since the tests disagree"


def test_a_large_p_is_plainly_no_difference_shown():
    assert verdict(delta(p_adjusted=0.4, p_wilcoxon=0.5, significant=False)) == "no difference shown"


def test_both_tests_together_decide_the_direction():
    assert verdict(delta(p_adjusted=0.012, p_wilcoxon=0.01, significant=True)) == "higher"


def test_few_clusters_are_what_a_test_lacks_and_not_spread():
    clustered = delta(p_adjusted=0.4, p_wilcoxon=0.5, significant=False)
    assert clustered.effect is not None
    effect = clustered.effect.with_changes(clusters=4, p_t=None, p_wilcoxon=None, ci_method="cluster_t")
    untested = clustered.with_changes(effect=effect, p_adjusted=None, significant=None, significant_adjusted=None)
    assert verdict(untested) == "— (4 clusters, 6 needed)"
    assert "4 clusters, 6 needed" in finding(untested).evidence
