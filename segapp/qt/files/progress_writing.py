"""Flags of a folder's pictures on their way to the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from segapp.files.folder_progress import PROGRESS_NAME, write_progress
from segapp.qt.session.jobs import Jobs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segapp.files.folder_progress import Status

_DELAY = 400  # milliseconds: flags in quick succession are one write
_MOMENT = 0.5  # seconds that closing waits for a write that is under way


class ProgressWriting(QObject):
    """Writes what has changed, soon and in a thread; what cannot be written stays to be written.

    ``place`` is the folder of the file, ``None`` until somebody has said where; changes wait.
    """

    failed = Signal(str)  # a sentence, once until writing works again

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.place: Path | None = None
        self.changes: dict[str, Status | None] = {}
        self._last: str | None = None
        self._under_way: dict[str, Status | None] = {}
        self._hindered = False
        self._jobs = Jobs("progress", self)
        self._jobs.arrived.connect(self._note)
        self._jobs.failed.connect(self._fail)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_DELAY)
        self._timer.timeout.connect(self._write)

    def begin(self, place: Path | None) -> None:
        """Write what is left of another folder, and go on with this one."""
        self._flush()
        self.place = place

    def note(self, name: str, status: Status | None) -> None:
        """Keep what has become of a picture; ``None`` forgets it."""
        self.changes[name] = status
        self._timer.start()

    def note_open(self, name: str) -> None:
        """Keep where the work is."""
        self._last = name
        self._timer.start()

    def use(self, place: Path) -> None:
        """Write to a place that somebody has chosen, what has waited for it first."""
        self.place = place
        self._timer.start()

    def _write(self) -> None:
        if self.place is None or not (self.changes or self._last):
            return
        if self._jobs.busy:  # the next write brings these changes as well
            self._timer.start()
            return
        file, last, changes = self.place / PROGRESS_NAME, self._last, self.changes
        self._under_way, self.changes = changes, {}

        def work() -> Iterator[object]:
            write_progress(file, changes, last)
            yield None

        self._jobs.start(work)

    def _note(self) -> None:
        self._under_way, self._hindered = {}, False

    def _fail(self, ticket: int, error: Exception) -> None:
        """Say that flags are not on disk; they go there with the next one, or at the end."""
        del ticket
        self.changes = self._under_way | self.changes
        self._under_way = {}
        if not self._hindered:
            self._hindered = True
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        reason = getattr(error, "strerror", None) or str(error)
        self.failed.emit(self.tr("{} cannot be written: {}.").format(PROGRESS_NAME, reason))

    def _flush(self) -> None:
        self._timer.stop()
        if self.place is not None and self._jobs.close(_MOMENT):
            changes = self._under_way | self.changes  # the first were perhaps not written
            try:
                if changes or self._last:
                    write_progress(self.place / PROGRESS_NAME, changes, self._last)
            except OSError as error:
                if not self._hindered:
                    self._tell(error)
        self.changes, self._under_way, self._last, self._hindered = {}, {}, None, False

    def close(self, timeout: float | None = None) -> bool:
        """Write what is left, and wait for the thread; say whether it has ended."""
        self._flush()
        return self._jobs.close(timeout)
