"""Turn a folder of banking documents and customer tasks into documents and a question set.

    python examples/converters/banking.py SOURCE OUT

SOURCE holds `documents.jsonl` ({id, title, content} a line) and `tasks.jsonl` ({id, instructions, required_documents} a line). OUT gets
`documents/<id>.md`, one file a document, and `questions.json` (questions.v2). A task's `required_documents` are kept in the question's
metadata, so that recall@k and hit@k can be computed from what a docs arm retrieved; other fields of a task are not carried over.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalplatform.kernel.errors import InputError, QuestionSetError
from evalplatform.kernel.text import plural

SAFE_ID = re.compile(r'[A-Za-z0-9][^/\\:*?"<>|\x00-\x1f]*')  # what every file system takes as a name


def convert(source: Path, out: Path) -> tuple[int, int]:
    """Write OUT from SOURCE and return how many documents and how many questions it holds.

    Raises:
        QuestionSetError: a line that cannot be used, with its file and number; or OUT already holds files, since a document left over from
            an earlier conversion would take part in every retrieval.
    """
    documents = read_documents(source / "documents.jsonl")
    questions = read_questions(source / "tasks.jsonl", known_documents=set(documents))
    if out.exists() and any(out.iterdir()):
        raise QuestionSetError("is not empty; name a new folder.", file=out)
    folder = out / "documents"
    folder.mkdir(parents=True, exist_ok=True)
    for document_id, text in documents.items():
        (folder / f"{document_id}.md").write_text(text, encoding="utf-8")
    payload = {"schema_version": "questions.v2", "questions": questions}
    (out / "questions.json").write_text(json.dumps(payload, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return len(documents), len(questions)


def read_documents(path: Path) -> dict[str, str]:
    """Return the Markdown text of every document by id, in file order."""
    documents: dict[str, str] = {}
    folded: set[str] = set()
    for line, row in json_lines(path):
        document_id = text_field(row, "id", path, line)
        if not SAFE_ID.fullmatch(document_id):
            raise QuestionSetError(f"{document_id!r} cannot be a file name.", file=path, line=line, field="id")
        if document_id.casefold() in folded:  # two such files are one on a file system that ignores case
            raise QuestionSetError(f"{document_id!r} stands twice (upper and lower case count as one).", file=path, line=line, field="id")
        folded.add(document_id.casefold())
        documents[document_id] = f"# {text_field(row, 'title', path, line)}\n\n{text_field(row, 'content', path, line)}\n"
    return documents


def read_questions(path: Path, *, known_documents: set[str]) -> list[dict[str, Any]]:
    """Return one questions.v2 record a task; a task that requires an unknown document is refused."""
    questions = []
    for line, row in json_lines(path):
        required = row.get("required_documents")
        if not isinstance(required, list):
            raise QuestionSetError("must be a list of document ids.", file=path, line=line, field="required_documents")
        for document_id in required:
            if document_id not in known_documents:
                raise QuestionSetError(f"no document has the id {document_id!r}.", file=path, line=line, field="required_documents")
        questions.append(
            {
                "id": text_field(row, "id", path, line),
                "question": text_field(row, "instructions", path, line),
                "category": "banking",
                "metadata": {"required_documents": required},
            }
        )
    return questions


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (1-based line number, object) for every line that is not blank."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QuestionSetError(f"cannot be read: {error}.", file=path) from error
    for line, raw in enumerate(text.split("\n"), start=1):
        if not raw.strip():
            continue
        try:
            row = json.loads(raw)
        except json.JSONDecodeError as error:
            raise QuestionSetError(f"is not JSON: {error}.", file=path, line=line) from error
        if not isinstance(row, dict):
            raise QuestionSetError("must be a JSON object.", file=path, line=line)
        yield line, row


def text_field(row: dict[str, Any], name: str, path: Path, line: int) -> str:
    """Return a field that must hold text."""
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise QuestionSetError("must be text that is not empty.", file=path, line=line, field=name)
    return value


def main() -> int:
    """Run the converter; 0 when done, 2 when the source cannot be used."""
    parser = argparse.ArgumentParser(description="Turn banking documents and tasks into documents/*.md and questions.json.")
    parser.add_argument("source", type=Path, metavar="SOURCE", help="folder with documents.jsonl and tasks.jsonl")
    parser.add_argument("out", type=Path, metavar="OUT", help="new folder to write")
    arguments = parser.parse_args()
    try:
        documents, questions = convert(arguments.source, arguments.out)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{arguments.out / 'documents'}: {plural(documents, 'document')}\n")
    sys.stdout.write(f"{arguments.out / 'questions.json'}: {plural(questions, 'question')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
