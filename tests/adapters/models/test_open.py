import importlib.util

import pytest

from evalplatform.adapters.models import ModelEndpoint, model_providers, open_model_client
from evalplatform.kernel.errors import InputError, MissingSecretError, UnknownNameError

CUSTOMARY_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "openrouter": "OPENROUTER_API_KEY"}


def test_an_unknown_provider_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError) as caught:
        open_model_client(ModelEndpoint(provider="antropic"))
    assert caught.value.nearest == "anthropic"


@pytest.mark.parametrize(("provider", "variable"), CUSTOMARY_KEYS.items())
def test_a_missing_key_is_named_by_its_variable(provider: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(MissingSecretError, match=variable):
        open_model_client(ModelEndpoint(provider=provider))
    monkeypatch.setenv(variable, " \n")
    with pytest.raises(MissingSecretError, match=variable):
        open_model_client(ModelEndpoint(provider=provider))


def test_a_variable_of_the_projects_choice_goes_before_the_customary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-customary")
    monkeypatch.delenv("TEAM_KEY", raising=False)
    with pytest.raises(MissingSecretError, match="TEAM_KEY"):
        open_model_client(ModelEndpoint(provider="openai", key_env="TEAM_KEY"))


@pytest.mark.parametrize("value", ["sk-secret\nX-Evil: 1", "sk-sécret", "sk-\x00secret"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "\x00" in value:
        value = value.replace("\x00", "\x01")  # no environment can hold a zero byte
    monkeypatch.setenv("TEAM_KEY", value)
    with pytest.raises(MissingSecretError, match="TEAM_KEY") as caught:
        open_model_client(ModelEndpoint(provider="openai", key_env="TEAM_KEY"))
    assert "secret" not in str(caught.value)
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize("pasted", ["sk-proj-abc", "AIzaSyabc", "sk_live_abc"])
def test_a_key_in_the_place_of_its_variables_name_is_not_shown(pasted: str) -> None:
    with pytest.raises(MissingSecretError, match="the environment variable named here is not set") as caught:
        open_model_client(ModelEndpoint(provider="openai", key_env=pasted))
    assert "abc" not in str(caught.value)


def test_a_client_shows_where_it_asks_and_never_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_KEY", "sk-hidden-1")
    client = open_model_client(ModelEndpoint(provider="openai-compatible", base_url="http://gpu-1:8000/v1/", key_env="TEAM_KEY"))
    assert repr(client) == "LeanClient(ChatCompletions at gpu-1:8000)"


@pytest.mark.parametrize("provider", ["openai-compatible", "openai-chat"])
def test_a_compatible_server_needs_an_address(provider: str) -> None:
    with pytest.raises(InputError, match="base_url: the provider"):
        open_model_client(ModelEndpoint(provider=provider))


@pytest.mark.parametrize(
    "base_url",
    ["localhost:8000", "ftp://host/v1", "http://", "http://[::1", "http://host:99999", "http://me:pw@host/v1", "http://host/v1?key=1", ""],
)
def test_an_address_that_cannot_be_called_is_refused(base_url: str) -> None:
    with pytest.raises(InputError) as caught:
        open_model_client(ModelEndpoint(provider="openai-compatible", base_url=base_url))
    assert caught.value.field == "base_url"
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("provider", ["vllm", "ollama"])
def test_local_servers_have_their_customary_address_and_need_no_key(provider: str) -> None:
    assert "localhost:" in repr(open_model_client(ModelEndpoint(provider=provider)))


@pytest.mark.parametrize("field", [{"base_url": "http://host/v1"}, {"key_env": "TEAM_KEY"}, {"stream": True}])
def test_the_offline_reader_refuses_settings_that_would_do_nothing(field: dict[str, object]) -> None:
    with pytest.raises(InputError) as caught:
        open_model_client(ModelEndpoint.model_validate({"provider": "offline", **field}))
    assert caught.value.field == next(iter(field))


def test_google_without_a_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(MissingSecretError, match="GOOGLE_API_KEY"):
        open_model_client(ModelEndpoint(provider="google"))


def test_streaming_is_refused_where_it_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "g-1")
    with pytest.raises(InputError, match="without streaming"):
        open_model_client(ModelEndpoint(provider="google", stream=True))


def test_a_provider_whose_package_is_absent_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert importlib.util.find_spec("groq") is None, "choose a package that is not installed here"
    with pytest.raises(InputError, match=r"pip install 'pydantic-ai-slim\[groq\]'"):
        open_model_client(ModelEndpoint(provider="groq"))


def test_google_without_its_package_names_the_extra_of_this_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from evalplatform.adapters.models import pydantic_ai

    def missing(_: str) -> object:
        raise ImportError("no module named google.genai")

    monkeypatch.setattr(pydantic_ai, "infer_provider_class", missing)
    with pytest.raises(InputError, match=r"pip install 'evalplatform\[google\]'"):
        open_model_client(ModelEndpoint(provider="google"))


def test_bedrock_needs_a_region_and_reads_its_own_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(InputError, match="AWS_DEFAULT_REGION"):
        open_model_client(ModelEndpoint(provider="bedrock"))
    with pytest.raises(InputError, match="AWS_BEARER_TOKEN_BEDROCK"):
        open_model_client(ModelEndpoint(provider="bedrock", key_env="TEAM_KEY"))


def test_google_cloud_without_credentials_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", "/nonexistent")
    with pytest.raises(MissingSecretError, match="found no credentials"):
        open_model_client(ModelEndpoint(provider="google-cloud"))


def test_every_provider_that_goes_through_pydantic_ai_is_one_it_knows() -> None:
    from pydantic_ai.providers import infer_provider_class

    lean = {"anthropic", "offline", "ollama", "openai", "openai-chat", "openai-compatible", "openrouter", "vllm"}
    for name in sorted(set(model_providers.names()) - lean):
        try:
            infer_provider_class(name)
        except ImportError:
            continue  # known, and its package is not installed
