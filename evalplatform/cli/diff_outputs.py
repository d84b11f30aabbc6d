"""Where `evalplatform diff` writes its results: the page, and the folder of diff pages beside it."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from evalplatform.cli.files import check_outputs
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.values import Value
from evalplatform.reports.html import FILE_NAME
from evalplatform.stages.batch_sides import is_bundle_path

PAGE_NAME = "report.html"
PAGE_ENDINGS = frozenset({".html", ".htm"})


class DiffOutputs(Value):
    """What is to be written, as it was asked for; None is not."""

    markdown: Path | None
    html: Path | None
    json_file: Path | None
    prints_json: bool

    @property
    def page(self) -> Path | None:
        """The HTML report: the file that was named, or `report.html` in the folder that was."""
        if self.html is None or (self.html.suffix.lower() in PAGE_ENDINGS and not self.html.is_dir()):
            return self.html
        return self.html / PAGE_NAME

    @property
    def diff_folder(self) -> Path | None:
        """The folder of the diff pages: `report-diffs` beside `report.html`, so that two reports in one folder keep theirs apart."""
        return None if self.page is None else self.page.with_name(f"{self.page.stem}-diffs")

    @property
    def back_link(self) -> str | None:
        """How a diff page names the report; None where its file has no plain name."""
        return f"../{self.page.name}" if self.page is not None and FILE_NAME.fullmatch(self.page.name) else None

    def address(self, file_name: str, *, seen_from: Path) -> str:
        """Return the address of a diff page as a file at `seen_from` links to it."""
        if self.diff_folder is None:
            raise ValueError("without a page there are no diff pages")
        return quote(Path(os.path.relpath(self.diff_folder / file_name, seen_from.parent)).as_posix())

    def check(self, *, inputs: Sequence[str], one_scenario: bool) -> None:
        """Return nothing if everything can be written where it was asked for.

        Raises:
            InputError: two results have one place, one would overwrite a bundle that is read, a place cannot be written, or a file was
                asked for that a single scenario does not have.
        """
        if one_scenario:
            for option, path in (("--out-md", self.markdown), ("--out-json", self.json_file)):
                if path is not None:
                    raise InputError("is a file of the whole comparison: leave out --scenario, or take --out-html or --json.", field=option)
        bundles = [Path(name) for name in inputs if is_bundle_path(name)]
        check_outputs([("--out-md", self.markdown), ("--out-html", self.page), ("--out-json", self.json_file)], inputs=bundles)
