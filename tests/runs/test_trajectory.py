"""A trajectory as a value."""

import pytest
from pydantic import ValidationError

from evalplatform.runs.trajectory import FileChangeStep, MessageStep, Trajectory


def test_files_are_looked_at_once_after_the_run() -> None:
    said = MessageStep(role="assistant", text="done")
    assert Trajectory(steps=(said, FileChangeStep())).steps[-1] == FileChangeStep()
    for steps in ((FileChangeStep(), said), (FileChangeStep(), FileChangeStep())):
        with pytest.raises(ValidationError, match="a file_change step is the last one"):
            Trajectory(steps=steps)
