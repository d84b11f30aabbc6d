"""The computed blocks of an arms.v1 file: `summary` and `cost_summary`, rounded as the format says (treatment-arms spec, 8 and 9)."""

from pydantic import JsonValue

from evalplatform.comparisons.records import ArmCost, ArmDelta, ArmSummary, Interaction
from evalplatform.comparisons.significance import Verdict
from evalplatform.reports.arms_v1_wire import JsonObject
from evalplatform.reports.rounding import rounded, rounded_or_none, rounded_p
from evalplatform.retrieval.measures import RetrievalMeasures
from evalplatform.stats.paired import PairedEffect


def summary_block(summary: ArmSummary) -> JsonObject:
    """Return `summary`: averages and paired significance by arm, and interactions where there are any.

    `delta_vs_baseline` is the difference of two rounded averages, each over whatever its arm scored, as the format defines it; the paired
    delta is `significance.delta_mean`. The key is null on the baseline and absent where the baseline has no average.
    """
    averages = {arm: rounded_or_none(score.mean_points, 1) for arm, score in summary.scores.items()}
    baseline_average = averages[summary.baseline_arm]
    per_arm: JsonObject = {}
    for arm, average in averages.items():
        block: JsonObject = {"avg_aggregate": average, "n": summary.scores[arm].scored}
        if baseline_average is not None:
            is_compared = average is not None and arm != summary.baseline_arm
            block["delta_vs_baseline"] = rounded(average - baseline_average, 1) if is_compared and average is not None else None
        delta = summary.deltas.get(arm)
        if delta is not None and delta.effect is not None:
            block["significance"] = {**effect_block(delta.effect), **verdict_block(delta, correction=delta.correction, family="arms")}
        per_arm[arm] = block
    if not summary.interactions:
        return {"per_arm": per_arm}
    return {"per_arm": per_arm, "interactions": [_interaction_block(item) for item in summary.interactions]}


def cost_summary_block(summary: ArmSummary) -> JsonObject:
    """Return `cost_summary` by arm; an arm without a finished answer is absent."""
    return {arm: _cost_block(cost) for arm, cost in summary.costs.items() if cost.answers}


def retrieval_summary_block(summary: ArmSummary) -> JsonObject:
    """Return `retrieval_summary` by arm, this platform's own block; the arms that retrieve, where questions require documents."""
    return {
        arm: {"questions": found.questions, "retrieved": _measures_block(found.retrieved), "kept": _measures_block(found.kept)}
        for arm, found in summary.retrieval.items()
    }


def _measures_block(measures: RetrievalMeasures | None) -> JsonObject | None:
    if measures is None:
        return None
    return {
        "k": measures.k,
        "n": measures.measured,
        "recall_mean": rounded_or_none(measures.mean_recall_rate, 4),
        "recall_ci_lo": rounded_or_none(measures.recall_ci_lo_rate, 4),
        "recall_ci_hi": rounded_or_none(measures.recall_ci_hi_rate, 4),
        "recall_best_possible": rounded_or_none(measures.best_recall_rate, 4),
        "hits": measures.hits,
        "hit_rate": rounded_or_none(measures.hit_rate, 4),
        "hit_ci_lo": rounded_or_none(measures.hit_ci_lo_rate, 4),
        "hit_ci_hi": rounded_or_none(measures.hit_ci_hi_rate, 4),
    }


def effect_block(effect: PairedEffect) -> JsonObject:
    """Return an effect's part of a significance block."""
    return {
        "n": effect.n,
        "delta_mean": rounded(effect.delta_mean, 2),
        "delta_std": rounded(effect.delta_sd, 2),
        "cohens_d": rounded_or_none(effect.d_z, 3),
        "effect": effect.effect,
        "ci_lo": rounded(effect.ci_lo, 4),
        "ci_hi": rounded(effect.ci_hi, 4),
        "ci_confidence": effect.ci_confidence,
        "ci_method": effect.ci_method,
        "p_ttest": rounded_p(effect.p_t),
        "p_wilcoxon": rounded_p(effect.p_wilcoxon),
        "n_wilcoxon": effect.n_wilcoxon or 0,
    }


def verdict_block(verdict: ArmDelta | Interaction | Verdict, *, correction: str, family: str) -> JsonObject:
    """Return a verdict's part of a significance block; `family` says which tests it was corrected with."""
    return {
        "significant": verdict.significant,
        "p_adjusted": rounded_p(verdict.p_adjusted),
        "significant_adjusted": verdict.significant_adjusted,
        "correction": correction,
        "correction_family": family,
        "family_size": verdict.family_size,
        "family_tested": verdict.family_tested,
    }


def _interaction_block(item: Interaction) -> JsonObject:
    delta_a, delta_b = rounded(item.delta_a_points, 2), rounded(item.delta_b_points, 2)
    own: dict[str, JsonValue] = {
        "arm_a": item.arm_a,
        "arm_b": item.arm_b,
        "combined_arm": item.combined_arm,
        "baseline_arm": item.baseline_arm,
        "delta_a": delta_a,
        "delta_b": delta_b,
        "delta_combined": rounded(item.delta_combined_points, 2),
        "additive_expectation": rounded(delta_a + delta_b, 2),
        "interaction": rounded(item.effect.delta_mean, 2),
    }
    return {**effect_block(item.effect), **own, **verdict_block(item, correction=item.correction, family="interactions")}


def _cost_block(cost: ArmCost) -> JsonObject:
    has_cache_ratio = cost.cache_read_tokens is not None and cost.prompt_tokens
    return {
        "n": cost.answers,
        "total_cost_usd": rounded_or_none(cost.total_cost_usd, 6),
        "cost_known_n": cost.priced_answers,
        "total_llm_calls": cost.calls,
        "prompt_tokens": cost.prompt_tokens,
        "completion_tokens": cost.completion_tokens,
        "total_tokens": cost.total_tokens,
        "mean_latency_sec": rounded_or_none(cost.mean_latency_seconds, 4),
        "mean_ttft_sec": rounded_or_none(cost.mean_time_to_first_token_seconds, 4),
        "cache_hit_ratio": rounded((cost.cache_read_tokens or 0) / (cost.prompt_tokens or 1), 4) if has_cache_ratio else None,
    }
