"""Turn the evals of a folder of Agent Skills into one question set a skill.

    python examples/converters/skills_catalog.py SOURCE OUT

SOURCE holds skill folders, each with `SKILL.md` and `evals/evals.json`: {"skill_name", "evals": [{id, prompt, expected_output, checks:
{must_include, must_not_include}}]}. OUT gets `<skill>.json` (questions.v2) for every skill that has evals: the prompt becomes the question,
`must_include` its expected facts, `must_not_include` its forbidden facts; `expected_output` is kept in the metadata.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from evalplatform.kernel.errors import InputError, QuestionSetError
from evalplatform.kernel.text import plural


def convert(source: Path, out: Path) -> dict[str, int]:
    """Write OUT from SOURCE and return how many questions each skill has, by skill name.

    Raises:
        QuestionSetError: no skill has evals, an eval that cannot be used (with its file and field), or OUT already holds files.
    """
    files = sorted(source.glob("*/evals/evals.json"))
    if not files:
        raise QuestionSetError("no <skill>/evals/evals.json below it.", file=source)
    sets: dict[str, list[dict[str, Any]]] = {}
    for file in files:
        skill, questions = read_evals(file)
        if skill in sets:
            raise QuestionSetError(f"a second skill is called {skill!r}.", file=file, field="skill_name")
        sets[skill] = questions
    if out.exists() and any(out.iterdir()):
        raise QuestionSetError("is not empty; name a new folder.", file=out)
    out.mkdir(parents=True, exist_ok=True)
    for skill, questions in sets.items():
        payload = {"schema_version": "questions.v2", "questions": questions}
        (out / f"{skill}.json").write_text(json.dumps(payload, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return {skill: len(questions) for skill, questions in sets.items()}


def read_evals(file: Path) -> tuple[str, list[dict[str, Any]]]:
    """Return the skill's name, which must be its folder's, and its questions.v2 records."""
    try:
        payload = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise QuestionSetError(f"is not readable JSON: {error}.", file=file) from error
    if not isinstance(payload, dict) or not isinstance(payload.get("evals"), list):
        raise QuestionSetError("must be an object with a list `evals`.", file=file)
    skill = file.parent.parent.name
    if payload.get("skill_name") != skill:
        raise QuestionSetError(f"must be the folder's name, {skill!r}.", file=file, field="skill_name")
    return skill, [question_of(entry, skill=skill, file=file, place=f"evals[{index}]") for index, entry in enumerate(payload["evals"])]


def question_of(entry: object, *, skill: str, file: Path, place: str) -> dict[str, Any]:
    """Return the questions.v2 record of one eval."""
    if not isinstance(entry, dict):
        raise QuestionSetError("must be an object.", file=file, field=place)
    checks = entry.get("checks")
    if not isinstance(checks, dict):
        raise QuestionSetError("must be an object.", file=file, field=f"{place}.checks")
    for name in ("id", "prompt"):
        if not isinstance(entry.get(name), str) or not entry[name].strip():
            raise QuestionSetError("must be text that is not empty.", file=file, field=f"{place}.{name}")
    return {
        "id": entry["id"],
        "question": entry["prompt"],
        "category": skill,
        "expected_skill": skill,
        "expected_facts": wordings(checks, "must_include", file=file, place=place),
        "forbidden_facts": wordings(checks, "must_not_include", file=file, place=place),
        "metadata": {"expected_output": entry.get("expected_output")},
    }


def wordings(checks: dict[str, Any], name: str, *, file: Path, place: str) -> list[str]:
    """Return a list of texts of `checks`; absent counts as empty."""
    values = checks.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, str) and value.strip() for value in values):
        raise QuestionSetError("must be a list of texts that are not empty.", file=file, field=f"{place}.checks.{name}")
    return values


def main() -> int:
    """Run the converter; 0 when done, 2 when the source cannot be used."""
    parser = argparse.ArgumentParser(description="Turn the evals of a folder of skills into one question set a skill.")
    parser.add_argument("source", type=Path, metavar="SOURCE", help="folder of skill folders")
    parser.add_argument("out", type=Path, metavar="OUT", help="new folder to write")
    arguments = parser.parse_args()
    try:
        counts = convert(arguments.source, arguments.out)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for skill, count in counts.items():
        sys.stdout.write(f"{arguments.out / skill}.json: {plural(count, 'question')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
