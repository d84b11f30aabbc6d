"""What a model call is for. It stands apart from the ledger, since `--help` needs it and nothing else of that."""

from typing import Literal

Purpose = Literal["answer", "judge", "probe"]
