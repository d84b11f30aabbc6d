"""What a plugin delta was taken between: the header list of its report, and everything that was equal."""

from collections.abc import Mapping

from evalplatform.comparisons.plugin_delta_records import PluginDelta
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.plugin_delta_words import not_compared_words
from evalplatform.reports.view import Fact


def headline_facts(delta: PluginDelta) -> tuple[Fact, ...]:
    """Return the facts that belong beside the title."""
    control = delta.control
    return (
        Fact(label="Product", value=control.library_name or words.MISSING),
        Fact(label="Model", value=_named(control.model, control.provider)),
        Fact(label="Harness", value=control.harness or words.MISSING),
        Fact(label="Plugin set", value=delta.plugin_set),
        Fact(label="Control", value=control.plugin_set),
        Fact(label="Judge", value=_judge(delta)),
        Fact(label="Questions", value=words.count(control.total_questions)),
        Fact(label="Coverage", value=_coverage(delta)),
    )


def all_facts(delta: PluginDelta) -> tuple[Fact, ...]:
    """Return everything that is known to be equal in both runs, what is not, and what could not be told."""
    control = delta.control
    rows = [
        ("Control run", f"{delta.control_name}, {delta.control_source}"),
        ("Run with plugins", f"{delta.plugin_name}, {delta.plugin_source}"),
        ("Plugin set", _with_id(delta.plugin_set, delta.plugin_set_id)),
        ("Control's plugin set", _with_id(control.plugin_set, control.plugin_set_id)),
        ("Model", _named(control.model, control.provider)),
        ("Endpoint", control.base_url),
        ("Harness", control.harness),
        ("Arms", ", ".join(control.arms)),
        ("Baseline arm", control.baseline_arm),
        ("Questions", f"{plural(control.total_questions, 'question')}, {plural(control.draws, 'draw')} each"),
        ("Sampling (run_config)", settings_words(control.run_config)),
        ("Retrieval", settings_words(control.retrieval)),
        ("Answer prompt digest", control.answer_prompt_digest),
        *(_judge_rows(delta) if delta.is_judged else [("Judge", _judge(delta))]),
        ("Could not be compared", not_compared_words(delta.not_compared)),
    ]
    return tuple(Fact(label=label, value=value) for label, value in rows if value is not None)


def _judge_rows(delta: PluginDelta) -> list[tuple[str, str | None]]:
    control = delta.control
    temperature = "provider default" if control.judge_temperature is None else f"{control.judge_temperature:g}"
    return [
        ("Judge", _judge(delta)),
        ("Judge temperature", temperature),
        ("Judge prompt digest", control.judge_prompt_digest),
        ("Judge material", control.judge_context or "not stamped in either run"),
        ("Grounded from topics", None if control.grounded_from_topics is None else words.yes_no(control.grounded_from_topics)),
        ("Coverage", _coverage(delta)),
        ("Correction", {"holm": "Holm", "bh": "Benjamini-Hochberg"}[delta.correction]),
    ]


def _judge(delta: PluginDelta) -> str:
    return _named(delta.control.judge_model, delta.control.judge_provider) if delta.is_judged else "none: nobody judged"


def _coverage(delta: PluginDelta) -> str:
    if delta.coverage_rate is None:
        return f"{words.MISSING} (nothing was judged)"
    return f"{words.share(delta.coverage_rate)} of questions scored in both runs"


def _named(name: str | None, provider: str | None) -> str:
    return (name or words.MISSING) if provider is None else f"{name or words.MISSING} ({provider})"


def _with_id(label: str, plugin_set_id: str | None) -> str:
    return label if plugin_set_id is None else f"{label} ({plugin_set_id})"


def settings_words(settings: Mapping[str, object] | None) -> str | None:
    """Return settings as words, such as `temperature 0, max_tokens 800`; `provider defaults` where none is set; None where not stated."""
    if settings is None:
        return None
    return ", ".join(f"{name} {_setting(value)}" for name, value in settings.items() if value is not None) or "provider defaults"


def _setting(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
