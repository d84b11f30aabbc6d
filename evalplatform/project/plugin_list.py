"""A cell's list of plugins as people write it in YAML: what is near to a list of refs is refused with the right spelling."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints


def _listed(value: Any) -> Any:
    """Return what may be a list of refs; nothing at all is an empty one, as a section without entries is."""
    if isinstance(value, str):
        refs = [ref for item in value.split(",") if (ref := item.strip())]
        raise ValueError(f"must be a list: [{', '.join(refs)}]")
    return () if value is None else value


def _one_ref(value: Any) -> Any:
    if isinstance(value, dict):
        # YAML reads `truncate: 80` as a mapping: of a ref the colon has no blank after it, or the whole is quoted.
        refs = [str(name) if argument is None else f"{name}:{argument}" for name, argument in value.items()]
        raise ValueError(f"must be text, and a colon with a blank after it makes a mapping: write [{', '.join(refs)}]")
    if isinstance(value, str) and "," in value:
        refs = [ref for item in value.split(",") if (ref := item.strip())]
        raise ValueError(f"must be one plugin an entry: [{', '.join(refs)}]")
    return value


def _or_nothing(schema: dict[str, Any]) -> None:
    declared = {name: schema.pop(name) for name in ("type", "items")}
    schema["anyOf"] = [declared, {"type": "null"}]


PluginRefs = Annotated[
    tuple[Annotated[str, StringConstraints(min_length=1), BeforeValidator(_one_ref)], ...],
    BeforeValidator(_listed),
    Field(json_schema_extra=_or_nothing),
]
"""Refs of plugins, in order, such as `caveman:lite` and `truncate:80`."""
