"""What has happened since the start, in lines, kept in memory for a report of a problem."""

from __future__ import annotations

import logging
from collections import deque

# Lines: hours of work, and no more than anybody reads.
_MOST = 400


class EventLog(logging.Handler):
    """Keeps the last lines that this program and its libraries log."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: deque[str] = deque(maxlen=_MOST)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line, with its traceback if there is one."""
        self._lines.append(self.format(record))

    def note(self, text: str, level: int = logging.INFO) -> None:
        """Keep a line of our own, if it says anything."""
        if text:
            self.handle(logging.LogRecord("segapp", level, "", 0, text, None, None))

    @property
    def text(self) -> str:
        """All lines that are kept."""
        return "\n".join(self._lines)
