"""Cells and judges as a run knows them: settings resolved, and a key that says exactly what they stand for."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from evalplatform.judging.judge import JudgeSettings, judge_kinds
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.keys import key_with_digest
from evalplatform.kernel.values import Value
from evalplatform.plugins.harness import refuse_unsupported_harness
from evalplatform.plugins.plugin import PluginStamp
from evalplatform.plugins.plugin_set import parse_plugins, plugin_set_id, plugin_set_label
from evalplatform.ports.model_client import Sampling
from evalplatform.project.schema import CellSettings, EndpointSettings, JudgeDeclaration

C = TypeVar("C")


class Cell(Value):
    """A model cell. `key` is its partition key; `plugins` modify every arm, in that order."""

    id: str
    key: str
    endpoint: str
    provider: str
    base_url: str | None
    model: str
    harness: str
    plugins: tuple[PluginStamp, ...] = ()
    sampling: Sampling

    @property
    def plugin_set(self) -> str:
        """The label of its plugins, such as `caveman:full+truncate:60`; `none` where it has none."""
        return plugin_set_label(self.plugins)

    @property
    def plugin_set_id(self) -> str:
        """The id of what its plugins do."""
        return plugin_set_id(self.plugins)

    @property
    def label(self) -> str:
        """How reports name the cell: `model|harness|plugin set`, as in arms.v1."""
        return f"{self.model}|{self.harness}|{self.plugin_set}"

    @property
    def behaviour(self) -> dict[str, object]:
        """What the key's digits are the digest of: all that decides what an answer means."""
        return _cell_behaviour(
            model=self.model,
            provider=self.provider,
            base_url=self.base_url,
            harness=self.harness,
            plugins=self.plugins,
            sampling=self.sampling,
        )

    @property
    def behaviour_digest(self) -> str:
        """The whole digest, of which the key has six digits: two cells that happen to share a key differ in it."""
        return json_digest(self.behaviour)

    @property
    def answering_digest(self) -> str:
        """The digest of its behaviour without its plugins: a cell and its plugin-free pair share it, whatever their seeds."""
        return json_digest({**self.behaviour, "plugins": []})

    @property
    def labels(self) -> dict[str, str]:
        """What a reader needs to know a cell by, beside its id; it decides nothing."""
        of_plugins = {"plugin_set": self.plugin_set} if self.plugins else {}
        return {"model": self.model, "provider": self.provider, "endpoint": self.endpoint, "harness": self.harness, **of_plugins}


class JudgeCell(Value):
    """A judge with its endpoint.

    `key` is its partition key, `prompt_digest` that of everything fixed it is told, `roles` who votes; a judge of one voice has none.
    """

    id: str
    key: str
    endpoint: str
    settings: JudgeSettings
    prompt_digest: str
    metrics: tuple[str, ...]
    roles: tuple[str, ...] = ()

    @property
    def behaviour(self) -> dict[str, object]:
        """What the key's digits are the digest of: all that decides what points mean."""
        return _judge_behaviour(self.settings, self.prompt_digest)

    @property
    def behaviour_digest(self) -> str:
        """The whole digest, of which the key has six digits: two judges that happen to share a key differ in it."""
        return json_digest(self.behaviour)

    @property
    def labels(self) -> dict[str, str]:
        """What a reader needs to know a judge by, beside its id; it decides nothing."""
        return {
            "kind": self.settings.kind,
            "model": self.settings.model,
            "provider": self.settings.provider,
            "endpoint": self.endpoint,
            "prompt_digest": self.prompt_digest,
        }


