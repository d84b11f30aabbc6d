"""Checks of what is set and installed: variables, entitlements, versions."""

import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires, version

from evalplatform.cli.checkup.findings import Finding, Patient, ok, problem
from evalplatform.project.deployment import unknown_variables, variable_of
from evalplatform.project.entitlements import Entitlements

CHECK = "environment"
ENTITLEMENTS_VARIABLE = variable_of("entitlements")
OLDEST_PYTHON = (3, 11)
FIRST_UNTRIED_PYTHON = (3, 14)
LIBRARY_MINORS_ABOVE_CORE = 16  # dagster 1.13.x is released with its libraries as 0.29.x


def look_at_variables(patient: Patient) -> Sequence[Finding]:
    """Name the variables of ours that nothing reads, and those with a value that cannot be used."""
    fix = "Correct it or unset it; until then commands end with this error."
    refused = [problem(CHECK, str(error), fix=fix) for variable, error in patient.refused.items() if variable != ENTITLEMENTS_VARIABLE]
    unknown = [
        problem(CHECK, f"{name} is set, and nothing reads it.", fix=f"Set {nearest} instead." if nearest else "Remove it.")
        for name, nearest in unknown_variables(patient.environ).items()
    ]
    return [*refused, *unknown] or [ok(CHECK, "every EVALPLATFORM_ variable that is set is one that is read, with a value that it takes.")]


def look_at_entitlements(patient: Patient) -> Sequence[Finding]:
    """Say what the project's tenant may use here."""
    if (error := patient.refused.get(ENTITLEMENTS_VARIABLE)) is not None:
        return [problem("entitlements", str(error), fix=f"Mend the file that {ENTITLEMENTS_VARIABLE} names.")]
    project = patient.opened.project
    granted, tenant = project.entitlements, project.settings.tenant
    if granted == Entitlements():
        return [ok("entitlements", f"the tenant {tenant!r} may use everything.")]
    allowance = "any number of scenarios" if granted.scenario_allowance is None else f"at most {granted.scenario_allowance:,} scenarios"
    withheld = f"without {', '.join(granted.withheld)}; " if granted.withheld else ""
    limits = f"{allowance}, every {granted.shortest_cadence_seconds:,} s at the most often, {granted.most_recipients} recipients"
    found = f"the tenant {tenant!r} may use: {withheld}{limits}."
    asked = project.settings.entitlements
    less = " The deployment grants less than the project file names." if asked not in (Entitlements(), granted) else ""
    return [ok("entitlements", f"{found}{less}")]


def look_at_versions(patient: Patient) -> Sequence[Finding]:
    """Compare what is installed with what evalplatform was released with."""
    return [_python(), *_packages(requires("evalplatform") or [])]


def _python() -> Finding:
    found = ".".join(str(part) for part in sys.version_info[:3])
    if OLDEST_PYTHON <= sys.version_info[:2] < FIRST_UNTRIED_PYTHON:
        return ok("versions", f"Python {found}.")
    return problem("versions", f"Python {found} is not supported.", fix="Install evalplatform under Python 3.11, 3.12 or 3.13.")


def _packages(requirements: Sequence[str]) -> list[Finding]:
    """Return the pinned packages that differ, and whether Dagster's libraries belong to its core."""
    pins = dict(pin.partition(";")[0].strip().split("==", 1) for pin in requirements if "==" in pin.partition(";")[0])
    pins = {name.partition("[")[0].strip(): wanted.strip() for name, wanted in pins.items()}
    installed = {name: found for name in pins if (found := _version(name)) is not None}  # those of extras need not be
    wrong = {name: found for name, found in installed.items() if found != pins[name]}
    if wrong:
        return [
            problem("versions", f"{name} is {found}, where {pins[name]} belongs.", fix=f"Install {name}=={pins[name]}.")
            for name, found in wrong.items()
        ]
    mismatched = _unlike_core(installed)
    if mismatched:
        fix = "Install Dagster and its libraries from one release."
        return [problem("versions", f"{name} {found} is of another release than dagster.", fix=fix) for name, found in mismatched.items()]
    return [ok("versions", ", ".join(f"{name} {found}" for name, found in sorted(installed.items())) + ".")]


def _unlike_core(installed: dict[str, str]) -> dict[str, str]:
    _, minor, patch = installed.get("dagster", "1.0.0").split(".")[:3]
    of_release = {"1": f"1.{minor}.{patch}", "0": f"0.{int(minor) + LIBRARY_MINORS_ABOVE_CORE}.{patch}"}
    return {
        name: found for name, found in installed.items() if name.startswith("dagster") and found != of_release.get(found.partition(".")[0])
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
