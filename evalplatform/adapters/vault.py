"""The vault: secrets sealed with the deployment's Fernet keys, the newest of which seals and all of which open."""

from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from evalplatform.kernel.errors import CredentialUnreadableError, InputError, MissingSecretError
from evalplatform.project.deployment import DeploymentSettings, variable_of

VARIABLE = variable_of("secret_keys")
HOW_TO_MAKE_A_KEY = "`openssl rand -base64 32 | tr '+/' '-_'` makes one"


class FernetVault:
    """The Vault port over Fernet keys (AES-128-CBC with HMAC-SHA256), newest first; without a key nothing can be sealed or opened."""

    def __init__(self, keys: Sequence[Fernet]) -> None:
        self._keys = MultiFernet(keys) if keys else None

    def seal(self, text: str) -> str:
        """Return the text encrypted with the newest key. Raises MissingSecretError where the deployment has none."""
        return self._opened().encrypt(text.encode()).decode("ascii")

    def open(self, token: str) -> str:
        """Return the text of a token.

        Raises:
            CredentialUnreadableError: no key of the deployment opens it, or it is damaged.
        """
        if self._keys is None:
            raise CredentialUnreadableError(f"a stored secret cannot be read: {VARIABLE} is not set.")
        try:
            return self._keys.decrypt(token.encode()).decode()
        except (InvalidToken, UnicodeError):
            raise CredentialUnreadableError(f"a stored secret cannot be read: no key of {VARIABLE} opens it.") from None

    def reseal(self, token: str) -> str:
        """Return the same text encrypted with the newest key. Raises as `seal` and `open` do."""
        return self.seal(self.open(token))

    def _opened(self) -> MultiFernet:
        if self._keys is None:
            raise MissingSecretError(f"must hold a key to store secrets with; {HOW_TO_MAKE_A_KEY}.", field=VARIABLE)
        return self._keys


def open_vault(deployment: DeploymentSettings) -> FernetVault:
    """Return the deployment's vault.

    Raises:
        InputError: a key is none; which of them is said, and never what it is.
    """
    keys = []
    for number, text in enumerate((deployment.secret_keys or "").split(","), start=1):
        if not text.strip():
            continue
        try:
            keys.append(Fernet(text.strip()))
        except ValueError:
            rule = f"holds a key, number {number}, that is not 32 bytes in URL-safe base64; {HOW_TO_MAKE_A_KEY}."
            raise InputError(rule, field=VARIABLE) from None
    return FernetVault(keys)
