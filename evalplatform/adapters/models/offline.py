"""The keyless reader: `offline:extractive` answers with sentences of what it was given, chosen by BM25.

It is a program, not a language model, and is labelled so wherever its replies are shown. It makes a whole project run on any machine, and
what it is given does change what it answers, so the arms of an experiment differ for the right reason.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from evalplatform.kernel.errors import FatalCallError, nearest_name
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import FinishReason, Message, ModelReply, ModelRequest
from evalplatform.retrieval.bm25 import Bm25Index, bm25_terms

MODEL = "extractive"
MODEL_RETURNED = f"offline:{MODEL}"
DEFAULT_ANSWER_WORDS = 120

_QUESTION_MARK = re.compile(r"^Question: ", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_CONTEXT_OPEN = "<context>\n"
_CONTEXT_CLOSE = "\n</context>"
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")
_WORD_CHAR = re.compile(r"\w")

# Words that say how a question is asked and nothing about its subject.
_FUNCTION_WORDS = frozenset(
    bm25_terms(
        "a an and are as at be been but by can could did do does for from had has have how i if in into is it its me my of on or our "
        "should so than that the their them then there these they this to us was we were what when where which who why will with would "
        "you your"
    )
)


class AskedPrompt(NamedTuple):
    """A request as the reader sees it: the question, and everything else that it may read."""

    question: str
    context: str


class _Sentences(NamedTuple):
    texts: tuple[str, ...]
    bm25: Bm25Index


class ExtractiveReader:
    """Answers from the request alone, always the same way.

    The question is the text after the last line that starts with `Question: `, up to a blank line; without one it is the whole last user
    message. The context is what stands between the `<context>` markers, system messages and earlier turns. The reply is the best-scoring
    sentences that share a word with the question, in reading order, one a line, at most `sampling.max_tokens` words (120 when unset).

    With no context, or none that shares a word with the question, it restates the question: what a grader then gives is the floor that the
    question's own wording earns, and not a zero.

    Temperature and seed change nothing: every draw is the same. Usage counts words as tokens; latency is exactly 0, so that replies are
    equal byte for byte.
    """

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the extract.

        Raises:
            FatalCallError: another model than `extractive` is asked for.
        """
        if request.model != MODEL:
            hint = " Did you mean 'extractive'?" if nearest_name(request.model, [MODEL]) else ""
            raise FatalCallError("not_found", f"The offline provider has one model, 'extractive', not {request.model!r}.{hint}")
        asked = read_prompt(request.messages)
        text, finish_reason = extract(asked, limit_words=request.sampling.max_tokens or DEFAULT_ANSWER_WORDS)
        prompt_words = sum(len(message.content.split()) for message in request.messages)
        return ModelReply(
            text=text,
            finish_reason=finish_reason,
            usage=Usage(prompt_tokens=prompt_words, completion_tokens=len(text.split())),
            latency_seconds=0.0,
            model_returned=MODEL_RETURNED,
        )

    async def aclose(self) -> None:
        """Nothing is open."""


def read_prompt(messages: Sequence[Message]) -> AskedPrompt:
    """Return the question and the context that messages carry; markers may be absent."""
    last = max((place for place, message in enumerate(messages) if message.role == "user"), default=len(messages) - 1)
    before, block, after = _context_block(messages[last].content)
    marks = list(_QUESTION_MARK.finditer(after))
    question = _BLANK_LINE.split(after[marks[-1].end() :], maxsplit=1)[0] if marks else f"{before.strip()}\n{after.strip()}"
    others = [message.content for place, message in enumerate(messages) if place != last]
    return AskedPrompt(question=question.strip(), context="\n".join([*others, block]).strip())


def extract(asked: AskedPrompt, *, limit_words: int) -> tuple[str, FinishReason]:
    """Return the answer and whether the word limit cut it.

    Sentences are taken best first while they fit; one that does not fit is passed over. Only a best sentence longer than the limit is cut,
    and only then is the finish reason `length`.
    """
    terms = bm25_terms(asked.question)
    sentences = _sentences(asked.context)
    hits = sentences.bm25.search_terms([term for term in terms if term not in _FUNCTION_WORDS] or terms)
    if not hits:
        return _cut(asked.question, limit_words)
    chosen: list[int] = []
    words_left = limit_words
    for hit in hits:
        words = len(sentences.texts[hit.position].split())
        if words <= words_left:
            chosen.append(hit.position)
            words_left -= words
    if not chosen:
        return _cut(sentences.texts[hits[0].position], limit_words)
    return "\n".join(sentences.texts[position] for position in sorted(chosen)), "stop"


def _context_block(content: str) -> tuple[str, str, str]:
    start = content.find(_CONTEXT_OPEN)
    end = content.rfind(_CONTEXT_CLOSE)
    if start == -1 or end < start:
        return "", "", content
    return content[:start], content[start + len(_CONTEXT_OPEN) : end], content[end + len(_CONTEXT_CLOSE) :]


@lru_cache(maxsize=64)  # one skill or profile is the context of a whole question set; indexing it once is most of the work
def _sentences(context: str) -> _Sentences:
    stripped = (sentence.strip() for sentence in _SENTENCE_END.sub(r"\g<0>\n", context).splitlines())
    texts = tuple(dict.fromkeys(text for text in stripped if _WORD_CHAR.search(text)))
    return _Sentences(texts, Bm25Index(texts))


def _cut(text: str, limit_words: int) -> tuple[str, FinishReason]:
    words = text.split()
    return (text, "stop") if len(words) <= limit_words else (" ".join(words[:limit_words]), "length")