def resolved_cell(cell_id: str, settings: CellSettings, endpoint: EndpointSettings) -> Cell:
    """Return the cell with its key.

    The key's six hex digits cover model, provider, base URL, harness, plugins and all sampling but the seed. Prices, limits, key names and
    the seed stay outside: they do not change what an answer means.

    Raises:
        PluginError: a plugin is unknown, wrong or named twice, or the harness cannot run plugins.
    """
    plugins = parse_plugins(settings.plugins).stamps
    if plugins:
        refuse_unsupported_harness(settings.harness, plugin_set_label(plugins))
    behaviour = _cell_behaviour(
        model=settings.model,
        provider=endpoint.provider,
        base_url=endpoint.base_url,
        harness=settings.harness,
        plugins=plugins,
        sampling=settings.sampling,
    )
    return Cell(
        id=cell_id,
        key=key_with_digest(cell_id, behaviour),
        endpoint=settings.endpoint,
        provider=endpoint.provider,
        base_url=endpoint.base_url,
        model=settings.model,
        harness=settings.harness,
        plugins=plugins,
        sampling=settings.sampling,
    )


def plugin_free_pair(cell: Cell, cells: Iterable[Cell]) -> Cell | None:
    """Return the cell that has no plugin and differs from `cell` in nothing else, or None.

    Model, provider, base URL, harness and all sampling but the seed are equal: another seed asks for other samples of the same thing. Of
    several such cells it is the one with an equal seed, else the first. A cell without plugins has no such pair.
    """
    if not cell.plugins:
        return None
    plain = (other for other in cells if not other.plugins and other.answering_digest == cell.answering_digest)
    return first_of_seed(plain, cell.sampling.seed, seed_of=lambda other: other.sampling.seed)


def first_of_seed(candidates: Iterable[C], seed: int | None, *, seed_of: Callable[[C], int | None]) -> C | None:
    """Return the first of the candidates that has the seed, else the first of all, or None where there are none."""
    return min(candidates, key=lambda candidate: seed_of(candidate) != seed, default=None)


def paired_plugin_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells with plugins whose plugin-free pair is among the cells too; what the others' plugins do, nothing says."""
    plain = [cell for cell in cells if not cell.plugins]
    return [cell for cell in cells if plugin_free_pair(cell, plain) is not None]


def resolved_judge(judge_id: str, declared: JudgeDeclaration, endpoint: EndpointSettings, *, rubric_text: str | None) -> JudgeCell:
    """Return the judge with its key.

    The six hex digits cover kind, model, provider, base URL, sampling without the seed, and the prompt's digest, which holds the weights,
    the rubric's text and a panel's roles.

    Raises:
        UnknownNameError: no judge kind has that name, or no role.
        InputError: the settings make no sense for the kind.
    """
    settings = JudgeSettings(
        kind=declared.kind,
        provider=endpoint.provider,
        model=declared.model,
        base_url=endpoint.base_url,
        sampling=declared.sampling,
        rubric=rubric_text,
        grounded_from_topics=declared.grounded_from_topics,
        roles=declared.roles,
    )
    judge = judge_kinds.get(declared.kind)(settings, asker=None)
    return JudgeCell(
        id=judge_id,
        key=key_with_digest(judge_id, _judge_behaviour(settings, judge.prompt_digest)),
        endpoint=declared.endpoint,
        settings=settings,
        prompt_digest=judge.prompt_digest,
        metrics=judge.metrics,
        roles=judge.roles,
    )


def _cell_behaviour(
    *, model: str, provider: str, base_url: str | None, harness: str, plugins: Sequence[PluginStamp], sampling: Sampling
) -> dict[str, object]:
    return {
        "model": model,
        "provider": provider,
        "base_url": base_url,
        "harness": harness,
        "plugins": [stamp.behaviour for stamp in plugins],
        "sampling": _sampling_behaviour(sampling),
    }


def _judge_behaviour(settings: JudgeSettings, prompt_digest: str) -> dict[str, object]:
    return {
        "kind": settings.kind,
        "model": settings.model,
        "provider": settings.provider,
        "base_url": settings.base_url,
        "sampling": _sampling_behaviour(settings.sampling),
        "prompt": prompt_digest,
        "grounded_from_topics": settings.grounded_from_topics,
    }


def _sampling_behaviour(sampling: Sampling) -> dict[str, object]:
    return {name: value for name, value in sampling.model_dump(exclude={"seed"}).items() if value is not None and value != {}}
