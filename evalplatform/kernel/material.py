"""Judge material: what a judge may see of an arm's treatment, as text and digest. It carries no arm name."""

from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.text import clip
from evalplatform.kernel.values import Value

INJECTED_LIMIT_CHARS = 15_000
REFERENCE_LIMIT_CHARS = 20_000
SEPARATOR = "\n\n---\n\n"


class JudgeMaterial(Value):
    """What one answer's judge is shown: the text injected into the answering agent, and a reference beside it.

    `injected` is what the agent was sent; `reference` what it could not see in full (such as a skill's file manifest). Both may be empty.
    """

    injected: str = ""
    reference: str = ""

    @property
    def text(self) -> str:
        """The stored text: injected cut at 15,000 characters, then a separator and the reference cut at 20,000 (treatment-arms spec, 7)."""
        injected = self.injected[:INJECTED_LIMIT_CHARS]
        if not self.reference:
            return injected
        reference = clip(self.reference, REFERENCE_LIMIT_CHARS)
        return f"{injected}{SEPARATOR}{reference}" if injected else reference

    @property
    def digest(self) -> str:
        """The digest of `text`; empty material has a digest too, since "nothing was shown" is a fact to keep."""
        return text_digest(self.text)
