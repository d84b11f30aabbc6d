"""What a model comparison was made of: each run with its file and every setting that it states."""

from collections.abc import Iterator, Mapping, Sequence

from evalplatform.comparisons.compared_run import RunIdentity
from evalplatform.comparisons.model_comparison_records import ModelComparison, RunOrigin
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.plugin_delta_facts import settings_words
from evalplatform.reports.view import Fact

UNSTATED = "not stated"


def run_facts(made: Mapping[str, ModelComparison], *, titles: Mapping[str, str]) -> Iterator[Fact]:
    """Yield a fact for each run, in the order of the sections; a run that is the same in all of them is named once.

    Args:
        made: the comparisons by section.
        titles: what each section is called where a run is not in all of them.
    """
    sections_of: dict[tuple[str, str], list[str]] = {}
    for name, compared in made.items():
        for origin in compared.origins:
            sections_of.setdefault((origin.run, _origin_words(origin)), []).append(name)
    for (run, told), sections in sections_of.items():
        where = "" if len(sections) == len(made) else f"{words.listed([titles[name] for name in sections])}: "
        yield Fact(label=f"{where}{run}", value=told)


def _origin_words(origin: RunOrigin) -> str:
    identity = origin.identity
    parts = {
        "read from": origin.source,
        **({} if origin.generated_at is None else {"generated": origin.generated_at}),
        "model": _at(identity.model, identity.provider),
        "endpoint": identity.base_url,
        "harness": identity.harness,
        "sampling": settings_words(identity.run_config),
        "seed": None if identity.seed is None else str(identity.seed),
        "plugin set": _with_id(identity.plugin_set, identity.plugin_set_id),
        "asked": f"{plural(identity.total_questions, 'question')}, {plural(identity.draws, 'draw')} each",
        "question set": identity.question_set_digest,
        **_judge_parts(identity),
    }
    return "; ".join(f"{label} {text or UNSTATED}" for label, text in parts.items())


def _judge_parts(identity: RunIdentity) -> dict[str, str | None]:
    if not identity.is_judged:
        return {"judge": "nobody"}
    temperature = "provider default" if identity.judge_temperature is None else f"{identity.judge_temperature:g}"
    return {
        "judge": _at(identity.judge_model, identity.judge_provider),
        "judge temperature": temperature,
        "judge prompt": identity.judge_prompt_digest,
        "judge material": identity.judge_context,
    }


def _at(name: str | None, provider: str | None) -> str | None:
    return name if name is None or provider is None else f"{name} ({provider})"


def _with_id(label: str, plugin_set_id: str | None) -> str:
    return label if plugin_set_id is None else f"{label} ({plugin_set_id})"


def common_facts(made: Mapping[str, ModelComparison], *, titles: Mapping[str, str]) -> Iterator[Fact]:
    """Yield what heads the report: each fact once where all sections agree, or are called by it, else once a section."""
    by_label: dict[str, dict[str, str]] = {}
    for name, compared in made.items():
        for label, value in _headline(compared).items():
            by_label.setdefault(label, {})[name] = value
    for label, values in by_label.items():
        if len(set(values.values())) == 1:
            yield Fact(label=label, value=next(iter(values.values())))
        elif all(titles[name] == value for name, value in values.items()):
            yield Fact(label=f"{label}s", value=words.listed(list(values.values())))
        else:
            yield from (Fact(label=f"{titles[name]}: {label}", value=value) for name, value in values.items())


def _headline(compared: ModelComparison) -> dict[str, str]:
    judges: Sequence[tuple[str | None, str | None]] = sorted(
        {(row.judge_model, row.judge_provider) for row in compared.runs if row.judge_model is not None}, key=str
    )
    return {
        "Scored arm": compared.treatment_arm or "no scored arm",
        "Baseline arm": compared.baseline_arm,
        "Runs": words.count(len(compared.runs)),
        "Common questions": words.count(compared.common_questions),
        "Judge": ", ".join(f"{model} ({provider})" for model, provider in judges) or "nobody judged",
    }
