"""`padding`: sentences that say nothing. A judge that rewards length ranks the padded answer higher."""

from collections.abc import Sequence

from evalplatform.judging.degradations.degradation import Degraded, degradations
from evalplatform.judging.degradations.names import Name
from evalplatform.kernel.text import plural

FILLER = (
    "It helps to keep the wider context in mind here.",
    "Every situation has its own particulars, and this one is no exception.",
    "As with most questions of this kind, there is more than one way to look at it.",
    "A careful reader will want to take the time to think this through.",
    "These points taken together give a reasonable picture of the matter.",
    "It is often useful to come back to a question like this at a later time.",
    "What was said above covers the question as it was asked.",
    "There are, of course, many further aspects that could be mentioned.",
    "In the end it comes down to what is needed in the case at hand.",
    "This is a topic that many people find worth knowing about.",
)
"""Nothing in them is right or wrong about anything."""
_LEAST_SENTENCES = 3


@degradations.register("padding")
class Padding:
    """Appends filler of at least half the answer's length, as far as the ten sentences of it go, and at least three sentences."""

    what = "filler that says nothing is appended"
    lack = "empty"
    is_worse = False

    def degraded(self, answer: str, *, seed: int, names: Sequence[Name]) -> Degraded:
        """Return the answer with filler after it; every answer can be padded."""
        del names
        first = seed % len(FILLER)
        turned = (*FILLER[first:], *FILLER[:first])
        number = next(
            (count for count in range(_LEAST_SENTENCES, len(turned)) if len(" ".join(turned[:count])) >= len(answer) / 2), len(turned)
        )
        return Degraded(text=f"{answer.rstrip()}\n\n{' '.join(turned[:number])}", change=f"{plural(number, 'sentence')} of filler appended")
