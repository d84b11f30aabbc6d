"""Read a question set from JSON, JSON Lines or CSV, upgrading what is old and refusing what is unclear, before any call is made."""

from pathlib import Path

from pydantic import JsonValue

from evalplatform.kernel.csv_text import decoded_text
from evalplatform.kernel.errors import QuestionSetError, nearest_name
from evalplatform.kernel.text import plural
from evalplatform.questions.cleaning import is_blank
from evalplatform.questions.csv_text import csv_records
from evalplatform.questions.facts import facts_from, with_checks_as_facts
from evalplatform.questions.form import questions_digest
from evalplatform.questions.json_text import json_lines_records, json_records
from evalplatform.questions.keys import LEVELS, NEVER_EXTRA, SCHEMA_VERSIONS, TYPED_KEYS
from evalplatform.questions.raw import RawFile, RawRecord
from evalplatform.questions.records import REQUIRED_DOCUMENTS, Question, QuestionSet
from evalplatform.questions.upgrade import Upgrades, assigned_ids, upgraded

_READERS = {".json": json_records, ".jsonl": json_lines_records, ".ndjson": json_lines_records, ".csv": csv_records}
_QUESTION_NAMES = ("question", "text", "question_text")
_OUR_DIGEST_PREFIX = "sha256:"


def read_question_set(path: str | Path) -> QuestionSet:
    """Return the questions of a file, upgraded to questions.v2, with unique ids and a digest.

    The ending decides the format: `.json` (questions.v1 or v2, or a bare list), `.jsonl` or `.ndjson` (one record a line), `.csv` (see
    `questions.csv_text` for how cells are typed). The text is UTF-8; a byte order mark is passed over. Null and NaN mean "not given",
    except a null `expected_skill`, which is the label "no skill should load". A `question_set_hash` beside the questions is checked only
    when it is a digest of this platform (`sha256:...`); other tools put a shorter hash of ids and texts there.

    Args:
        path: the file.

    Returns:
        The set. `warnings` holds one sentence for each kind of upgrade that is not silent.

    Raises:
        QuestionSetError: naming file, line and field: a file that cannot be read or decoded, an unknown ending or schema version, a record
            without a question, a key of another type than questions.v2 gives it, an id used twice, no question at all.

    References:
        treatment-arms spec, section 1.
    """
    file = str(path)
    suffix = Path(path).suffix.lower()
    if suffix not in _READERS:
        raise QuestionSetError(
            f"a question set ends in one of {', '.join(_READERS)}.", file=file, nearest=nearest_name(suffix, _READERS) if suffix else None
        )
    raw = _READERS[suffix](_text_of(Path(path), file=file), file=file)
    _check_stamps(raw, file=file)
    if not raw.records:
        raise QuestionSetError("holds no question.", file=file)
    upgrades = Upgrades()
    forbids_text = raw.stamps.get("schema_version") == "questions.v2"
    fields = [upgraded(record, upgrades, forbids_text=forbids_text) for record in raw.records]
    ids = assigned_ids(raw.records, fields, upgrades)
    questions = tuple(_question(*item) for item in zip(raw.records, ids, fields, strict=True))
    digest = questions_digest(questions)
    warnings = (*_bare_list_warning(raw), *upgrades.sentences(), *_hash_warning(raw, digest))
    return QuestionSet(source=file, questions=questions, digest=digest, warnings=warnings)


def _text_of(path: Path, *, file: str) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise QuestionSetError(f"cannot be read: {error.strerror or error}.", file=file) from None
    return decoded_text(data, file=file, error=QuestionSetError)


def _check_stamps(raw: RawFile, *, file: str) -> None:
    version = raw.stamps.get("schema_version")
    if version is not None and version not in SCHEMA_VERSIONS:
        raise QuestionSetError(
            f"{version!r} is not a version that is read here ({', '.join(SCHEMA_VERSIONS)}).",
            file=file,
            field="schema_version",
            nearest=nearest_name(str(version), SCHEMA_VERSIONS),
        )
    stamped_hash = raw.stamps.get("question_set_hash")
    if stamped_hash is not None and not isinstance(stamped_hash, str):
        raise QuestionSetError(f"must be a string, not {stamped_hash!r}.", file=file, field="question_set_hash")


def _bare_list_warning(raw: RawFile) -> tuple[str, ...]:
    return (f"The file is a bare list of {plural(len(raw.records), 'question')}; it was read as questions.v2.",) if raw.is_bare_list else ()


def _hash_warning(raw: RawFile, digest: str) -> tuple[str, ...]:
    stamped_hash = raw.stamps.get("question_set_hash")
    if not isinstance(stamped_hash, str) or not stamped_hash.startswith(_OUR_DIGEST_PREFIX) or stamped_hash == digest:
        return ()
    return (f"The questions were changed after 'question_set_hash' was written: it says {stamped_hash}, they now give {digest}.",)


def _question(record: RawRecord, question_id: str, fields: dict[str, JsonValue]) -> Question:
    _check_types(record, fields)
    _check_required_documents(record, fields.get("metadata"))
    fields = with_checks_as_facts(fields, record)
    known = {key: fields[key] for key in ("category", "level", "difficulty", "persona", "ground_truth_chunk", "metadata") if key in fields}
    return Question.model_validate(
        {
            **known,
            "id": question_id,
            "question": fields["question"],
            "expected_skill": fields.get("expected_skill"),
            "has_expected_skill": "expected_skill" in fields,
            "expected_topics": fields.get("expected_topics", ()),
            "expected_facts": facts_from(fields.get("expected_facts"), record, field="expected_facts"),
            "forbidden_facts": facts_from(fields.get("forbidden_facts"), record, field="forbidden_facts"),
            "extra": {key: value for key, value in fields.items() if key not in NEVER_EXTRA},
        }
    )


def _check_types(record: RawRecord, fields: dict[str, JsonValue]) -> None:
    if "question" not in fields:
        if any(name in record.fields for name in _QUESTION_NAMES):
            raise record.refusal("is null or NaN, so there is nothing to ask.", field="question")
        raise record.refusal(f"is missing; the record has {', '.join(map(repr, fields)) or 'no key'}.", field="question")
    for key, value in fields.items():
        if key in TYPED_KEYS and not TYPED_KEYS[key].accepts(value):
            raise record.refusal(f"must be {TYPED_KEYS[key].words}, not {_shortened(value)}.", field=key)
    if is_blank(str(fields["question"])):
        raise record.refusal("is empty; there is nothing to ask.", field="question")
    level = fields.get("level")
    if isinstance(level, str) and level not in LEVELS:
        raise record.refusal(f"{level!r} is none of {', '.join(LEVELS)}.", field="level", nearest=nearest_name(level, LEVELS))


def _check_required_documents(record: RawRecord, metadata: JsonValue) -> None:
    """Refuse what could not be measured: metadata is open, but retrieval is measured against this key of it."""
    ids = metadata.get(REQUIRED_DOCUMENTS) if isinstance(metadata, dict) else None
    if ids is not None and not (isinstance(ids, list) and all(isinstance(item, str) and item.strip() for item in ids)):
        raise record.refusal(f"must be a list of document ids, not {_shortened(ids)}.", field=f"metadata.{REQUIRED_DOCUMENTS}")


def _shortened(value: JsonValue) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
