"""Combined arms: several treatments as one, with what each part contributed on record (treatment-arms spec, section 4)."""

from collections.abc import Sequence

from pydantic import JsonValue

from evalplatform.arms.treatment import AgentConfig, Treatment
from evalplatform.kernel.material import SEPARATOR, JudgeMaterial
from evalplatform.questions.records import Question


class CombinedTreatment:
    """Two or more treatments in the order of their spec. Contexts are concatenated; of several system prompts the first is sent."""

    kind = "combined"

    def __init__(self, parts: Sequence[Treatment]) -> None:
        self._parts = tuple(parts)
        self.name = "+".join(part.name for part in self._parts)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of every part, in their order."""
        return tuple(warning for part in self._parts for warning in part.warnings)

    async def open(self) -> dict[str, str]:
        """Open every part and return their digests, each under its part's place and name."""
        digests = {}
        for place, part in enumerate(self._parts, start=1):
            for name, digest in (await part.open()).items():
                digests[f"{place}:{part.name}:{name}"] = digest
        return digests

    async def prepare(self, question: Question) -> AgentConfig:
        """Return the parts' configs as one.

        Raises:
            RetrievalError: a part could not be prepared; the whole arm fails, since part of a treatment is another treatment.
        """
        named_configs = [(part.name, await part.prepare(question)) for part in self._parts]
        return combined_config(named_configs)

    async def aclose(self) -> None:
        """Close every part, also when one of them fails to close; the first failure is raised at the end."""
        failures = []
        for part in self._parts:
            try:
                await part.aclose()
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]


def combined_config(named_configs: Sequence[tuple[str, AgentConfig]]) -> AgentConfig:
    """Return one config of several, given with the names of their treatments.

    `dropped_system_prompts` names the parts whose system prompt is not sent, and stands in the metadata only where there are some.
    """
    configs = [config for _, config in named_configs]
    prompting = [(name, config.system_prompt) for name, config in named_configs if config.system_prompt is not None]
    treatments: list[JsonValue] = [{"name": name, **config.metadata} for name, config in named_configs]
    metadata: dict[str, JsonValue] = {"arm_kind": "combined", "combined_count": len(configs), "treatments": treatments}
    if len(prompting) > 1:
        metadata["dropped_system_prompts"] = [name for name, _ in prompting[1:]]
    return AgentConfig(
        system_prompt=prompting[0][1] if prompting else None,
        contexts=tuple(context for config in configs for context in config.contexts),
        chunks=tuple(chunk for config in configs for chunk in config.chunks),
        material=JudgeMaterial(
            injected=SEPARATOR.join(config.material.injected for config in configs if config.material.injected),
            reference="\n\n".join(config.material.reference for config in configs if config.material.reference),
        ),
        metadata=metadata,
    )
