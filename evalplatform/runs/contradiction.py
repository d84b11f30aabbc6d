"""Whether a recorded run fits the trajectory beside it: a bundle is a file, and files are edited."""

from evalplatform.kernel.text import plural
from evalplatform.runs.records import Run
from evalplatform.runs.trajectory import Trajectory, trajectory_digest


def contradiction(run: Run, trajectory: Trajectory | None) -> str | None:
    """Return what a run says of its trajectory that is not so, as a sentence; None where it fits."""
    if trajectory is None and run.trajectory_digest is not None:
        return "names a trajectory that the line does not hold."
    digest = None if trajectory is None else trajectory_digest(trajectory)
    if run.trajectory_digest != digest:
        return f"names the trajectory {run.trajectory_digest}, and the one beside it is {digest}."
    tools, steps = ((), 0) if trajectory is None else (trajectory.tools, len(trajectory.steps))
    if run.step_count != steps:
        return f"says {plural(run.step_count, 'step')}, and its trajectory has {steps:,}."
    if run.tools != tools:
        return "names other tools than its trajectory calls."
    beyond = next((found for found in run.violations or () if found.step > steps), None)
    return None if beyond is None else f"has a violation at step {beyond.step}, and its trajectory ends at step {steps}."
