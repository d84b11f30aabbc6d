"""A process that searches texts for patterns, and that ends itself when a search takes too long."""

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from threading import Lock

# One answer a line, written as soon as it is known, so that what was found before the time was up still counts. The timer's signal ends
# the process in the middle of a search, which Python alone could not; it does so too where the process that asked is gone.
_PROGRAM = """\
import json, re, signal, sys
for line in sys.stdin:
    pattern, texts, seconds = json.loads(line)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    search = re.compile(pattern).search
    for text in texts:
        print(int(search(text) is not None), flush=True)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("done", flush=True)
"""


class PatternWorker:
    """Asks one such process, which is started when it is first needed, again after one that ended, and once in each process of ours.

    Safe for several threads, one of which asks at a time.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def found(self, pattern: str, texts: Sequence[str], *, seconds: float) -> list[bool]:
        """Return whether the pattern, which must be one, is found in each text; as many answers as were known before the time was up."""
        request = json.dumps([pattern, list(texts), seconds]).encode("ascii") + b"\n"
        with self._lock:
            try:
                return self._answers(self._running(), request)
            except OSError:  # no process can be started here, or it was ended by others: nothing was searched
                self.close()
                return []

    def close(self) -> None:
        """End the process; the next question starts another. Calling it twice is fine."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.communicate()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._owner == os.getpid() and self._process.poll() is not None:
            self.close()  # somebody else ended it
        if self._process is None or self._owner != os.getpid():
            self._owner = os.getpid()
            # A session of its own: Ctrl-C is for the process that asks, and its end closes this one's input.
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        return self._process

    def _answers(self, process: subprocess.Popen[bytes], request: bytes) -> list[bool]:
        assert process.stdin is not None  # both are pipes
        assert process.stdout is not None
        process.stdin.write(request)
        process.stdin.flush()
        answers: list[bool] = []
        while (line := process.stdout.readline().strip()) != b"done":
            if not line:  # it ended: the time was up
                self.close()
                return answers
            answers.append(line == b"1")
        return answers


WORKER = PatternWorker()
atexit.register(WORKER.close)
