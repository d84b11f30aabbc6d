"""The tool that arms.v1 comes from, in an environment of its own: nothing of it is imported here, files are all that passes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.requirements import need

PACKAGE = "dokimi"
VERSION = "0.1.0"


def reference_python() -> Path:
    """Return the interpreter of the tool's environment, made on first use, or skip where no package index gives it."""
    python = installed_reference()
    need(python is not None, f"package {PACKAGE} {VERSION} from a package index")
    assert python is not None
    return python


def installed_reference() -> Path | None:
    """Return the interpreter of the tool's environment, made on first use; None where no package index gives it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evalplatform-tests"
    folder = cache / f"{PACKAGE}-{VERSION}-py{sys.version_info.major}.{sys.version_info.minor}"
    python, finished = folder / "bin" / "python", folder / "finished"
    if not (finished.exists() and python.exists()):
        if not _install(folder, python):
            return None
        finished.touch()
    return python


def run_reference(*arguments: str, environment: dict[str, str] | None = None, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the tool's command line; its exit code and output are the caller's to judge."""
    return subprocess.run(
        [reference_python(), "-m", PACKAGE, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": "", "LITELLM_LOCAL_MODEL_COST_MAP": "True", **(environment or {})},
        timeout=240,
        check=False,
    )


def _install(folder: Path, python: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    commands = ([sys.executable, "-m", "venv", str(folder)], [str(python), "-m", "pip", "install", "--quiet", f"{PACKAGE}=={VERSION}"])
    return all(subprocess.run(command, capture_output=True, check=False).returncode == 0 for command in commands)
