"""What a detector is: it says whether a text holds something of one sort."""

from collections.abc import Callable
from dataclasses import dataclass

from evalplatform.kernel.registry import Registry


@dataclass(frozen=True)
class Detector:
    """One named detector.

    Attributes:
        description: what it finds, as one sentence for people who choose it.
        found_in: whether a text holds it. Pure, and its time grows with the length of the text alone.
    """

    description: str
    found_in: Callable[[str], bool]


detectors: Registry[Detector] = Registry("detectors", noun="detector", kinds_package="evalplatform.runs.detectors.kinds")
