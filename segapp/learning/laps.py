"""A stop-watch for the steps of an update."""

from __future__ import annotations

import time


class Laps:
    """Notes how long each named step took; a step begins where the last one ended.

    A step that comes again adds to what it took before.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._clock = time.perf_counter()

    def end(self, name: str) -> None:
        """Note that a step has ended."""
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._clock
        self._clock = now
