"""What a check found, in words a person can act on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from evalplatform.kernel.errors import InputError
from evalplatform.kernel.values import Value
from evalplatform.wiring import OpenedProject

State = Literal["ok", "warning", "problem"]


class Finding(Value):
    """One line of the doctor's. `fix` says in a sentence what to do; it is None where all is well."""

    check: str
    state: State
    found: str
    fix: str | None = None


def ok(check: str, found: str) -> Finding:
    """Return a finding of something that is as it should be."""
    return Finding(check=check, state="ok", found=found)


def warning(check: str, found: str, *, fix: str) -> Finding:
    """Return a finding that a person should know of, though work can go on."""
    return Finding(check=check, state="warning", found=found, fix=fix)


def problem(check: str, found: str, *, fix: str) -> Finding:
    """Return a finding that keeps something from working."""
    return Finding(check=check, state="problem", found=found, fix=fix)


@dataclass(frozen=True)
class Patient:
    """What is looked at: a project and the environment of this process.

    `refused` holds, by variable, what was left out of the project's settings since it cannot be used.
    """

    opened: OpenedProject
    environ: Mapping[str, str]
    refused: Mapping[str, InputError] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """A question to the deployment. `look` may raise: that is a finding too, and hides no other check's."""

    name: str
    look: Callable[[Patient], Sequence[Finding]]
