"""What the agent side stores, by the web app and by the command line: listed, and fetched by the addresses that Dagster shows."""

from pathlib import Path

import pytest

from evalplatform.cli.main import exit_code
from tests.support.recorded_batches import recorded
from tests.support.runs_project import RunsProject
from tests.support.starter_project import materializations, value_of
from tests.support.web_server import running_web_server

pytestmark = pytest.mark.system


def test_a_comparison_is_listed_and_fetched_by_its_link_and_leads_to_its_diffs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = RunsProject.written_to(tmp_path / "project")
    _, candidate = runs.push(recorded({"refund": "P"}, days_ago=1), recorded({"refund": "F"}))
    runs.register(candidate)
    made = materializations(runs.materialize(["batches", "batch_comparisons"], candidate, raise_on_error=False))["batch_comparisons"]
    address = value_of(made, "report_page").partition("/download/")[2]

    monkeypatch.chdir(tmp_path)
    assert exit_code(["assets", "list", "--suite", "runs", "--project", str(runs.folder)]) == 0
    listed = capsys.readouterr().out
    assert f"runs/batches/{candidate.id}" in listed
    assert "retired" not in listed
    assert exit_code(["assets", "download", "--suite", "runs", "--asset", "batch_comparisons", "--project", str(runs.folder)]) == 0
    folder = tmp_path / "downloads/runs/batch_comparisons" / candidate.id
    assert {path.name for path in folder.iterdir()} == {
        "batch-comparison.html",
        "batch-comparison.json",
        "batch-comparison.md",
        "diff.refund.html",
    }

    with running_web_server(runs.folder) as server:
        page = server.get(f"/download/{address}").text
        assert 'href="diff.refund.html"' in page
        assert "lookup" in server.get(f"/download/{address.rpartition('/')[0]}/diff.refund.html").text
        home = server.get("/", accept="text/html").text
        assert f"/download/runs/batch_comparisons/{candidate.id}/batch-comparison.html" in home
        assert "1 page of single scenarios" in home
        assert "not in the project file" not in home
