"""The arm spec grammar: text to frozen values and back. It reads no file; a path is only text here (treatment-arms spec, section 2)."""

import re
from collections.abc import Iterable

from pydantic import Field

from evalplatform.arms.kind import SPEC_KINDS, arm_kinds
from evalplatform.kernel.errors import ArmSpecError, nearest_name
from evalplatform.kernel.values import Value

ARM_NAME_PATTERN = re.compile(r"[a-z0-9._-]+")


class SpecPart(Value):
    """One kind with its argument; a kind's default argument is filled in, and a kind that takes none has the empty one."""

    kind: str
    argument: str = ""

    @property
    def text(self) -> str:
        """The part as a spec."""
        return f"{self.kind}:{self.argument}" if self.argument else self.kind


class ArmSpec(Value):
    """A parsed spec: one part, or several that make one combined arm."""

    parts: tuple[SpecPart, ...] = Field(min_length=1)

    @property
    def text(self) -> str:
        """The spec in its one canonical spelling; parsing it gives this value again."""
        return "+".join(part.text for part in self.parts)

    @property
    def uses_tools(self) -> bool:
        """Whether the model is offered tools in this arm: a part of it does."""
        return any(arm_kinds.get(part.kind).uses_tools for part in self.parts)


class ArmRequest(Value):
    """An arm as a user asks for it: a spec, and a name unless the spec's own is to be used."""

    spec: str
    name: str | None = None


def parse_spec(spec: str) -> ArmSpec:
    """Return the parsed spec.

    Raises:
        ArmSpecError: an unknown kind (with the nearest), one that this version does not have, a missing or surplus argument, `baseline`
            combined with anything, or one part given twice.

    Example:
        >>> [part.text for part in parse_spec("docs:local:d + skill:/x/c++-guide").parts]
        ['docs:local:d', 'skill:/x/c++-guide']
    """
    if re.search(r"[\x00-\x1f\x7f]", spec):
        raise _error(spec, "holds a control character.")
    parsed = ArmSpec(parts=tuple(_parse_part(part, spec=spec) for part in split_spec(spec)))
    if len(parsed.parts) > 1 and any(part.kind == "baseline" for part in parsed.parts):
        raise _error(spec, "'baseline' adds nothing, so it cannot be combined; make it an arm of its own.")
    for index, part in enumerate(parsed.parts):
        if part in parsed.parts[:index]:
            raise _error(spec, f"{part.text!r} stands in it twice; remove one.")
    return parsed


def split_spec(spec: str) -> list[str]:
    """Return the texts of a spec's parts.

    A `+` starts a new part only where the text after it, up to the next colon or `+`, is exactly a known kind; anywhere else it belongs to
    the part, as in a path. A spec that begins with `mcp:` is never split, because a server's URL may hold any `+`.
    """
    text = spec.strip()
    if text.startswith("mcp:"):
        return [text]
    kinds = _known_kinds()
    first, *others = text.split("+")
    parts = [first]
    for piece in others:
        if _head(piece.strip()) in kinds:
            parts.append(piece)
        else:
            parts[-1] = f"{parts[-1]}+{piece}"
    return [part.strip() for part in parts]


def parse_arm_list(text: str) -> tuple[ArmRequest, ...]:
    """Return the arms of a comma list such as `--arms` takes. Items are trimmed and empty ones dropped.

    A path that holds a comma cannot stand here: `--arm`, given once for each arm, or the project file's list takes it.

    Raises:
        ArmSpecError: nothing is left, or an item is no spec.
    """
    specs = [item.strip() for item in text.split(",") if item.strip()]
    if not specs:
        raise ArmSpecError("names no arm; give at least one spec, such as baseline,docs:local:docs.", field="--arms")
    for spec in specs:
        parse_spec(spec)
    return tuple(ArmRequest(spec=spec) for spec in specs)


def parse_arm_option(text: str) -> ArmRequest:
    """Return the arm of one `--arm` option: `SPEC` or `NAME=SPEC`.

    Text before the first `=` is a name unless it holds a colon, for then the `=` belongs to the spec (`mcp:cmd=...`).

    Raises:
        ArmSpecError: the name is a kind or breaks `[a-z0-9._-]+`, or the spec is no spec.
    """
    name, equals, spec = text.strip().partition("=")
    if not equals or ":" in name:
        parse_spec(text)
        return ArmRequest(spec=text.strip())
    parse_spec(spec)
    return ArmRequest(name=checked_arm_name(name.strip(), spec=spec.strip()), spec=spec.strip())


def checked_arm_name(name: str, *, spec: str) -> str:
    """Return the name if an arm may be called so: `[a-z0-9._-]+`, and not a kind, which would read as a spec.

    Raises:
        ArmSpecError: naming the rule.
    """
    if name in _known_kinds():
        raise _error(spec, f"{name!r} is an arm kind and cannot name an arm; choose another name (or was {name}:{spec} meant?).")
    if not ARM_NAME_PATTERN.fullmatch(name):
        raise _error(spec, f"{name!r} cannot name an arm; use a-z, 0-9, '.', '_' and '-'.")
    return name


def refuse_shared_names(named_specs: Iterable[tuple[str, str]]) -> None:
    """Return nothing if all arm names differ, given (name, spec) pairs.

    Raises:
        ArmSpecError: two arms would have one name; it names both specs and says what to do.
    """
    specs: dict[str, str] = {}
    for name, spec in named_specs:
        if name in specs:
            raise ArmSpecError(
                f"{specs[name]!r} and {spec!r} would both be called {name!r}. "
                "Give one of them its own name: --arm NAME=SPEC on the command line, or {name: ..., spec: ...} in the project file.",
                field="arms",
            )
        specs[name] = spec


def _parse_part(text: str, *, spec: str) -> SpecPart:
    kind, _, argument = text.partition(":")
    if kind not in arm_kinds:
        raise _unusable_kind(kind, spec=spec)
    argument = argument.strip()
    rule = arm_kinds.get(kind)
    if rule.argument == "none" and argument:
        raise _error(spec, f"{kind!r} takes no argument, but {argument!r} was given.")
    if rule.argument == "required" and not argument:
        raise _error(spec, f"{kind!r} needs an argument: {kind}:<{rule.meaning}>.")
    return SpecPart(kind=kind, argument=argument or rule.default)


def _unusable_kind(kind: str, *, spec: str) -> ArmSpecError:
    usable = arm_kinds.names()
    if kind in SPEC_KINDS:
        return _error(spec, f"arm kind {kind!r} is not available in this version (available: {', '.join(usable)}).")
    # "docs+skil:x" is glued into one part whose head is "docs+skil": the piece to blame is the first that is no kind.
    blamed = next((piece.strip() for piece in kind.split("+") if piece.strip() not in _known_kinds()), kind)
    if not blamed:
        return _error(spec, "has a part without a kind.")
    return _error(spec, f"unknown arm kind {blamed!r} (known: {', '.join(usable)}).", nearest=nearest_name(blamed, usable))


def _known_kinds() -> frozenset[str]:
    return SPEC_KINDS.union(arm_kinds.names())


def _head(text: str) -> str:
    return text.partition(":")[0]


def _error(spec: str, rule: str, *, nearest: str | None = None) -> ArmSpecError:
    return ArmSpecError(rule, field=f"arm spec {spec.strip()!r}", nearest=nearest)
