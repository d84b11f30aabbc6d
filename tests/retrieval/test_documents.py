import json

import pytest

from evalplatform.retrieval.documents import CHUNK_LIMIT_CHARS, Document, DocumentIndex, document, is_document
from evalplatform.retrieval.lexical import lexical_score
from tests.support.requirements import data_folder


@pytest.mark.parametrize("path", ["a.md", "b/c.RST", "x.txt", "y.html", "z.Htm"])
def test_documentation_is_told_by_its_ending(path):
    assert is_document(path)


@pytest.mark.parametrize("path", ["a.py", "md", "a.md.bak", "a.markdown", ".md"])
def test_other_files_are_no_documentation(path):
    assert not is_document(path)


def test_a_file_is_one_chunk_of_its_first_32000_characters():
    assert document("a.md", "x" * 40_000).text == "x" * CHUNK_LIMIT_CHARS


def test_html_is_stripped_before_it_is_cut_and_only_in_html_files():
    markup = "<p>" + "<b></b>" * 10_000 + "tail</p>"
    assert document("a.html", markup).text == "tail"
    assert document("a.md", "<b>bold</b>").text == "<b>bold</b>"


def test_best_first_equal_scores_by_path_and_wordless_documents_last():
    index = DocumentIndex(
        [Document(path=path, text=text) for path, text in [("b", "alpha"), ("d", "zzz"), ("a", "alpha"), ("c", "alpha beta")]]
    )
    assert [(chunk.source, chunk.relevance) for chunk in index.search("alpha beta", top_k=9)] == [
        ("c", 1.0),
        ("a", 0.5),
        ("b", 0.5),
        ("d", 0.0),
    ]
    assert [chunk.source for chunk in index.search("alpha beta", top_k=2)] == ["c", "a"]
    assert len(index) == 4


def test_the_order_of_the_files_does_not_matter():
    documents = [Document(path=f"{place}.md", text="alpha" * (place % 3)) for place in range(9)]
    assert DocumentIndex(documents).search("alpha", top_k=4) == DocumentIndex(documents[::-1]).search("alpha", top_k=4)


def test_a_real_knowledge_base_ranks_exactly_as_the_plain_rule_says():
    folder = data_folder("banking")
    rows = [json.loads(line) for line in (folder / "documents.jsonl").read_text(encoding="utf-8").splitlines()]
    tasks = [json.loads(line) for line in (folder / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]
    documents = [document(f"{row['id']}.md", f"# {row['title']}\n\n{row['content']}") for row in rows]
    index = DocumentIndex(documents)
    for place, task in enumerate(tasks):
        found = index.search(task["instructions"], top_k=5)
        assert len(found) == 5
        if place % 50 == 0:  # the plain rule over every document takes as long as the index for every task
            plain = sorted((-lexical_score(task["instructions"], page.text), page.path) for page in documents)[:5]
            assert [(-chunk.relevance, chunk.source) for chunk in found] == plain
