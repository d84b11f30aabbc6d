"""Checks of what is asked over the network: model endpoints and their keys, the web app. Nothing that is paid for is asked."""

from collections.abc import Sequence

from evalplatform.adapters.reach import fetch, unreachable_reason
from evalplatform.cli.checkup.findings import Finding, Patient, ok, problem, warning
from evalplatform.kernel.errors import InputError, MissingSecretError
from evalplatform.project.deployment import variable_of
from evalplatform.project.schema import EndpointSettings

REPLY_SECONDS = 5.0
OFFLINE = "offline"


def look_at_endpoints(patient: Patient) -> Sequence[Finding]:
    """See for each endpoint whether its key is set and its address can be reached."""
    endpoints = patient.opened.project.settings.endpoints
    return [finding for endpoint_id, settings in endpoints.items() for finding in _of_endpoint(endpoint_id, settings)]


def _of_endpoint(endpoint_id: str, settings: EndpointSettings) -> list[Finding]:
    from evalplatform.adapters.models.declared import model_endpoint
    from evalplatform.adapters.models.open import open_model_client

    check = f"endpoint {endpoint_id}"
    if settings.provider == OFFLINE:
        return [ok(check, "offline: it asks nobody.")]
    try:
        open_model_client(model_endpoint(settings))  # sends nothing and opens no connection
    except MissingSecretError as error:
        return [problem(check, str(error), fix="Set the variable for every process that runs the project."), *_address(check, settings)]
    except InputError as error:
        return [problem(check, str(error), fix=f"Mend endpoints.{endpoint_id} in the project file.")]
    named = f"the key in {settings.key_env} is set" if settings.key_env else "no key is named beyond the provider's own"
    return [ok(check, f"{settings.provider}: {named}."), *_address(check, settings)]


def _address(check: str, settings: EndpointSettings) -> list[Finding]:
    if settings.base_url is None:
        return [ok(check, f"it is asked at the address of {settings.provider}, which was not tried.")]
    reason = unreachable_reason(settings.base_url, timeout_seconds=REPLY_SECONDS)
    if reason is None:
        return [ok(check, f"{settings.base_url} takes connections.")]
    return [problem(check, f"{settings.base_url} cannot be reached: {reason}.", fix="Start the server, or correct base_url.")]


def look_at_web_app(patient: Patient) -> Sequence[Finding]:
    """See whether somebody answers where links in Dagster lead."""
    variable = variable_of("web_url")
    if variable in patient.refused:
        return [warning("web app", f"it was not looked for, since {variable} names no address.", fix=f"Correct {variable}.")]
    url = patient.opened.project.deployment.web_url
    fetched = fetch(f"{url.rstrip('/')}/healthz", timeout_seconds=REPLY_SECONDS, clock=patient.opened.clock)
    if fetched is not None and fetched.status == 200:
        return [ok("web app", f"{url} answers.")]
    what = "nobody answers" if fetched is None else f"something answers {fetched.status}"
    fix = f"Start `evalplatform serve` (or `dev`), or set {variable} to where the web app is."
    return [warning("web app", f"{what} at {url}, where links in Dagster lead.", fix=fix)]
