"""The README shows what the demo really prints."""

import os
import re
from pathlib import Path

from evalplatform.cli.starter import copy_example
from tests.support.command_line import run
from tests.support.snapshots import UPDATE

README = Path(__file__).parents[2] / "README.md"
TABLE = re.compile(r"^Arm  +Points.*?\n(?=report: )", re.MULTILINE | re.DOTALL)


def test_the_table_in_the_readme_is_the_one_that_the_demo_prints(tmp_path: Path):
    project = copy_example(tmp_path).parent
    ended = run("arms", "run", "--suite", "docs", "--cell", "full", "--judge", folder=project)
    table = "".join(line for line in ended.out.splitlines(keepends=True) if not line.startswith("retrieval "))
    readme = README.read_text(encoding="utf-8")
    if os.environ.get(UPDATE) == "1":
        readme = TABLE.sub(lambda _: table, readme)
        README.write_text(readme, encoding="utf-8")
    found = TABLE.search(readme)
    assert found is not None
    assert found.group() == table, f"the demo prints other numbers now; run with {UPDATE}=1"
