"""Checks of how alerts reach people: the mail server and the webhook. No mail and no post is sent."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from evalplatform.adapters.reach import unreachable_reason
from evalplatform.cli.checkup.findings import Finding, Patient, ok, problem, warning
from evalplatform.kernel.errors import NotDeliveredError
from evalplatform.project.deployment import variable_of

MAIL = "mail"
WEBHOOK = "webhook"
REPLY_SECONDS = 5.0
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def look_at_mail(patient: Patient) -> Sequence[Finding]:
    """Sign in at the mail server, as an alert would, and leave it."""
    from evalplatform.adapters.notifiers.smtp import SmtpMailer

    if (refused := _refused(patient, MAIL, "smtp_url", "mail_from")) is not None:
        return [refused]
    deployment = patient.opened.project.deployment
    mailer = SmtpMailer.of_deployment(deployment, clock=patient.opened.clock)
    if mailer is None:
        return [ok(MAIL, f"no mail server is set: nobody is mailed of a change until {variable_of('smtp_url')} is.")]
    if mailer.sender is None:
        fix = f"Set {variable_of('mail_from')}."
        return [problem(MAIL, "no sender is set, and no mail goes without one.", fix=fix)]
    if (mailer.user is None) != (mailer.password is None):
        set_one, other = ("smtp_user", "smtp_password") if mailer.password is None else ("smtp_password", "smtp_user")
        found = f"{variable_of(set_one)} is set without {variable_of(other)}."
        return [problem(MAIL, found, fix="Set both, or neither where the server wants no sign-in.")]
    try:
        mailer.check()
    except NotDeliveredError as error:
        return [problem(MAIL, f"{mailer.url}: {error}.", fix="Correct the address or the sign-in, or bring the server up.")]
    signed_in = "takes mail without a sign-in" if mailer.user is None else f"lets {mailer.user} sign in"
    return [ok(MAIL, f"{mailer.url} {signed_in}; alerts come from {mailer.sender}.")]


def look_at_webhook(patient: Patient) -> Sequence[Finding]:
    """See whether the webhook can be reached, and whether there is something to sign with."""
    from evalplatform.adapters.notifiers.webhook import Webhook

    if (refused := _refused(patient, WEBHOOK, "webhook_url")) is not None:
        return [refused]
    webhook = Webhook.of_deployment(patient.opened.project.deployment, clock=patient.opened.clock)
    if webhook is None:
        return [ok(WEBHOOK, "none is set.")]
    if not webhook.secret:
        fix = f"Set {variable_of('webhook_secret')} here and at the receiver."
        return [problem(WEBHOOK, "there is nothing to sign with, and none goes unsigned.", fix=fix)]
    reason = unreachable_reason(webhook.url, timeout_seconds=REPLY_SECONDS)
    if reason is not None:
        fix = f"Bring the receiver up, or correct {variable_of('webhook_url')}."
        return [problem(WEBHOOK, f"{webhook.shown} cannot be reached: {reason}.", fix=fix)]
    if urlsplit(webhook.url).scheme == "http" and urlsplit(webhook.url).hostname not in LOOPBACK:
        found = f"{webhook.shown} takes connections, and whoever is in between can read what is posted."
        return [warning(WEBHOOK, found, fix="Use https.")]
    return [ok(WEBHOOK, f"{webhook.shown} takes connections.")]


def _refused(patient: Patient, check: str, *fields: str) -> Finding | None:
    """Return a finding where a setting was set aside since it cannot be used; the check of variables says what is wrong with it."""
    named = next((variable_of(name) for name in fields if variable_of(name) in patient.refused), None)
    return None if named is None else warning(check, f"it was not looked at, since {named} cannot be used.", fix=f"Correct {named}.")
