"""Background generators whose items are handled in the window's thread."""

from __future__ import annotations

import threading
import time
import traceback
from collections import deque
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, Signal, Slot

from segapp.io.pages import ReadingStopped, stop_requested

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """The part of a job that the thread knows."""

    work: Callable[[], Iterator[Any]]
    cancelled: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True, eq=False)
class _Handlers:
    """The handlers of a job, of which the thread must never own the last reference."""

    on_item: Callable[[Any], object]
    on_error: Callable[[Exception], object]
    on_end: Callable[[], object]


def details_of(error: BaseException) -> str:
    """Return the traceback of an error, for the user to copy into a report."""
    return "".join(traceback.format_exception(error))


def unexpected(error: Exception) -> None:
    """Raise an error that is a bug, so that the window reports it like any other bug."""
    raise error


def _ignore() -> None:
    pass


class Jobs(QObject):
    """One thread with one generator at a time; a new one replaces the present one.

    Handlers are called in the thread of this object, and for the newest job only: a late item
    of an older job is dropped here and can never be shown. A generator is stopped by not being
    asked for its next item, so the time between two items is the time that stopping takes.
    """

    _reported = Signal(object, str, object)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._current: tuple[_Job, _Handlers] | None = None
        self._closing = False
        self._reported.connect(self._receive, Qt.ConnectionType.QueuedConnection)

    @property
    def busy(self) -> bool:
        """Whether the newest job has neither ended nor been cancelled."""
        return self._current is not None

    def run(
        self,
        work: Callable[[], Iterator[Item]],
        on_item: Callable[[Item], object],
        on_error: Callable[[Exception], object],
        on_end: Callable[[], object] = _ignore,
    ) -> None:
        """Run the generator that ``work`` makes, instead of the present one.

        Parameters
        ----------
        work
            Called in the thread, as are the steps of the generator that it returns.
        on_item
            Called with each item.
        on_error
            Called with the exception that ended the generator: `unexpected` where only a bug
            can raise one.
        on_end
            Called once, after the last item, the error or a cancellation.
        """
        self.cancel()
        job = _Job(work)
        self._current = job, _Handlers(on_item, on_error, on_end)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        self._queue.put(job)

    def cancel(self) -> None:
        """Drop the present job and end it at its next item."""
        if self._current is None:
            return
        (job, handlers), self._current = self._current, None
        job.cancelled.set()
        handlers.on_end()

    def wait(self, timeout: float) -> bool:
        """Wait for the present job, and for those that its handlers begin.

        Their handlers are called here. Return whether all have ended in time.
        """
        until = time.monotonic() + timeout
        while self._current is not None:
            if not self._current[0].ended.wait(max(0.0, until - time.monotonic())):
                return False
            QCoreApplication.sendPostedEvents(self, QEvent.Type.MetaCall)
        return True

    def close(self, timeout: float | None = None) -> bool:
        """Cancel and wait for the thread; return whether it has ended."""
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

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            try:
                self._consume(job)
            except ReadingStopped:
                pass  # the job was cancelled in the middle of a file
            # The thread's edge: `on_error` shows every error to the user.
            except Exception as error:  # noqa: BLE001 - the thread's edge
                self._report(job, "error", error)
            finally:
                self._report(job, "end", None)
                job.ended.set()

    def _consume(self, job: _Job) -> None:
        if job.cancelled.is_set():
            return
        stop_requested.set(job.cancelled.is_set)
        for item in job.work():
            if job.cancelled.is_set():
                return
            self._report(job, "item", item)

    def _report(self, job: _Job, kind: str, payload: object) -> None:
        if not job.cancelled.is_set():  # else the window and its signals may be gone
            self._reported.emit(job, kind, payload)

    @Slot(object, str, object)
    def _receive(self, job: _Job, kind: str, payload: Any) -> None:  # noqa: ANN401 - any item
        if self._current is None or job is not self._current[0]:
            return
        handlers = self._current[1]
        if kind == "item":
            handlers.on_item(payload)
        elif kind == "error":
            handlers.on_error(payload)
        else:
            self._current = None
            handlers.on_end()


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A call that waits for its turn, with its handlers."""

    call: Callable[[], Any]
    on_done: Callable[[Any], object]
    on_error: Callable[[Exception], object]

    def run(self) -> Iterator[Any]:
        yield self.call()


class TaskQueue(QObject):
    """One thread with calls in their order; each is made, whatever follows."""

    idle = Signal()

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = Jobs(name, self)
        self._tasks: deque[_Task] = deque()

    @property
    def busy(self) -> bool:
        """Whether calls are made, or wait."""
        return self._jobs.busy or bool(self._tasks)

    def add(
        self,
        call: Callable[[], Item],
        on_done: Callable[[Item], object],
        on_error: Callable[[Exception], object],
    ) -> None:
        """Let a call be made, after which its result or its exception is handled here."""
        self._tasks.append(_Task(call, on_done, on_error))
        if not self._jobs.busy:
            self._run_next()

    def _run_next(self) -> None:
        if self._tasks:
            task = self._tasks.popleft()
            self._jobs.run(task.run, task.on_done, task.on_error, self._run_next)
        else:
            self.idle.emit()

    def when_done(self, then: Callable[[], object]) -> None:
        """Go on when all present calls have been made."""
        self.add(lambda: None, lambda _: then(), unexpected)

    def wait(self, timeout: float) -> bool:
        """Wait for all calls, and handle their results; return whether they have ended."""
        return self._jobs.wait(timeout)

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the call under way, drop the others; return whether it has ended."""
        self._tasks.clear()
        return self._jobs.close(timeout)
