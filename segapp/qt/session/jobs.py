"""Generators in one background thread, told apart by tickets."""

from __future__ import annotations

import threading
import traceback
from queue import SimpleQueue
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


if TYPE_CHECKING:
    Work = Callable[[], Iterator[object]]


class _Job:
    def __init__(self, ticket: int, work: Work) -> None:
        self.ticket = ticket
        self.work = work
        self.cancelled = threading.Event()


def details_of(error: BaseException) -> str:
    """Return what a developer wants to know about an error, to be copied by the user."""
    return "".join(traceback.format_exception(error))


class Jobs(QObject):
    """Runs one generator at a time; starting another one makes the older one stale.

    ``arrived(ticket, item)``, ``failed(ticket, error)`` and ``ended(ticket)`` are emitted in
    the thread of this object, and only for the newest ticket: what belongs to an older one
    is dropped here, so a late result can never be shown. A generator is stopped by not being
    asked for its next item, so the time between two items is the time that stopping takes.
    """

    arrived = Signal(int, object)
    failed = Signal(int, object)
    ended = Signal(int)
    _reported = Signal(int, str, object)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._current: _Job | None = None
        self._ticket = 0
        self._closing = False
        self._reported.connect(self._receive, Qt.ConnectionType.QueuedConnection)

    @property
    def busy(self) -> bool:
        """Whether the newest job has neither ended nor been cancelled."""
        return self._current is not None

    def start(self, work: Work) -> int:
        """Run the generator that ``work`` makes, instead of whatever runs now."""
        self.cancel()
        self._ticket += 1
        self._current = _Job(self._ticket, work)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._queue.put(self._current)
        return self._ticket

    def cancel(self) -> None:
        """Make the present job stale and end it at its next item."""
        if self._current is None:
            return
        self._current.cancelled.set()
        ticket, self._current = self._current.ticket, None
        self.ended.emit(ticket)

    def close(self, timeout: float | None = None) -> bool:
        """Cancel and wait for the thread; say whether it has ended."""
        self.cancel()
        if self._thread is None:
            return True
        if not self._closing:
            self._closing = True
            self._queue.put(None)
        self._thread.join(timeout)
        if self._thread.is_alive():
            return False
        self._thread, self._closing = None, False
        return True

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            try:
                self._consume(job)
            # The thread's edge: whatever went wrong is shown to the user by the receiver.
            except Exception as error:  # noqa: BLE001 - the thread's edge
                self._reported.emit(job.ticket, "failed", error)
            finally:
                self._reported.emit(job.ticket, "ended", None)

    def _consume(self, job: _Job) -> None:
        if job.cancelled.is_set():
            return
        for item in job.work():
            if job.cancelled.is_set():
                return
            self._reported.emit(job.ticket, "arrived", item)

    @Slot(int, str, object)
    def _receive(self, ticket: int, what: str, payload: object) -> None:
        if self._current is None or ticket != self._current.ticket:
            return
        if what == "arrived":
            self.arrived.emit(ticket, payload)
        elif what == "failed":
            self.failed.emit(ticket, payload)
        else:
            self._current = None
            self.ended.emit(ticket)
