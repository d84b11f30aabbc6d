"""Bad project files: each is refused with file, line, dotted field, the rule, and the nearest valid name."""

import re
from pathlib import Path

import pytest

from evalplatform.kernel.errors import ProjectFileError, UnknownNameError
from evalplatform.project.load import Project, load_project
from tests.support.starter import starter, starter_project

READER = "reader: {model: extractive, endpoint: here, sampling: {max_tokens: 120}}"
JUDGE = "facts: {kind: overlap, model: overlap, endpoint: here}"
HERE = "  here: {provider: offline}"
SUITE = "  kettle:\n    product: kettle"
ARMS = """    arms:
      - baseline
      - docs:local:docs
      - skill:skills/use-kettle
      - docs:local:docs+skill:skills/use-kettle
      - profile:profiles/plain-speaker.md
"""
LAST = "    judges: [facts]\n"
ID_RULE = "an id is made of a-z, 0-9, '.', '_' and '-', starting with a letter or digit"


def refused(file: Path) -> ProjectFileError:
    with pytest.raises(ProjectFileError) as error:
        load_project(file, environ={})
    assert error.value.file == str(file.resolve())
    assert "\n" not in str(error.value)
    return error.value


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "rule", "nearest"),
    [
        # Unknown keys, at every level.
        (LAST, f"{LAST}storag: x\n", 37, "storag", "unknown key", "storage"),
        (LAST, f"{LAST}quite_other: x\n", 37, "quite_other", "unknown key", None),
        (HERE, "  here: {provider: offline, limit: {}}", 11, "endpoints.here.limit", "unknown key", "limits"),
        (
            HERE,
            "  here: {provider: offline, limits: {max_concurent: 3}}",
            11,
            "endpoints.here.limits.max_concurent",
            "unknown",
            "max_concurrent",
        ),
        (HERE, "  here: {provider: offline, retry: {attempt: 3}}", 11, "endpoints.here.retry.attempt", "unknown key", "attempts"),
        (HERE, "  here: {provider: offline, prices: {input: 3}}", 11, "endpoints.here.prices.input", "unknown key", None),
        ("max_tokens: 120", "max_token: 120", 15, "cells.reader.sampling.max_token", "unknown key", "max_tokens"),
        ("endpoint: here, sampling", "endpoint: here, samplings", 15, "cells.reader.samplings", "unknown key", "sampling"),
        ("kind: overlap,", "kind: overlap, rubrik: x,", 19, "judges.facts.rubrik", "unknown key", "rubric"),
        ("kettle: {}", "kettle: {library: x}", 22, "products.kettle.library", "unknown key", "library_id"),
        (ARMS, "    armz: [baseline]\n", 28, "suites.kettle.armz", "unknown key", "arms"),
        (ARMS, "    arms: [{name: a, spce: docs}]\n", 28, "suites.kettle.arms.0.spce", "unknown key", "spec"),
        (LAST, f"{LAST}budgets: {{kettle: {{max_cost: 5}}}}\n", 37, "budgets.kettle.max_cost", "unknown key", "max_cost_usd"),
        # Wrong types and values.
        ("version: 1\n", "version: 2\n", 3, "version", "must be 1 (got 2).", None),
        ("version: 1\n", "version: one\n", 3, "version", "must be 1 (got 'one').", None),
        ("version: 1\n", "", None, "version", "is missing.", None),
        ("project: my-project", "project: 12", 4, "project", "must be text (got 12).", None),
        ("project: my-project", "project:", 4, "project", "must be text (got None).", None),
        ("project: my-project", "project: 2026-01-01", 4, "project", "must be text.", None),
        ("max_tokens: 120", "max_tokens: many", 15, "cells.reader.sampling.max_tokens", "must be a whole number (got 'many').", None),
        ("max_tokens: 120", 'max_tokens: "120"', 15, "cells.reader.sampling.max_tokens", "must be a whole number (got '120').", None),
        ("max_tokens: 120", "max_tokens: true", 15, "cells.reader.sampling.max_tokens", "must be a whole number (got True).", None),
        ("max_tokens: 120", 'temperature: "0.5"', 15, "cells.reader.sampling.temperature", "must be a number (got '0.5').", None),
        (
            HERE,
            '  here: {provider: offline, limits: {max_concurrent: "3"}}',
            11,
            "endpoints.here.limits.max_concurrent",
            "a whole number",
            None,
        ),
        (HERE, '  here: {provider: offline, retry: {attempts: "3"}}', 11, "endpoints.here.retry.attempts", "must be a whole number", None),
        (HERE, '  here: {provider: offline, timeout_seconds: "9"}', 11, "endpoints.here.timeout_seconds", "must be a number", None),
        ("cells: [reader]", 'cells: [reader]\n    draws: "2"', 36, "suites.kettle.draws", "must be a whole number (got '2').", None),
        (
            LAST,
            f'{LAST}budgets: {{kettle: {{max_cost_usd: "5"}}}}\n',
            37,
            "budgets.kettle.max_cost_usd",
            "must be a number (got '5').",
            None,
        ),
        ("max_tokens: 120", "max_tokens: 0", 15, "cells.reader.sampling.max_tokens", "must be greater than or equal to 1 (got 0).", None),
        ("max_tokens: 120", "temperature: .nan", 15, "cells.reader.sampling.temperature", "must be a finite number (got nan).", None),
        (
            "max_tokens: 120",
            "temperature: -1",
            15,
            "cells.reader.sampling.temperature",
            "must be greater than or equal to 0 (got -1).",
            None,
        ),
        ("max_tokens: 120", "top_p: 0", 15, "cells.reader.sampling.top_p", "must be greater than 0 (got 0).", None),
        (
            "max_tokens: 120",
            "extra: {a: [1]}",
            15,
            "cells.reader.sampling.extra.a",
            "must be text or a whole number or a number or true",
            None,
        ),
        ("model: extractive", "model: ''", 15, "cells.reader.model", "is empty.", None),
        (READER, "reader: {endpoint: here}", 15, "cells.reader.model", "is missing.", None),
        (HERE, "  here: offline", 11, "endpoints.here", "must be a mapping (got 'offline').", None),
        (HERE, "  here: {provider: offline, stream: maybe}", 11, "endpoints.here.stream", "must be true or false (got 'maybe').", None),
        (HERE, "  here: {provider: offline, timeout_seconds: 0}", 11, "endpoints.here.timeout_seconds", "must be greater than 0", None),
        ("cells: [reader]", "cells: reader", 35, "suites.kettle.cells", "must be a list (got 'reader').", None),
        ("cells: [reader]", "cells: []", 35, "suites.kettle.cells", "needs at least one entry.", None),
        (
            "cells: [reader]",
            "cells: [reader]\n    draws: 0",
            36,
            "suites.kettle.draws",
            "must be greater than or equal to 1 (got 0).",
            None,
        ),
        (
            "cells: [reader]",
            "cells: [reader]\n    draws: 101",
            36,
            "suites.kettle.draws",
            "must be less than or equal to 100 (got 101).",
            None,
        ),
        ("cells: [reader]", "cells: [reader]\n    correction: bonferroni", 36, "suites.kettle.correction", "must be 'holm' or 'bh'", None),
        (
            LAST,
            f"{LAST}budgets: {{kettle: {{max_cost_usd: 0}}}}\n",
            37,
            "budgets.kettle.max_cost_usd",
            "must be greater than 0 (got 0).",
            None,
        ),
        # Arms.
        (ARMS, "", 25, "suites.kettle.arms", "is missing.", None),
        (ARMS, "    arms: []\n", 28, "suites.kettle.arms", "needs at least one entry.", None),
        (ARMS, "    arms: baseline\n", 28, "suites.kettle.arms", "must be a list (got 'baseline').", None),
        (ARMS, "    arms: [baseline, 1]\n", 28, "suites.kettle.arms.1", "must be a mapping or text (got 1).", None),
        (ARMS, "    arms: [{name: a}]\n", 28, "suites.kettle.arms.0.spec", "is missing.", None),
        (
            ARMS,
            "    arms:\n      - baseline\n      - skil:x\n",
            30,
            "suites.kettle.arms.1: arm spec 'skil:x'",
            "unknown arm kind 'skil'",
            "skill",
        ),
        (ARMS, "    arms: [{name: A B, spec: docs}]\n", 28, "suites.kettle.arms.0: arm spec 'docs'", "'A B' cannot name an arm", None),
        # Ids.
        ("  reader: {", '  "rea|der": {', 15, "cells.rea|der", f"{ID_RULE} (got 'rea|der').", "rea-der"),
        ("  reader: {", '  "rea,der": {', 15, "cells.rea,der", f"{ID_RULE} (got 'rea,der').", "rea-der"),
        ("  reader: {", "  Reader: {", 15, "cells.Reader", ID_RULE, "reader"),
        ("  reader: {", '  "": {', 15, "cells.", ID_RULE, None),
        ("project: my-project", "project: My Project", 4, "project", ID_RULE, "my-project"),
        (SUITE, "  comparisons:\n    product: kettle", 25, "suites.comparisons", "is the name of a group of assets", None),
        # Names that must exist elsewhere.
        (
            "endpoint: here, sampling",
            "endpoint: hear, sampling",
            15,
            "cells.reader.endpoint",
            "unknown endpoint 'hear' (known: here).",
            "here",
        ),
        ("overlap, endpoint: here", "overlap, endpoint: x", 19, "judges.facts.endpoint", "unknown endpoint 'x' (known: here).", None),
        ("cells: [reader]", "cells: [reader, raeder]", 35, "suites.kettle.cells.1", "unknown cell 'raeder' (known: reader).", "reader"),
        ("judges: [facts]", "judges: [fact]", 36, "suites.kettle.judges.0", "unknown judge 'fact' (known: facts).", "facts"),
        ("cells: [reader]", "cells: [reader, reader]", 35, "suites.kettle.cells.1", "the cell 'reader' stands here twice", None),
        (
            "judges: [facts]",
            "judges:\n      - facts\n      - facts",
            38,
            "suites.kettle.judges.1",
            "the judge 'facts' stands here twice",
            None,
        ),
        ("product: kettle", "product: kettel", 26, "suites.kettle.product", "unknown product 'kettel' (known: kettle).", "kettle"),
        (
            LAST,
            f"{LAST}budgets: {{kettel: {{max_cost_usd: 5}}}}\n",
            37,
            "budgets.kettel",
            "unknown suite 'kettel' (known: kettle).",
            "kettle",
        ),
        (
            "kind: overlap",
            "kind: overlp",
            19,
            "judges.facts.kind",
            "unknown judge kind 'overlp' (known: overlap, panel, rubric).",
            "overlap",
        ),
        (
            "model: overlap",
            "model: overlapp",
            19,
            "judges.facts.model",
            "the judge kind 'overlap' has the model 'overlap' alone",
            "overlap",
        ),
        (
            "kind: overlap",
            "kind: panel, roles: [doc_reviewr]",
            19,
            "judges.facts.roles",
            "unknown panel role 'doc_reviewr' (known: developer_advocate, doc_reviewer, technical_expert).",
            "doc_reviewer",
        ),
        (
            "kind: overlap",
            "kind: panel, roles: [doc_reviewer, doc_reviewer]",
            19,
            "judges.facts.roles",
            "the role 'doc_reviewer' stands here twice; each votes once.",
            None,
        ),
        (
            "kind: overlap",
            "kind: overlap, roles: [doc_reviewer]",
            19,
            "judges.facts.roles",
            "are for the judge kind 'panel'; the kind 'overlap' has one voice.",
            None,
        ),
        ("kind: overlap", "kind: rubric, rubric: nope.txt", 19, "judges.facts.rubric", "the text file 'nope.txt' cannot be read", None),
        # Not YAML.
        ("endpoints:", "endpoints:\n\tx: 1", 7, None, "is not valid YAML: found character '\\t'", None),
        ("project: my-project", "project: a\nproject: b", 5, None, 'is not valid YAML: found duplicate key "project"', None),
        (HERE, f"{HERE}\n{HERE}", 12, None, 'is not valid YAML: found duplicate key "here"', None),
        ("project: my-project", "project: [a", 6, None, "is not valid YAML", None),
        ("project: my-project", "project: *x", 4, None, "is not valid YAML: found undefined alias", None),
        ("project: my-project", "project: \x00", 4, None, "is not valid YAML: unacceptable character #x0000", None),
    ],
)
def test_a_bad_file_is_refused_at_its_line(
    tmp_path: Path, old: str, new: str, line: int | None, field: str | None, rule: str, nearest: str | None
) -> None:
    error = refused(starter(tmp_path, (old, new)))
    assert (error.line, error.field, error.nearest) == (line, field, nearest)
    assert rule in error.rule


