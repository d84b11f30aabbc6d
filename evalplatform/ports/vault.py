"""The vault port: encrypts what is stored and must never be read by whoever reads the store."""

from typing import Protocol


class Vault(Protocol):
    """Seals and opens short secrets with the deployment's keys."""

    def seal(self, text: str) -> str:
        """Return the text encrypted with the newest key, as ASCII.

        Raises:
            MissingSecretError: the deployment has no key.
        """
        ...

    def open(self, token: str) -> str:
        """Return the text of a token.

        Raises:
            CredentialUnreadableError: no key of the deployment opens it, or it is damaged.
        """
        ...

    def reseal(self, token: str) -> str:
        """Return the same text encrypted with the newest key. Raises as `seal` and `open` do."""
        ...
