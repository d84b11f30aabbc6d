"""What a deployment sets through its environment: the one place that says which EVALPLATFORM_ variables exist.

One project file serves laptop and deployment; what differs between them stands here. A field's name in capitals after `EVALPLATFORM_` is
its variable, its description and example are the reference in docs/environment.md.
"""

from collections.abc import Mapping
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from evalplatform.kernel.errors import InputError, nearest_name
from evalplatform.kernel.values import Value
from evalplatform.project.yaml_file import problem_sentence

PREFIX = "EVALPLATFORM_"
OF_TESTS = ("REQUIRE_ALL", "SOAK", "TEST_DATA", "UPDATE_SNAPSHOTS")  # read by this repository's tests, and by nothing that is installed
DEFAULT_WEB_URL = "http://127.0.0.1:8787"


def _that_can_be_split(address: str) -> str:
    if urlsplit(address).port == 0:  # raises a ValueError for one that is too high, and for a host that only looks like an IPv6 address
        raise ValueError("must have a port from 1 to 65535")
    return address


WebAddress = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]\S*$")]
_HOST_AND_PORT = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?"
WebhookAddress = Annotated[str, StringConstraints(pattern=rf"^https?://{_HOST_AND_PORT}([/?][!-~]*)?$"), AfterValidator(_that_can_be_split)]
MailServerAddress = Annotated[str, StringConstraints(pattern=rf"^smtps?://{_HOST_AND_PORT}/?$"), AfterValidator(_that_can_be_split)]
MOST_OFFSET_SECONDS = 3_155_760_000
"""A hundred years: whatever is reckoned from such a clock is a date that there is."""
MailAddress = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$")]
RULES = {
    "web_url": "must be an http or https address.",
    "webhook_url": "must be an http or https address in ASCII, without a user or password in it.",
    "smtp_url": "must be smtp://HOST or smtps://HOST, with :PORT where it is not 25 or 465, and without a user or password in it.",
    "mail_from": "must be one mail address, such as evalplatform@example.com.",
}


