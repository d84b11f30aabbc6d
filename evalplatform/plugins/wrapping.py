"""What a plugin set makes of a prepared arm, before it is asked."""

from pydantic import JsonValue

from evalplatform.arms.treatment import AgentConfig
from evalplatform.kernel.digests import text_digest
from evalplatform.plugins.plugin_set import PluginSet, plugin_set_id, plugin_set_label


def wrapped_config(config: AgentConfig, plugins: PluginSet) -> AgentConfig:
    """Return an arm's config under a plugin set: its system prompt extended, and the set on record in its metadata.

    Where a system prompt is sent, its digest is recorded as it leaves here, and whether plugins extended it: what an arm records of its own
    prompt does not tell a plugin cell from a bare one. Without plugins the config is the arm's own. Judge material is never touched.
    """
    if not plugins.plugins:
        return config
    system_prompt = plugins.extended_system_prompt(config.system_prompt)
    stamps = plugins.stamps
    recorded: dict[str, JsonValue] = {
        "plugin_set": plugin_set_label(stamps),
        "plugin_set_id": plugin_set_id(stamps),
        "plugins": [stamp.model_dump(mode="json") for stamp in stamps],
    }
    if system_prompt is not None:
        recorded["system_prompt_sha256"] = text_digest(system_prompt)
        recorded["system_prompt_extended_by_plugins"] = system_prompt != config.system_prompt
    return config.model_copy(update={"system_prompt": system_prompt, "metadata": {**config.metadata, **recorded}})
