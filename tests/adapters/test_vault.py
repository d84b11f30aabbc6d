"""The vault: what is sealed comes back with any key of the deployment, and with none of them it says so without showing anything."""

from base64 import urlsafe_b64encode

import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.adapters.vault import FernetVault, open_vault
from evalplatform.kernel.errors import CredentialUnreadableError, InputError, MissingSecretError
from evalplatform.project.deployment import DeploymentSettings

OLD, NEW, FOREIGN = (urlsafe_b64encode(bytes([number]) * 32).decode() for number in (1, 2, 3))


def vault(*keys: str) -> FernetVault:
    return open_vault(DeploymentSettings(secret_keys=",".join(keys) or None))


@given(text=st.text(max_size=200))
def test_what_is_sealed_comes_back_and_its_sealed_text_is_plain_ascii_without_it(text: str) -> None:
    token = vault(NEW).seal(text)
    assert vault(NEW).open(token) == text
    assert token.isascii()
    assert len(text) < 4 or text not in token


def test_the_newest_key_seals_and_every_key_opens() -> None:
    old = vault(OLD).seal("value")
    assert vault(NEW, OLD).open(old) == "value"
    resealed = vault(NEW, OLD).reseal(old)
    assert vault(NEW).open(resealed) == "value"
    with pytest.raises(CredentialUnreadableError):
        vault(OLD).open(resealed)


@pytest.mark.parametrize("keys", [(), (FOREIGN,), (FOREIGN, NEW)])
def test_without_its_key_a_sealed_text_is_unreadable(keys: tuple[str, ...]) -> None:
    with pytest.raises(CredentialUnreadableError, match="EVALPLATFORM_SECRET_KEYS"):
        vault(*keys).open(vault(OLD).seal("value"))


def test_a_damaged_or_foreign_text_is_unreadable_at_every_character() -> None:
    token = vault(NEW).seal("value")
    for place in range(len(token.rstrip("=")) - 1):  # the last character before the padding may hold bits that base64 leaves unused
        damaged = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        with pytest.raises(CredentialUnreadableError):
            vault(NEW).open(damaged)
    for strange in ("", "gAAAA", "värde", "\x00", "\ud800", Fernet(NEW).encrypt(b"\xff\xfe").decode()):
        with pytest.raises(CredentialUnreadableError):
            vault(NEW).open(strange)


def test_without_a_key_nothing_is_sealed_and_the_error_says_how_to_make_one() -> None:
    with pytest.raises(MissingSecretError, match="openssl rand -base64 32"):
        vault().seal("value")


@pytest.mark.parametrize("wrong", ["short", "x" * 44, OLD[:-1], "schlüssel"])
def test_what_is_no_key_is_named_by_its_place_and_not_shown(wrong: str) -> None:
    with pytest.raises(InputError, match="number 2") as refused:
        vault(OLD, wrong)
    assert wrong not in str(refused.value)
    assert refused.value.field == "EVALPLATFORM_SECRET_KEYS"


def test_space_and_empty_places_between_keys_do_no_harm() -> None:
    assert vault(f" {OLD} ", "", f"{NEW}\n").open(vault(NEW).seal("value")) == "value"


def test_a_vault_shows_no_key() -> None:
    assert OLD not in repr(vault(OLD)) + repr(DeploymentSettings(secret_keys=OLD))
