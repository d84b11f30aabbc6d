"""Where `evalplatform gate` writes its results, and how a CI build learns of them whatever ends the gate."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from evalplatform.cli.console import say
from evalplatform.cli.diff_outputs import DiffOutputs
from evalplatform.cli.files import check_outputs, check_places, write_if_changed
from evalplatform.reports.gate_cases import error_case
from evalplatform.reports.junit import JUnitCase, junit_xml
from evalplatform.reports.markdown import markdown_text
from evalplatform.reports.workflow_commands import Annotation, workflow_commands
from evalplatform.stages.batch_sides import is_bundle_path

SUITE = "evalplatform gate"
SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
SUMMARY_BYTES = 1_000_000
"""A step's summary of more than 1 MiB is not shown at all."""


class GateOutputs(DiffOutputs):
    """What is to be written, as it was asked for; None is not."""

    junit: Path | None
    certificate: Path | None

    def check_all(self, *, inputs: Sequence[str]) -> None:
        """Return nothing if everything can be written where it was asked for.

        Raises:
            InputError: two results have one place, one would overwrite a bundle that is read, or a place cannot be written.
        """
        places = [
            ("--out-md", self.markdown),
            ("--out-html", self.page),
            ("--out-json", self.json_file),
            ("--out-certificate", self.certificate),
            ("--junit", self.junit),
        ]
        check_outputs(places, inputs=[Path(name) for name in inputs if is_bundle_path(name)])

    def check_junit(self, *, inputs: Sequence[str]) -> None:
        """Return nothing if the JUnit file is none of the bundles that are read. Raises InputError."""
        check_places([("--junit", self.junit)], inputs=[Path(name) for name in inputs if is_bundle_path(name)])


@contextmanager
def told_whatever_ends_it(outputs: GateOutputs, environ: Mapping[str, str]) -> Iterator[None]:
    """Let JUnit file, summary and annotations say that the gate has no answer unless it ends, whatever ends it.

    The JUnit file is written at the start too, for a process that is killed: no earlier success stays behind.
    """
    write_cases(outputs.junit, [error_case("The gate was started and has not ended.")])
    try:
        yield
    except Exception as error:
        text = str(error) or type(error).__name__
        write_cases(outputs.junit, [error_case(text)])
        append_summary(environ, f"**The gate has no answer:** {markdown_text(text)}\n")
        annotate(environ, [Annotation("error", "The gate has no answer", text)])
        raise


def write_cases(path: Path | None, cases: Sequence[JUnitCase]) -> None:
    """Write the JUnit file, where one was asked for."""
    if path is not None:
        write_if_changed(path, junit_xml(SUITE, cases))


def append_summary(environ: Mapping[str, str], markdown: str) -> None:
    """Append to the summary of a CI build's step, where it has one; a text that is too long is cut at a line, which is said.

    A summary that cannot be written changes no answer: it is said, and the gate goes on.
    """
    place = environ.get(SUMMARY_VARIABLE)
    if not place:
        return
    try:
        with Path(place).open("ab") as file:
            file.write(b"\n" + _cut(markdown.encode(), SUMMARY_BYTES - file.tell()))
    except (OSError, ValueError) as error:
        say(f"warning: {SUMMARY_VARIABLE} names {place!r}, which cannot be written: {error}")


def annotate(environ: Mapping[str, str], annotations: Sequence[Annotation]) -> None:
    """Show annotations beside a build of GitHub Actions; nowhere else."""
    if environ.get("GITHUB_ACTIONS") == "true":
        for line in workflow_commands(annotations):
            say(line)


def _cut(data: bytes, most_bytes: int) -> bytes:
    if len(data) <= most_bytes:
        return data
    note = b"\n\n_Cut here: the summary of a step holds no more; the report that `--out-md` writes is whole._\n"
    if most_bytes < len(note):
        return b""
    kept = data[: most_bytes - len(note)]
    return kept[: kept.rfind(b"\n") + 1] + note
