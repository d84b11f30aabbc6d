import subprocess
import sys
from pathlib import Path

from tests.support.model_stub import running_stub

PROJECT_FILE = """\
version: 1
project: unchanged
endpoints:
  server: {{provider: openai-compatible, base_url: "{url}"}}
cells:
  cell: {{model: answering-model, endpoint: server}}
judges:
  judge: {{kind: rubric, model: judging-model, endpoint: server}}
products:
  things: {{}}
suites:
  things:
    product: things
    questions: questions.csv
    arms: [baseline]
    cells: [cell]
    judges: [judge]
"""
RUN_AND_LIST_MODULES = """\
import sys
from evalplatform.cli.main import exit_code
code = exit_code(["arms", "run", "--suite", "things", "--judge"])
print("LOADED", *sorted({name.partition(".")[0] for name in sys.modules}))
sys.exit(code)
"""
REPOSITORY = Path(__file__).parents[2]


def run(folder: Path) -> tuple[set[str], str]:
    """Run the suite in a process of its own; return the packages that it loaded, and what it said."""
    command = [sys.executable, "-c", RUN_AND_LIST_MODULES]
    done = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(REPOSITORY), "PATH": ""}, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    listed = done.stdout.splitlines()[-1]
    return set(listed.removeprefix("LOADED ").split()), done.stderr


def test_a_run_with_nothing_to_do_asks_nothing_and_loads_no_numeric_package(tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_text("id,question\na,How are calls retried?\nb,Where do reports go?\n")
    with running_stub() as stub:
        (tmp_path / "evalplatform.yaml").write_text(PROJECT_FILE.format(url=stub.url))
        first, _ = run(tmp_path)
        calls = stub.requests
        second, said = run(tmp_path)
        assert calls == 4
        assert stub.requests == calls
    assert "nothing changed since the last run: 0 model calls" in said
    assert "scipy" in first  # so the list does show what a run loads
    assert not {"scipy", "pandas", "numpy", "pyarrow", "aiohttp", "sqlalchemy", "dagster"} & second
