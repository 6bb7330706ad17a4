"""A comparison as JUnit XML, for the test view of a CI system.

The suite `gates` has one test for each gate. Every other suite is a target with one test for each case. It fails
when the case is newly broken (regressed, failing differently, new and failing), and is skipped, with the reason,
when the case fails as before or did not run.
"""

import re
from collections.abc import Iterable
from itertools import groupby
from xml.etree import ElementTree as ET

from sayagain.analysis.gating import GateResult
from sayagain.analysis.model import CaseComparison, Comparison
from sayagain.analysis.outcomes import Outcome
from sayagain.artifact.plaintext import one_line
from sayagain.report.comparison_text import failure_text, label

_NOT_XML = re.compile("[\ufffe\uffff]")
"""What is left after control characters and surrogates that XML 1.0 cannot hold (section 2.2)."""

_SKIPPED = (Outcome.SAME_FAILURE, Outcome.MISSING, Outcome.NOT_RUN, Outcome.NOT_REPLAYED)


def junit(comparison: Comparison, gates: Iterable[GateResult]) -> bytes:
    """Return the XML document, UTF-8 with its declaration."""
    root = ET.Element("testsuites", name="sayagain compare")
    _add_gates(root, tuple(gates))
    by_target = sorted(comparison.cases, key=lambda case: (case.target, case.item_id, case.repeat))
    for target, cases in groupby(by_target, key=lambda case: case.target):
        suite = ET.SubElement(root, "testsuite", name=_text(target) or "targets")
        for case in cases:
            _add_case(suite, case, label(comparison, case.outcome))
    for element in (*root, root):
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
            element.set(name, str(sum(1 for _ in element.iter(tag))))
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _add_gates(root: ET.Element, gates: tuple[GateResult, ...]) -> None:
    if not gates:
        return
    suite = ET.SubElement(root, "testsuite", name="gates")
    for gate in gates:
        test = ET.SubElement(suite, "testcase", classname="gates", name=_text(gate.gate))
        if gate.tripped:
            ET.SubElement(test, "failure", type="gate", message=_text("; ".join(gate.findings)))


def _add_case(suite: ET.Element, case: CaseComparison, outcome: str) -> None:
    repeat = f" #{case.repeat}" if case.repeat else ""
    name = _text(f"{case.item_id}{repeat}")
    test = ET.SubElement(suite, "testcase", classname=_text(case.target) or "targets", name=name)
    failure = case.failure_b or case.failure_a
    message = _text(f"{outcome}: {failure_text(failure)}" if failure else outcome)
    if case.outcome in _SKIPPED:
        ET.SubElement(test, "skipped", message=message)
    elif case.failed_b:
        ET.SubElement(test, "failure", type=failure.kind.value if failure else "failed", message=message)


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", one_line(text))
