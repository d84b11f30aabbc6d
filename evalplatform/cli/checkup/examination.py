"""Asks all checks at once, each for a limited time."""

import re
import threading
import time
from collections.abc import Iterable, Sequence
from urllib.parse import unquote, urlsplit

from evalplatform.cli.checkup.findings import Check, Finding, Patient, problem
from evalplatform.kernel.errors import EvalplatformError, InputError
from evalplatform.kernel.text import masked_url
from evalplatform.project.deployment import variable_of

SECRET_NAME = re.compile(r"(PASSWORD|SECRET|TOKEN|KEY)$")
SHORTEST_SECRET_CHARS = 4  # what is shorter would black out ordinary words


def examination(checks: Sequence[Check], patient: Patient, *, timeout_seconds: float) -> list[Finding]:
    """Return what the checks found, in their order and without secrets; one that fails or takes too long is a problem of its own."""
    found: dict[str, Sequence[Finding]] = {}

    def look(check: Check) -> None:
        found[check.name] = _looked(check, patient)

    # Threads that are daemons: a check that hangs must not keep the process from ending, as a pool's would.
    threads = [threading.Thread(target=look, args=(check,), name=check.name, daemon=True) for check in checks]
    give_up_at = time.monotonic() + timeout_seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=max(0.0, give_up_at - time.monotonic()))
    late = f"no answer in {timeout_seconds:.0f} s."
    fix = "See whether what it asks is up and can be reached from here."
    secrets = _secrets(patient)
    # A check that has nothing to look at finds nothing; only one that is not there yet is late.
    of_check = {check.name: found.get(check.name, [problem(check.name, late, fix=fix)]) for check in checks}
    return [_without(secrets, finding) for check in checks for finding in of_check[check.name]]


def _looked(check: Check, patient: Patient) -> Sequence[Finding]:
    try:
        return check.look(patient)
    except InputError as error:
        return [problem(check.name, str(error), fix="Mend what the message names.")]
    except EvalplatformError as error:
        return [problem(check.name, str(error), fix="Bring it up, or change its address in the project file or the environment.")]
    except Exception as error:
        first_line = next(iter(str(error).splitlines()), "")
        return [problem(check.name, f"the check failed: {type(error).__name__}: {first_line}", fix="Mend what the message names.")]


def _secrets(patient: Patient) -> list[str]:
    """Return what must not be shown, wherever a message has it from: keys of endpoints, passwords in addresses and in the environment."""
    settings = patient.opened.project.settings
    named = {endpoint.key_env for endpoint in settings.endpoints.values()}
    values = [value for name, value in patient.environ.items() if name in named or SECRET_NAME.search(name)]
    values += patient.environ.get(variable_of("secret_keys"), "").split(",")
    values += [form for url in (settings.database, settings.storage) for form in _password_forms(url)]
    return [value for value in values if len(value) >= SHORTEST_SECRET_CHARS]


def _password_forms(url: str) -> tuple[str, ...]:
    """Return the password in an address as it stands there, and as a server's message may have it: decoded."""
    try:
        password = urlsplit(url).password or ""
    except ValueError:
        return ()
    return password, unquote(password)


def _without(secrets: Iterable[str], finding: Finding) -> Finding:
    def cleared(text: str) -> str:
        words = " ".join(masked_url(word) for word in text.split(" "))
        for secret in secrets:
            words = words.replace(secret, "***")
        return words

    return finding.with_changes(found=cleared(finding.found), fix=None if finding.fix is None else cleared(finding.fix))