@pytest.mark.parametrize("pasted", ["sk-proj-abc", "'sk-proj abc'", "''", "123456789", "[sk-proj-abc]", "{sk-proj-abc: 1}", '"abc\\n"'])
def test_a_key_pasted_where_its_variables_name_belongs_is_refused_and_not_repeated(tmp_path: Path, pasted: str) -> None:
    error = refused(starter(tmp_path, (HERE, f"  here: {{provider: openai, key_env: {pasted}}}")))
    assert (error.line, error.nearest) == (11, None)
    assert str(error.field).startswith("endpoints.here.key_env")
    assert "must be the name of an environment variable" in error.rule
    assert not re.search("abc|1234", str(error))


@pytest.mark.parametrize("number", ["0", "1", "0.5"])
def test_a_whole_number_serves_where_any_number_does(tmp_path: Path, number: str) -> None:
    project = starter_project(tmp_path, ("max_tokens: 120", f"temperature: {number}"))
    assert project.cell("reader").sampling.temperature == float(number)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "must hold a mapping at the top level."),
        (b"# only a comment\n\n", "must hold a mapping at the top level."),
        (b"- version: 1\n", "must hold a mapping at the top level."),
        (b"hello", "must hold a mapping at the top level."),
        ("\ufeffversion: 1".encode("utf-16-le"), "is not UTF-8 text (byte 0)."),
        (b"version: 1\n# \xe9\n", "is not UTF-8 text (byte 13)."),
        (b"version: 1\nproject: a\n---\nb: 1\n", "is not valid YAML: but found another document."),
    ],
)
def test_a_file_that_holds_no_mapping_is_refused(tmp_path: Path, content: bytes, rule: str) -> None:
    file = tmp_path / "evalplatform.yaml"
    file.write_bytes(content)
    assert refused(file).rule == rule


