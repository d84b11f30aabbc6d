"""Lint of a skill's front matter against the two public rule sets, which differ; findings name the rule and whose rule it is.

`agent-skills` is the open specification with its reference validator (agentskills.io/specification, skills-ref): names may hold lower-case
letters of any script and must equal the folder's name; a description is required. `quick-validate` is the checker of the public
skill-creator skill: names are a-z, 0-9 and hyphens, a description holds no angle brackets; it knows no folder rule and accepts an empty
description. The two are listed side by side and never merged, because a skill can pass one and fail the other.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from evalplatform.arms.front_matter import FrontMatter, split_front_matter
from evalplatform.arms.skill_files import SKILL_FILE
from evalplatform.arms.treatment_files import read_text
from evalplatform.kernel.values import Value

NAME_LIMIT_CHARS = 64
DESCRIPTION_LIMIT_CHARS = 1_024
COMPATIBILITY_LIMIT_CHARS = 500
KNOWN_FIELDS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
FRONT_MATTER_MISSING = "front-matter-missing"

RuleSet = Literal["agent-skills", "quick-validate", "loading"]


class SkillFinding(Value):
    """One finding: the rule's stable name, whose rule it is, whether it is an error there, and a sentence."""

    rule: str
    rule_set: RuleSet
    severity: Literal["error", "warning"]
    message: str


def lint_skill(path: Path) -> tuple[SkillFinding, ...]:
    """Return what is wrong with the skill whose folder or SKILL.md is given, in a fixed order; empty when nothing is.

    Rule set `loading` holds what this platform's loader does about the file: what it refuses is an error, what it tolerates a warning.

    Raises:
        TreatmentFileError: the file cannot be read at all.
    """
    entry = path / SKILL_FILE if path.is_dir() else path
    front_matter = split_front_matter(read_text(entry, shown_as=str(entry)))
    findings = list(_loading(front_matter))
    if front_matter.problem is None:
        findings += _agent_skills(front_matter.metadata, folder_name=entry.resolve().parent.name)
        findings += _quick_validate(front_matter.metadata)
    return tuple(findings)


def worded_findings(findings: Sequence[SkillFinding]) -> tuple[str, ...]:
    """Return findings as sentences; rule sets that say the same of a rule share one.

    Of a file without front matter that fact alone is said: every finding about a field follows from it.
    """
    if any(finding.rule == FRONT_MATTER_MISSING for finding in findings):
        findings = [finding for finding in findings if finding.rule_set == "loading"]
    rule_sets: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        rule_sets.setdefault((finding.rule, finding.message), []).append(finding.rule_set)
    return tuple(f"{rule} ({', '.join(of)}): {message}" for (rule, message), of in rule_sets.items())


def _loading(front_matter: FrontMatter) -> Iterator[SkillFinding]:
    if front_matter.problem is not None:
        problem = front_matter.problem
        yield _loading_finding("front-matter-unreadable", "error", f"line {problem.line}: {problem.reason}: {problem.text!r}.")
    if front_matter.had_byte_order_mark:
        yield _loading_finding("byte-order-mark", "warning", "the file begins with a byte order mark; it is dropped.")
    if not front_matter.present:
        yield _loading_finding(FRONT_MATTER_MISSING, "warning", "the folder's name is used, and there is no description.")
    if front_matter.problem is None and not front_matter.body.strip():
        yield _loading_finding("body-empty", "warning", "only the name and description would reach the model.")


def _agent_skills(metadata: Mapping[str, object], *, folder_name: str) -> Iterator[SkillFinding]:
    def finding(rule: str, message: str) -> SkillFinding:
        return SkillFinding(rule=rule, rule_set="agent-skills", severity="error", message=message)

    raw_name = metadata.get("name")
    if isinstance(raw_name, str) and raw_name.strip():
        name = unicodedata.normalize("NFKC", raw_name.strip())
        if len(name) > NAME_LIMIT_CHARS:
            yield finding("name-too-long", f"{len(name)} characters; at most {NAME_LIMIT_CHARS}.")
        if name != name.lower():
            yield finding("name-not-lower-case", f"{name!r} holds upper-case letters.")
        if not all(character.isalnum() or character == "-" for character in name):
            yield finding("name-characters", f"{name!r} may hold letters, digits and hyphens only.")
        if rule := _hyphen_rule(name):
            yield finding(rule, f"{name!r}: no hyphen at either end, and no two in a row.")
        if name != unicodedata.normalize("NFKC", folder_name):
            yield finding("name-not-folder", f"{name!r} stands in a folder named {folder_name!r}.")
    else:
        yield finding("name-missing", "a name is required, as text.")
    description = metadata.get("description")
    if not isinstance(description, str) or not description.strip():
        yield finding("description-missing", "a description is required, as text.")
    elif len(description) > DESCRIPTION_LIMIT_CHARS:
        yield finding("description-too-long", f"{len(description):,} characters; at most {DESCRIPTION_LIMIT_CHARS:,}.")
    for rule, message in _field_findings(metadata):
        yield finding(rule, message)


def _quick_validate(metadata: Mapping[str, object]) -> Iterator[SkillFinding]:
    def finding(rule: str, message: str) -> SkillFinding:
        return SkillFinding(rule=rule, rule_set="quick-validate", severity="error", message=message)

    name = metadata.get("name")
    if not isinstance(name, str):
        yield finding("name-missing", "a name is required, as text.")
    elif name := name.strip():
        if not all(character in "abcdefghijklmnopqrstuvwxyz0123456789-" for character in name):
            yield finding("name-characters", f"{name!r} may hold a-z, 0-9 and hyphens only.")
        if rule := _hyphen_rule(name):
            yield finding(rule, f"{name!r}: no hyphen at either end, and no two in a row.")
        if len(name) > NAME_LIMIT_CHARS:
            yield finding("name-too-long", f"{len(name)} characters; at most {NAME_LIMIT_CHARS}.")
    description = metadata.get("description")
    if not isinstance(description, str):
        yield finding("description-missing", "a description is required, as text (an empty one passes).")
    else:
        if "<" in description or ">" in description:
            yield finding("description-angle-brackets", "a description may hold no '<' or '>'.")
        if len(description.strip()) > DESCRIPTION_LIMIT_CHARS:
            yield finding("description-too-long", f"{len(description.strip()):,} characters; at most {DESCRIPTION_LIMIT_CHARS:,}.")
    for rule, message in _field_findings(metadata):
        yield finding(rule, message)


def _field_findings(metadata: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what both rule sets say alike about the other fields."""
    unknown = sorted(set(metadata) - KNOWN_FIELDS)
    if unknown:
        yield "field-unknown", f"{', '.join(unknown)}: known fields are {', '.join(sorted(KNOWN_FIELDS))}."
    compatibility = metadata.get("compatibility", "")
    if not isinstance(compatibility, str) or len(compatibility) > COMPATIBILITY_LIMIT_CHARS:
        yield "compatibility-too-long", f"compatibility must be text of at most {COMPATIBILITY_LIMIT_CHARS} characters."


def _hyphen_rule(name: str) -> str | None:
    if name.startswith("-") or name.endswith("-"):
        return "name-hyphen-at-end"
    return "name-double-hyphen" if "--" in name else None


def _loading_finding(rule: str, severity: Literal["error", "warning"], message: str) -> SkillFinding:
    return SkillFinding(rule=rule, rule_set="loading", severity=severity, message=message)
