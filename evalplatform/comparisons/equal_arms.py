"""Arms that were sent the same prompts: what they differ in is noise, or nothing."""

from collections.abc import Iterable
from itertools import combinations

from evalplatform.answering.records import ArmAnswer
from evalplatform.kernel.values import Value


class EqualArms(Value):
    """Two arms whose prompts were the same for each of the questions that both were prepared for."""

    arm_a: str
    arm_b: str
    questions: int


def equal_arms(answers: Iterable[ArmAnswer]) -> list[EqualArms]:
    """Return every pair of arms whose requests are all the same, in the order in which the arms appear.

    A treatment that adds nothing (an empty profile, a documents arm that never found anything) asks what its baseline asks. One request has
    one reply in the ledger, so that such arms have equal answers, and a delta between them says nothing about the treatment.

    Questions that one of the two could not be prepared for are left out; two arms that share none are not equal.
    """
    requests: dict[str, dict[str, str]] = {}
    for answer in answers:
        of_arm = requests.setdefault(answer.arm, {})
        if answer.request_digest is not None:
            of_arm[answer.question_id] = answer.request_digest
    found = []
    for (arm_a, of_a), (arm_b, of_b) in combinations(requests.items(), 2):
        shared = of_a.keys() & of_b.keys()
        if shared and all(of_a[question] == of_b[question] for question in shared):
            found.append(EqualArms(arm_a=arm_a, arm_b=arm_b, questions=len(shared)))
    return found
