"""What an answering model is sent. Wording here is fixed: its digest is an input of every answer."""

from evalplatform.arms.treatment import AgentConfig
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.material import SEPARATOR
from evalplatform.ports.model_client import Message

CONTEXT_LIMIT_CHARS = 15_000
OPENING = "Use the material between the context markers where it helps; it may be incomplete or beside the point."
TASK = "Answer the question directly and completely. Say what you do not know instead of guessing."

# The digest of everything fixed that the answering model is told; changing a word above makes a new one.
ANSWER_PROMPT_DIGEST = json_digest([OPENING, TASK, SEPARATOR, CONTEXT_LIMIT_CHARS, "context-first.v1"])


def answer_messages(question: str, *, context: str, system_prompt: str | None) -> tuple[Message, ...]:
    """Return what is sent for one question under one treatment.

    With context: one user message of opening, context block, question, task (context first, so that a body shared by all questions can be
    a provider's cache prefix). Without: the plain question and task. A system prompt, where the treatment has one, comes first.
    """
    asked = f"Question: {question}\n\n{TASK}"
    content = f"{OPENING}\n\n<context>\n{context}\n</context>\n\n{asked}" if context else asked
    user = Message(role="user", content=content)
    return (user,) if system_prompt is None else (Message(role="system", content=system_prompt), user)


def joined_context(config: AgentConfig) -> str:
    """Return a treatment's contexts as one text: joined with a ruled line and cut at 15,000 characters (treatment-arms spec, 3)."""
    return _whole_context(config)[:CONTEXT_LIMIT_CHARS]


def context_chars(config: AgentConfig) -> int:
    """Return how long a treatment's contexts are before the cut; above 15,000, the model was not sent all of them."""
    return len(_whole_context(config))


def _whole_context(config: AgentConfig) -> str:
    return SEPARATOR.join(text for text in config.contexts if text)
