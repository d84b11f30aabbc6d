"""Results as JUnit XML, which CI servers read.

A server that cannot parse the file shows no test at all, which looks like success. Characters that XML 1.0 does not allow (escapes of
terminals, NUL, lone surrogates, U+FFFE) are therefore written as visible tokens, and everything else is escaped by the XML writer.
"""

from collections.abc import Sequence
from typing import Literal
from xml.etree import ElementTree

from evalplatform.kernel.values import Value
from evalplatform.reports.visible import one_line, with_visible_controls

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
Outcome = Literal["passed", "failed", "error", "skipped"]
_ELEMENTS = {"failed": "failure", "error": "error", "skipped": "skipped"}
_COUNTS = {"failed": "failures", "error": "errors", "skipped": "skipped"}


class JUnitCase(Value):
    """One test case. `group` stands where test runners put a class; `text` says why a case did not pass."""

    group: str
    name: str
    outcome: Outcome = "passed"
    text: str = ""


def junit_xml(suite: str, cases: Sequence[JUnitCase]) -> bytes:
    """Return the cases as one suite of a JUnit file: UTF-8, with the counts that CI servers sum up."""
    counts = {"tests": len(cases)} | {name: sum(case.outcome == outcome for case in cases) for outcome, name in _COUNTS.items()}
    totals = {name: str(count) for name, count in counts.items()}
    root = ElementTree.Element("testsuites", totals)
    suite_element = ElementTree.SubElement(root, "testsuite", {"name": one_line(suite), **totals})
    for case in cases:
        place = {"classname": one_line(case.group), "name": one_line(case.name)}
        element = ElementTree.SubElement(suite_element, "testcase", place)
        if case.outcome != "passed":
            reason = ElementTree.SubElement(element, _ELEMENTS[case.outcome], {"message": one_line(case.text)})
            reason.text = with_visible_controls(case.text)
    ElementTree.indent(root)
    return f"{DECLARATION}\n{ElementTree.tostring(root, encoding='unicode')}\n".encode()
