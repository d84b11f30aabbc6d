"""How a scenario set's agent is reached: the `agent:` settings, one kind of the four. Secrets are named by their environment variables."""

from typing import Annotated, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from evalplatform.kernel.values import Value
from evalplatform.runs.detectors.detector import detectors

DEFAULT_TIMEOUT_SECONDS = 300.0
DEFAULT_CONCURRENCY = 4
MIB = 2**20

Text = Annotated[str, StringConstraints(min_length=1)]
VARIABLE_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
HOLDS_A_SECRET = "holds_a_secret"
"""The type of the validation error of a value that is not to be repeated."""
VariableName = Annotated[str, StringConstraints(pattern=VARIABLE_NAME)]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
TimeoutSeconds = Annotated[float, Field(strict=True, gt=0, description="How long one run may take before the agent counts as broken.")]
Concurrency = Annotated[int, Field(strict=True, ge=1, le=256, description="How many runs at once.")]


def _agent_url(url: str) -> str:
    """Return a URL that an agent can be asked at; an error where it is none, or carries a user or password."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # an open bracket, a port out of range
        usable = False
    if not usable:
        raise ValueError("must be an http:// or https:// address with a host")
    if parts.username is not None or parts.password is not None:
        rule = "must carry no user or password; name the variable that holds the Authorization value in auth_env"
        raise PydanticCustomError(HOLDS_A_SECRET, rule)
    return url


def _argument(argument: str) -> str:
    """Return a command's argument; an error where it looks like a secret: arguments are recorded with every batch."""
    if detectors.get("secret_key").found_in(argument):
        rule = "looks like a secret, and arguments are recorded; name the variable that holds it in env, and let the program read it"
        raise PydanticCustomError(HOLDS_A_SECRET, rule)
    return argument


class HttpAgent(Value):
    """An agent behind an HTTP address.

    With `format: json` the scenario is posted to `url` as one JSON document; with `format: openai` its messages are posted one after the
    other to `<url>/chat/completions`. No redirect is followed.
    """

    url: Annotated[Text, AfterValidator(_agent_url)]
    format: Literal["json", "openai"] = "json"
    model: Text | None = Field(default=None, description="The model that the openai format names; in the json format it is recorded alone.")
    auth_env: VariableName | None = Field(default=None, description="The variable that holds the whole Authorization value.")
    headers_env: dict[HeaderName, VariableName] = Field(default_factory=dict, description="Further headers: name and variable.")
    timeout_seconds: TimeoutSeconds = DEFAULT_TIMEOUT_SECONDS
    max_response_bytes: int = Field(default=16 * MIB, strict=True, ge=1_024)
    concurrency: Concurrency = DEFAULT_CONCURRENCY

    @model_validator(mode="after")
    def _has_a_model_to_name(self) -> "HttpAgent":
        if self.format == "openai" and self.model is None:
            raise ValueError("the openai format needs a model to name")
        return self

    @property
    def identity(self) -> str:
        """`http` and the address, without user, password, query and fragment, any of which can hold a secret."""
        parts = urlsplit(self.url)
        return f"http {urlunsplit((parts.scheme, parts.netloc.rpartition('@')[2], parts.path, '', ''))}"


class CommandAgent(Value):
    """An agent that is a program: the scenario as JSON on its standard input, the reply as JSON on its standard output.

    `{folder}` in an argument stands for the folder of the scenario file. The program sees the variables that `env` names and those that
    any program needs, and no others.
    """

    argv: tuple[Annotated[Text, AfterValidator(_argument)], ...] = Field(min_length=1, description="The program and its arguments.")
    env: tuple[VariableName, ...] = Field(default=(), description="Environment variables that are passed on, by name.")
    workspace: Text | None = Field(default=None, description="A folder that every run gets its own copy of, as its working directory.")
    timeout_seconds: TimeoutSeconds = DEFAULT_TIMEOUT_SECONDS
    max_response_bytes: int = Field(default=16 * MIB, strict=True, ge=1_024)
    concurrency: Concurrency = DEFAULT_CONCURRENCY

    @property
    def identity(self) -> str:
        """`command` and what is run, as it is written in the file."""
        return " ".join(" ".join(["command", *self.argv]).split())


class PythonAgent(Value):
    """An agent that is a Python function, sync or async; each run calls it in a process of its own.

    The function takes the request as a dict and returns the reply as a dict. It sees environment variables as a command does.
    """

    callable: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")] = Field(description="`module:function`.")
    path: Text | None = Field(default=None, description="A folder that modules are imported from; that of the scenario file if left out.")
    env: tuple[VariableName, ...] = Field(default=(), description="Environment variables that are passed on, by name.")
    workspace: Text | None = Field(default=None, description="A folder that every run gets its own copy of, as its working directory.")
    timeout_seconds: TimeoutSeconds = DEFAULT_TIMEOUT_SECONDS
    max_response_bytes: int = Field(default=16 * MIB, strict=True, ge=1_024)
    concurrency: Concurrency = DEFAULT_CONCURRENCY

    @property
    def identity(self) -> str:
        """`python` and the function's name."""
        return f"python {self.callable}"


class ModelAgent(Value):
    """One of the project's cells under one arm: the project's own model runner.

    `arm` is an arm spec, or with `suite` the name of one of that suite's arms; the suite also says what the arm's documents are.
    """

    cell: Text
    arm: Text = "baseline"
    suite: Text | None = None


class AgentSettings(Value):
    """The `agent:` block: exactly one kind, such as `agent: {command: {argv: [./agent]}}`."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    http: HttpAgent | None = None
    command: CommandAgent | None = None
    python: PythonAgent | None = None
    model: ModelAgent | None = None

    @model_validator(mode="after")
    def _is_one_kind(self) -> "AgentSettings":
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"names {' and '.join(given) or 'no kind'}; it is exactly one of http, command, python and model")
        return self

    @property
    def chosen(self) -> HttpAgent | CommandAgent | PythonAgent | ModelAgent:
        """The one kind that is given."""
        return next(kind for kind in (self.http, self.command, self.python, self.model) if kind is not None)