def test_a_file_that_is_not_there_or_is_a_folder_is_refused(tmp_path: Path) -> None:
    assert "No such file" in str(refused(tmp_path / "evalplatform.yaml"))
    (tmp_path / "evalplatform.yaml").mkdir()
    assert "Is a directory" in str(refused(tmp_path / "evalplatform.yaml"))


def test_the_line_is_that_of_the_entry_in_a_list_of_many_lines(tmp_path: Path) -> None:
    error = refused(starter(tmp_path, ("cells: [reader]", "cells:\n      - reader\n      - raeder")))
    assert (error.line, error.field) == (37, "suites.kettle.cells.1")


def test_windows_line_ends_and_a_byte_order_mark_are_read_and_lines_still_counted(tmp_path: Path) -> None:
    file = starter(tmp_path)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert load_project(file, environ={}).settings.project == "my-project"
    file.write_bytes(file.read_bytes().replace(b"endpoint: here, sampling", b"endpoint: hear, sampling"))
    assert refused(file).line == 15


def test_anchors_and_merges_are_plain_values(tmp_path: Path) -> None:
    project = starter_project(tmp_path, (READER, f"{READER.replace('reader:', 'reader: &r')}\n  second: {{<<: *r, model: other}}"))
    assert project.cell("second").sampling == project.cell("reader").sampling
    assert project.cell("second").model == "other"


