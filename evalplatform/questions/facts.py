"""Facts a good answer states or must not state: their two spellings in a record, and back."""

import re
import unicodedata
from collections.abc import Sequence

from pydantic import JsonValue

from evalplatform.kernel.errors import nearest_name
from evalplatform.questions.cleaning import is_blank
from evalplatform.questions.raw import RawRecord
from evalplatform.questions.records import Fact

_CHECKS = {"must_include": "expected_facts", "must_not_include": "forbidden_facts"}
_WORD_CHARACTER = re.compile(r"[^\W_]")


def with_checks_as_facts(fields: dict[str, JsonValue], record: RawRecord) -> dict[str, JsonValue]:
    """Return the fields with `checks: {must_include, must_not_include}` as `expected_facts` and `forbidden_facts`.

    Raises:
        QuestionSetError: another key in `checks` (a typo there would silently turn the grading off), or the same facts under both names.
    """
    checks = fields.get("checks")
    if not isinstance(checks, dict):
        return fields
    plain = {key: value for key, value in fields.items() if key != "checks"}
    for key, value in checks.items():
        if key not in _CHECKS:
            raise record.refusal(
                "is not a check; 'checks' holds 'must_include' and 'must_not_include'.",
                field=f"checks.{key}",
                nearest=nearest_name(key, _CHECKS),
            )
        if _CHECKS[key] in plain:
            raise record.refusal(f"says the same as {_CHECKS[key]!r}, which is given too; keep one.", field=f"checks.{key}")
        if not isinstance(value, list):
            raise record.refusal("must be a list of facts.", field=f"checks.{key}")
        plain[_CHECKS[key]] = value
    return plain


def facts_from(value: JsonValue, record: RawRecord, *, field: str) -> tuple[Fact, ...]:
    """Return the facts of a list whose items are a wording or `{"any_of": [wordings]}`.

    Raises:
        QuestionSetError: another shape, no wording, or a blank one (it would be found in every answer); an expected fact
            without a letter or digit.
    """
    if not isinstance(value, list):
        return ()
    return tuple(_fact(item, record, field=f"{field}[{index}]") for index, item in enumerate(value))


def facts_as_json(facts: Sequence[Fact]) -> list[JsonValue]:
    """Return facts as a record spells them: one wording plain, several as `{"any_of": [...]}`."""
    return [fact.label if len(fact.any_of) == 1 else {"any_of": list(fact.any_of)} for fact in facts]


def _fact(item: JsonValue, record: RawRecord, *, field: str) -> Fact:
    wordings = item.get("any_of") if isinstance(item, dict) and len(item) == 1 else [item]
    if not isinstance(wordings, list) or not wordings or not all(isinstance(wording, str) for wording in wordings):
        raise record.refusal('must be a string or {"any_of": [strings]}.', field=field)
    texts = tuple(str(wording) for wording in wordings)
    if any(is_blank(text) for text in texts):
        raise record.refusal("is blank; every answer would state it.", field=field)
    wordless = next((text for text in texts if not _WORD_CHARACTER.search(unicodedata.normalize("NFKC", text))), None)
    if wordless is not None and field.startswith("expected_facts"):  # to forbid a mark such as "!!!" is a rule that can be checked
        raise record.refusal(f"{wordless!r} holds no letter and no digit, so stating it says nothing.", field=field)
    return Fact(any_of=texts)
