"""What may mislead about one run, whatever it is compared with."""

from typing import Literal

from evalplatform.kernel.values import Value


class RunTruncated(Value):
    """A run ended before its last question; `why` is what it says of that."""

    warning: Literal["run_truncated"] = "run_truncated"
    run: str
    why: str
