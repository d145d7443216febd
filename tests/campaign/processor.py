"""Time in which a process ran or could have run, without that of other programs.

While other programs use the machine, no program can write within two seconds. Linux tells of
each thread how long it ran and how long it waited for its turn. An interval in which a program's
threads waited, and none of them ran, was taken by others; one in which its own threads kept each
other waiting was not.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

PAUSE = 0.05  # seconds between two looks


def ran_and_waited(pid):
    """Return the seconds that the threads of a process ran, and waited to run."""
    ran = waited = 0
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError, ValueError):  # a thread that has just ended
                numbers = (task / "schedstat").read_text().split()
                ran, waited = ran + int(numbers[0]), waited + int(numbers[1])
    return ran / 1e9, waited / 1e9


def taken(seconds, ran, waited):
    """Return how much of an interval others had, though the program wanted to run."""
    return max(0.0, min(waited, seconds - ran))


class Watch:
    """Looks at a process until it is told to end."""

    def __init__(self, pid):
        self._pid, self._ended = pid, threading.Event()
        self._intervals = []  # (begin, end, seconds that others had)
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self):
        last, known = time.time(), ran_and_waited(self._pid)
        while not self._ended.wait(PAUSE):
            now, present = time.time(), ran_and_waited(self._pid)
            spent = [max(0.0, new - old) for new, old in zip(present, known, strict=True)]
            self._intervals.append((last, now, taken(now - last, *spent)))
            last, known = now, present

    def end(self):
        """Look no more."""
        self._ended.set()
        self._thread.join()

    def own_seconds(self, begin, end):
        """Return the time between two moments without what others had of it."""
        theirs = sum(
            lost * max(0.0, min(end, last) - max(begin, first)) / max(last - first, 1e-9)
            for first, last, lost in self._intervals
        )
        return end - begin - theirs
