import asyncio
import json
import logging
from pathlib import Path

import pytest

from evalplatform.adapters.documents.kinds.local import LocalDocuments
from evalplatform.kernel.errors import TreatmentFileError
from evalplatform.ports.documents import Chunk
from tests.support.requirements import data_folder


def written(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def digest_of(folder: Path, path: str = "docs") -> str:
    return asyncio.run(LocalDocuments(path, base_folder=folder).open())


def found(folder: Path, query: str, *, top_k: int = 5) -> list[Chunk]:
    async def run() -> list[Chunk]:
        source = LocalDocuments("docs", base_folder=folder)
        await source.open()
        return await source.retrieve(query, top_k=top_k)

    return asyncio.run(run())


def test_documents_are_found_at_any_depth_and_other_files_are_not(tmp_path):
    written(tmp_path, {"docs/a.md": "alpha", "docs/deep/er/b.html": "<p>alpha</p>", "docs/c.py": "alpha", "docs/d.TXT": "alpha"})
    assert [(chunk.source, chunk.text) for chunk in found(tmp_path, "alpha")] == [
        ("a.md", "alpha"),
        ("d.TXT", "alpha"),
        ("deep/er/b.html", "alpha"),
    ]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    written(tmp_path, {"docs/a.md": b"\xef\xbb\xbfalpha"})
    assert [chunk.text for chunk in found(tmp_path, "alpha")] == ["alpha"]


def test_files_too_large_or_not_utf8_are_skipped_counted_and_told(tmp_path, caplog):
    written(
        tmp_path,
        {
            "docs/ok.md": "x" * 512 * 1024,
            "docs/big.md": "x" * (512 * 1024 + 1),
            "docs/latin.md": b"caf\xe9",
            "docs/utf16.txt": b"\xff\xfea\0",
        },
    )
    source = LocalDocuments("docs", base_folder=tmp_path)
    with caplog.at_level(logging.WARNING):
        asyncio.run(source.open())
    assert dict(source.skipped) == {"too_large": 1, "undecodable": 2}
    assert [record.getMessage() for record in caplog.records] == [
        "local:docs: 1 documentation file(s) skipped: too_large",
        "local:docs: 2 documentation file(s) skipped: undecodable",
    ]


def test_the_digest_is_the_same_for_the_same_documents_anywhere(tmp_path):
    files: dict[str, str | bytes] = {"docs/a.md": "alpha", "docs/b/c.md": "beta"}
    assert digest_of(written(tmp_path / "one", files)) == digest_of(written(tmp_path / "two", dict(reversed(files.items()))))


@pytest.mark.parametrize(
    "change",
    [{"docs/a.md": "alpha!"}, {"docs/a.md": "alpha\r\n"}, {"docs/c.md": ""}],
    ids=["text", "line ending", "another file"],
)
def test_any_change_of_a_document_changes_the_digest(tmp_path, change):
    before = digest_of(written(tmp_path, {"docs/a.md": "alpha", "docs/b.md": "beta"}))
    assert digest_of(written(tmp_path, change)) != before


def test_moving_text_from_one_file_to_another_changes_the_digest(tmp_path):
    one = digest_of(written(tmp_path / "one", {"docs/a.md": "xy", "docs/b.md": "z"}))
    assert one != digest_of(written(tmp_path / "two", {"docs/a.md": "x", "docs/b.md": "yz"}))


def test_files_that_are_not_served_change_no_digest(tmp_path):
    before = digest_of(written(tmp_path, {"docs/a.md": "alpha"}))
    assert digest_of(written(tmp_path, {"docs/b.py": "x", "docs/bad.md": b"\xff", "docs/__pycache__/c.md": "x"})) == before


def test_opening_twice_reads_once(tmp_path):
    async def run() -> tuple[str, str]:
        source = LocalDocuments("docs", base_folder=written(tmp_path, {"docs/a.md": "alpha"}))
        first = await source.open()
        written(tmp_path, {"docs/a.md": "changed"})
        return first, await source.open()

    first, second = asyncio.run(run())
    assert first == second


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("dosc", "dosc: the documents folder does not exist. Did you mean 'docs'?"),
        ("docs/a.md", "docs/a.md: is a file; a local document source is a folder."),
        ("empty", "empty: holds no readable document (.htm .html .md .rst .txt)."),
        ("bad", "bad: holds no readable document (.htm .html .md .rst .txt). 1 skipped: undecodable."),
    ],
)
def test_a_folder_that_cannot_serve_is_refused_at_open(tmp_path, path, says):
    written(tmp_path, {"docs/a.md": "alpha", "empty/code.py": "x", "bad/a.md": b"\xff"})
    with pytest.raises(TreatmentFileError) as refused:
        digest_of(tmp_path, path)
    assert str(refused.value) == says


def test_a_real_knowledge_base_is_served_for_every_task(tmp_path):
    folder = data_folder("banking")
    for line in (folder / "documents.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        written(tmp_path, {f"docs/{row['id']}.md": f"# {row['title']}\n\n{row['content']}"})
    tasks = [json.loads(line) for line in (folder / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]

    async def run() -> list[list[Chunk]]:
        source = LocalDocuments("docs", base_folder=tmp_path)
        await source.open()
        return [await source.retrieve(task["instructions"], top_k=5) for task in tasks]

    answered = asyncio.run(run())
    assert len(answered) == 97
    assert all(len(chunks) == 5 and chunks[0].relevance > 0 for chunks in answered)