class DeploymentSettings(Value):
    """The settings of a deployment. A variable that is empty counts as one that is not set."""

    project: str | None = Field(
        default=None,
        description="The project file, or its folder. Unset, the nearest `evalplatform.yaml` from the working directory upward.",
        examples=["/srv/project"],
    )
    storage: str | None = Field(
        default=None,
        description="The object store's URL, in place of `storage` of the project file.",
        examples=["s3://evaluations/prod?region=eu-central-1"],
    )
    database: str | None = Field(
        default=None,
        description="The database's URL, in place of `database` of the project file.",
        examples=["postgresql://evalplatform@db/evalplatform"],
    )
    web_url: WebAddress = Field(
        default=DEFAULT_WEB_URL,
        description="Where people reach the web app; links in Dagster go there.",
        examples=["https://evaluations.example.com"],
    )
    download_link_seconds: int = Field(
        default=300,
        ge=1,
        le=604_800,  # the longest that the S3 protocol signs for
        description="How long a link into the object store works after a download was clicked, in seconds.",
        examples=["300"],
    )
    runs_per_endpoint: int = Field(
        default=1,
        ge=1,
        description="How many runs may use an endpoint at a time, as Dagster's pools allow: each takes that part of its limits.",
        examples=["4"],
    )
    entitlements: str | None = Field(
        default=None,
        description="A YAML or JSON file that says what each tenant may use. Where it is not set, every tenant may use everything.",
        examples=["/etc/evalplatform/entitlements.yaml"],
    )
    context7_url: str | None = Field(
        default=None,
        description="The address of the Context7 service, where it is not the public one.",
        examples=["http://context7.internal"],
    )
    secret_keys: str | None = Field(
        default=None,
        repr=False,
        description="Keys that encrypt stored secrets, newest first, separated by commas: each 32 random bytes in URL-safe base64.",
        examples=["(from the deployment's secret store)"],
    )
    monitored_http: bool = Field(
        default=False,
        description="Let monitored agents be asked over plain http.",
        examples=["1"],
    )
    monitored_hosts: str | None = Field(
        default=None,
        description="Host names, separated by commas, at which agents may be monitored though their addresses are not public.",
        examples=["agents.internal,agents.staging.internal"],
    )
    smtp_url: MailServerAddress | None = Field(
        default=None,
        description="The mail server of alerts: `smtps://`, or `smtp://`, which uses STARTTLS where it is offered.",
        examples=["smtps://mail.example.com:465"],
    )
    smtp_user: str | None = Field(
        default=None,
        description="Who signs in at the mail server.",
        examples=["evalplatform"],
    )
    smtp_password: str | None = Field(
        default=None,
        repr=False,
        description="The password at the mail server.",
        examples=["(from the deployment's secret store)"],
    )
    mail_from: MailAddress | None = Field(
        default=None,
        description="The address that alerts are mailed from; needed where there is a mail server.",
        examples=["evalplatform@example.com"],
    )
    webhook_url: WebhookAddress | None = Field(
        default=None,
        repr=False,
        description="Where alerts are posted as JSON, signed. Unset, none are.",
        examples=["https://hooks.example.com/evalplatform"],
    )
    webhook_secret: str | None = Field(
        default=None,
        repr=False,
        description="What webhooks are signed with; needed where there is a webhook.",
        examples=["(from the deployment's secret store)"],
    )
    clock_offset_seconds: float = Field(
        default=0,
        ge=-MOST_OFFSET_SECONDS,
        le=MOST_OFFSET_SECONDS,
        description="Moves the clock of a test deployment.",
        examples=["86400"],
    )
    debug: bool = Field(
        default=False,
        description="Show where an unforeseen error came from.",
        examples=["1"],
    )

    @property
    def monitored_host_names(self) -> frozenset[str]:
        """The names, in lower case, at which agents of the deployment's own may be monitored."""
        names = (name.strip().lower().removesuffix(".") for name in (self.monitored_hosts or "").split(","))
        return frozenset(name for name in names if name)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Return what the environment sets; variables that are not ours are left alone.

        Raises:
            InputError: a value that its variable does not take. What stands there is not repeated: a URL may hold a password.
        """
        for refused in cls.refusals(environ):
            raise refused
        return cls.model_validate(_given(environ))

    @classmethod
    def refusals(cls, environ: Mapping[str, str]) -> list[InputError]:
        """Return an error for every variable with a value that it does not take; its `field` is the variable."""
        try:
            cls.model_validate(_given(environ))
        except ValidationError as error:
            return [_refusal(problem) for problem in error.errors(include_url=False, include_input=False)]
        return []


def _given(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[variable_of(name)] for name in DeploymentSettings.model_fields if environ.get(variable_of(name))}


def _refusal(problem: ErrorDetails) -> InputError:
    name = str(problem["loc"][0])
    rule = RULES.get(name) or _rule(problem["type"], problem_sentence(problem, [problem]))
    return InputError(rule, field=variable_of(name))


def _rule(kind: str, sentence: str) -> str:
    return "must be 1 or 0." if kind == "bool_parsing" else sentence.replace(" (got None)", "")


def variable_of(field: str) -> str:
    """Return the environment variable of a field of DeploymentSettings."""
    return f"{PREFIX}{field.upper()}"


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str | None]:
    """Return the EVALPLATFORM_ variables that nothing reads, each with the nearest one that exists, or None."""
    known = [variable_of(name) for name in DeploymentSettings.model_fields]
    ours = {*known, *(f"{PREFIX}{name}" for name in OF_TESTS)}
    strange = (name for name in sorted(environ) if name.startswith(PREFIX) and name not in ours)
    # By what comes after the prefix: the prefix alone would make every two of them alike.
    endings = [name.removeprefix(PREFIX) for name in known]
    nearest = {name: nearest_name(name.removeprefix(PREFIX), endings) for name in strange}
    return {name: None if ending is None else f"{PREFIX}{ending}" for name, ending in nearest.items()}


def environment_reference() -> str:
    """Return the Markdown table of docs/environment.md: every variable with its meaning, default and an example."""
    rows = ["| variable | means | default | example |", "| --- | --- | --- | --- |"]
    for name, field in DeploymentSettings.model_fields.items():
        default = "" if field.default is None else f"`{int(field.default) if isinstance(field.default, bool) else field.default}`"
        rows.append(f"| `{variable_of(name)}` | {field.description} | {default} | `{(field.examples or [''])[0]}` |")
    return "\n".join(rows) + "\n"
