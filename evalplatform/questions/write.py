"""Write a question set as questions.v2, for other tools and for converters."""

import json
import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from evalplatform.kernel.errors import QuestionSetError
from evalplatform.questions.form import questions_digest, questions_v2_record
from evalplatform.questions.keys import NEVER_EXTRA
from evalplatform.questions.records import QuestionSet


def write_question_set(path: str | Path, question_set: QuestionSet) -> None:
    """Write the set as a questions.v2 file: indented by 2, ASCII, moved into place in one step.

    Reading the file gives the same questions and the same digest. The digest stands in the file as `question_set_hash`, so that a later
    edit is noticed.

    Raises:
        QuestionSetError: an open key of a question bears the name of a key with a meaning, so the file would say something else.
    """
    target = Path(path)
    for question in question_set.questions:
        taken = sorted(NEVER_EXTRA & question.extra.keys())
        if taken:
            raise QuestionSetError(f"question {question.id!r} holds {taken[0]!r} as an open key.", file=target, field="extra")
    document = {
        "schema_version": "questions.v2",
        "question_set_hash": questions_digest(question_set.questions),
        "total_questions": len(question_set.questions),
        "questions": [questions_v2_record(question) for question in question_set.questions],
    }
    with NamedTemporaryFile("w", encoding="ascii", newline="\n", dir=target.parent, prefix=f".{target.name}.", delete=False) as draft:
        try:
            json.dump(document, draft, indent=2, ensure_ascii=True, allow_nan=False)
            draft.write("\n")
            draft.flush()
            os.fsync(draft.fileno())
            os.replace(draft.name, target)  # noqa: PTH105 - os.replace says "atomic" by name; the draft lies in the same folder
        except BaseException:
            Path(draft.name).unlink(missing_ok=True)
            raise
