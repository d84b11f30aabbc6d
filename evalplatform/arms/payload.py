"""The payload cap: one limit for every channel that carries a fixed text to the agent, with what was cut on record.

The cap is the same for a profile's prompt, a skill's body and a viewed bundled file. Comparing the system-prompt channel with the context
channel means something only if neither can carry what the other would have had cut. 12,000 characters (about 3,000 tokens) is a convention
of the arm spec format, not a tuned figure; it keeps one fixture from filling the prompt (treatment-arms spec, section 4).

Digest policy: a digest is of the text that reaches the model, in UTF-8, after stripping and capping. Line endings are those of the file,
because the model reads them: the same text with CRLF is another treatment. A byte order mark and front matter never reach the model and so
are in no digest.
"""

from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.text import ELLIPSIS
from evalplatform.kernel.values import Value

PAYLOAD_CAP_CHARS = 12_000


class Payload(Value):
    """A fixed text as it is sent. `source_chars` is the size of the whole text without surrounding blanks."""

    text: str
    source_chars: int
    truncated: bool

    @property
    def cut_words(self) -> str | None:
        """What was cut, such as `holds 13,000 characters, of which the first 12,000 are sent`; None where nothing was."""
        if not self.truncated:
            return None
        return f"holds {self.source_chars:,} characters, of which the first {PAYLOAD_CAP_CHARS:,} are sent"

    @property
    def digest(self) -> str:
        """The digest of the text that is sent."""
        return text_digest(self.text)


def capped_payload(source: str) -> Payload:
    """Return the text to send: the source without surrounding blanks, cut where it is longer than 12,000 characters.

    A cut text is the first 12,000 characters, right-trimmed, then a newline and an ellipsis: 12,002 characters or a little less.
    """
    whole = source.strip()
    if len(whole) <= PAYLOAD_CAP_CHARS:
        return Payload(text=whole, source_chars=len(whole), truncated=False)
    cut = whole[:PAYLOAD_CAP_CHARS].rstrip()
    return Payload(text=f"{cut}\n{ELLIPSIS}", source_chars=len(whole), truncated=True)