@pytest.mark.parametrize("name", ["EVALPLATFORM_STORAGE", "EVALPLATFORM_DATABASE"])
def test_storage_and_database_are_overridden_by_the_environment_and_an_empty_variable_overrides_nothing(tmp_path: Path, name: str) -> None:
    field = name.removeprefix("EVALPLATFORM_").lower()
    file = starter(tmp_path)
    default = getattr(load_project(file, environ={name: ""}).settings, field)
    assert getattr(load_project(file, environ={name: "elsewhere"}).settings, field) == "elsewhere"
    assert default in (".evalplatform/store", "sqlite:///.evalplatform/evalplatform.db")


def test_a_name_that_the_project_does_not_hold_is_answered_with_the_nearest(tmp_path: Path) -> None:
    project = starter_project(tmp_path)
    for look_up, name, near in ((project.suite, "ketle", "kettle"), (project.cell, "reder", "reader"), (project.judge, "fact", "facts")):
        with pytest.raises(UnknownNameError, match=re.escape(f"Did you mean {near!r}?")):
            look_up(name)


def test_a_rubric_is_read_beside_the_project_file_without_its_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "rubric.md").write_bytes(b"\xef\xbb\xbfBe strict.")
    project: Project = starter_project(tmp_path, (JUDGE, "facts: {kind: rubric, model: m, endpoint: here, rubric: rubric.md}"))
    assert project.judge("facts").settings.rubric == "Be strict."


@pytest.mark.parametrize(("content", "rule"), [(b"\xff", "cannot be read"), (b" \n", "is blank")])
def test_a_rubric_that_says_nothing_or_is_not_text_is_refused(tmp_path: Path, content: bytes, rule: str) -> None:
    (tmp_path / "rubric.md").write_bytes(content)
    error = refused(starter(tmp_path, (JUDGE, "facts: {kind: rubric, model: m, endpoint: here, rubric: rubric.md}")))
    assert (error.line, error.field) == (19, "judges.facts.rubric")
    assert rule in error.rule


def test_a_section_without_entries_is_an_empty_one(tmp_path: Path) -> None:
    file = tmp_path / "evalplatform.yaml"
    sections = ("endpoints", "cells", "judges", "products", "suites", "budgets", "entitlements")
    file.write_text("version: 1\nproject: empty\n" + "".join(f"{section}:\n" for section in sections))
    bare = load_project(file, environ={}).settings
    file.write_text("version: 1\nproject: empty\n")
    assert bare == load_project(file, environ={}).settings
