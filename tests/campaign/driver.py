"""Process that runs the real program and paints in it until it is killed.

``python -m tests.campaign.driver`` loads the libraries once; for each line that it reads, the
name of a life's JSON file, it forks a program and writes the process's number. Each change of a
picture's strokes is noted in a log, on disk before the next action, so that the parent, which
kills the process, can compare.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from segapp.model.document import Document
from segapp.qt.dialogs.export_dialog import ExportDialog
from segapp.qt.files import file_dialogs
from segapp.qt.files.file_dialogs import RestoreDialog
from segapp.qt.files.preferences import Preferences
from segapp.qt.session.session import Session
from segapp.qt.window.startup import build_window, open_initial
from tests.segapp.qt.conftest import QuickSegmenter

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton
# Milliseconds between two actions, and how often each kind of life does what besides painting.
PAUSES = {"steady": (150, 400), "hasty": (0, 25), "paused": (1200, 3200), "mixed": (30, 500)}
OTHERS = {
    "steady": ("undo",),
    "hasty": (),
    "paused": ("undo", "save"),
    "mixed": ("undo", "redo", "save", "switch", "export", "switch", "rename"),
}


def digest_of(document):
    """Tell documents apart."""
    return hashlib.sha256(repr(document).encode()).hexdigest()[:16]


class Log:
    """Lines that are on disk when the next thing happens."""

    def __init__(self, path):
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, what, **values):
        line = json.dumps({"what": what, "time": time.time(), **values}) + "\n"
        os.write(self._handle, line.encode())
        os.fsync(self._handle)

    def document(self, what, path, document):
        values = {"n": len(document.strokes), "digest": digest_of(document)}
        self.note(what, image=str(path), **values)


class Heartbeat(QTimer):
    """Measures the longest time in which the window's thread answered nothing.

    Time in which it only waited for a processor that others had does not count, as Linux tells
    it for each thread.
    """

    def __init__(self, parent):
        super().__init__(parent)
        self.longest, self._last = 0.0, self._now()
        self.timeout.connect(self._beat)
        self.start(10)

    @staticmethod
    def _now():
        place = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        waited = int(place.read_text().split()[1]) / 1e9 if place.exists() else 0.0
        return time.monotonic() - waited

    def _beat(self):
        now = self._now()
        self.longest, self._last = max(self.longest, now - self._last), now


class Hand:
    """Paints, saves, exports and changes pictures by events, as a user does."""

    def __init__(self, window, log, life):
        self._window, self._log, self._life = window, log, life
        self.n_actions = 0
        self._rng = random.Random(life["seed"])

    def work(self):
        """Act until the process is killed."""
        kind = self._life["kind"]
        while True:
            others = OTHERS[kind]
            act = self._rng.choice(others) if others and self._rng.random() < 0.3 else "stroke"
            getattr(self, act)()
            QTest.qWait(self._rng.randint(*PAUSES[kind]))

    def _note(self, what="document"):
        state = self._window.session.state
        if state is not None:
            self._log.document(what, state.path, state.document)

    def stroke(self):
        canvas = self._window.canvas
        width, height = canvas.width(), canvas.height()
        button = self._rng.choice((LEFT, RIGHT))
        x, y = self._rng.randint(width // 3, width * 2 // 3), self._rng.randint(60, height - 60)
        QTest.mousePress(canvas, button, pos=QPoint(x, y))
        for _ in range(self._rng.randint(1, 6)):
            x, y = x + self._rng.randint(-15, 15), y + self._rng.randint(-15, 15)
            QTest.mouseMove(canvas, QPoint(x, y))
        QTest.mouseRelease(canvas, button, pos=QPoint(x, y))
        self._note()

    def undo(self):
        state = self._window.session.state
        self._log.document("document", state.path, state.history.undo().present.document)
        self._window.commands["undo"].trigger()
        self._note()

    def redo(self):
        state = self._window.session.state
        self._log.document("document", state.path, state.history.redo().present.document)
        self._window.commands["redo"].trigger()
        self._note()

    def rename(self):
        session = self._window.session
        name = f"class {self._rng.randint(0, 99)}"
        info = session.document.classes[0]
        changed = session.document.with_class_changed(0, type(info)(name, info.colour))
        self._log.document("document", session.state.path, changed)
        session.edit("renaming", changed)

    def save(self):
        self._window.commands["save"].trigger()
        self._log.note("saved", image=str(self._window.session.state.path))

    def switch(self):
        self._window.files.open(Path(self._rng.choice(self._life["images"])))

    def annotate(self):
        """Paint both classes on each image of one's own, and flag it, to the next undone."""
        window, left = self._window, [Path(path) for path in self._life["own"]]
        window.files.open(left[0])
        for path in left:
            _until(lambda p=path: window.session.state.path == p and not window.files.is_reading)
            for _ in range(2):
                self.stroke()
            window.commands["done"].trigger()
            self.n_actions += 3
            if path != left[-1]:
                window.commands["next_undone"].trigger()
            QTest.qWait(self._rng.randint(0, 60))

    def share(self):
        """Act at random on a folder; paint and flag the images of one's own alone."""
        window, own = self._window, {Path(path) for path in self._life["own"]}
        window.files.open(min(own))
        _until(lambda: window.session.state.path in own and not window.files.is_reading)
        for _ in range(self._life["count"]):
            self.n_actions += 1
            ours = window.session.state.path in own and not window.files.is_reading
            acts = ("stroke", "stroke", "stroke", "undo", "done", "save") if ours else ()
            act = self._rng.choice((*acts, "next", "previous", "next_undone"))
            if act == "stroke":
                self.stroke()
            elif act in ("next", "previous", "next_undone") and self._rng.random() < 0.3:
                window.files.open(self._rng.choice(sorted(own)))
            else:
                window.commands[act].trigger()
            QTest.qWait(self._rng.choice((0, 0, 0, 5, 30)))

    def end(self, heart):
        """Close the window as a user does, and note what the folder must hold now."""
        window, own = self._window, [Path(path) for path in self._life["own"]]
        _until(lambda: not window.files.is_reading)
        QTest.qWait(1500)
        kept, workspace = {}, window.files.workspace
        for path in own:
            state = window.session.state_of(path)
            document = Document() if state is None else state.document
            kept[str(path)] = {
                "n": len(document.strokes),
                "digest": digest_of(document),
                "done": workspace.status(path).value == "done",
            }
        window.close()
        _until(lambda: not window.isVisible())
        self._log.note("closed", kept=kept, actions=self.n_actions, hang=heart.longest)

    def export(self):
        self._window.commands["export"].trigger()
        dialog = self._window.findChild(ExportDialog)
        if dialog is None:
            return
        until = time.monotonic() + 2
        while not dialog._export.isEnabled() and time.monotonic() < until:
            QTest.qWait(20)
        QTest.mouseClick(dialog._export, LEFT)
        QTest.qWait(self._rng.randint(0, 300))
        for left in self._window.findChildren(ExportDialog):
            if left.isVisible():
                left.reject()


def _until(is_so, seconds=60.0):
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError("the window did not get that far")
        QTest.qWait(5)


def _answer_dialogs(window, log):
    """Press Restore when it is offered; everything else is told to the log."""

    def look():
        shown = QApplication.activeModalWidget()
        if isinstance(shown, RestoreDialog):
            rows = [shown.describe(left) for left in shown._offered]
            log.note("offered", rows=rows)
            QTest.mouseClick(shown.restore if shown.restore.isEnabled() else shown.later, LEFT)
        elif shown is not None and not isinstance(shown, ExportDialog):
            text = shown.text() if hasattr(shown, "text") else type(shown).__name__
            log.note("box", text=text)
            shown.close()

    timer = QTimer(window)
    timer.timeout.connect(look)
    timer.start(20)


def live(life):
    """Open the window as the program does, note what came back, and paint."""
    application = QApplication([])
    application.setStyle("Fusion")
    log = Log(life["log"])
    log.note("born", pid=os.getpid())
    file_dialogs.ask_project = lambda _, proposed: proposed
    together = life["kind"] in ("annotator", "shared")
    session = Session(QuickSegmenter) if together else Session()
    window = build_window(session, Preferences())

    def report(kind, error, trace):
        window.report(kind, error, trace)
        log.note("error", text=f"{kind.__name__}: {error}")

    sys.excepthook = report
    window.resize(900, 640)
    window.show()
    _answer_dialogs(window, log)
    opened = []
    window.files.opened.connect(opened.append)
    open_initial(window, Path(life["images"][0]))
    for state in session._states.values():
        log.document("restored", state.path, state.document)
    while not opened:
        QTest.qWait(5)
    log.document("opened", session.state.path, session.document)
    log.note("ready")
    if together:
        heart, hand = Heartbeat(window), Hand(window, log, life)
        (hand.annotate if life["kind"] == "annotator" else hand.share)()
        hand.end(heart)
        return
    if life["kind"] == "idle":
        QTest.qWait(1500)
        log.note("quiet", copies=len(session.unsaved_states()))
        return
    Hand(window, log, life).work()


def _begin(life):
    """Run one life in the forked process, which never returns to the parent's code."""
    code = 1
    try:
        os.environ.update(life["environment"])
        errors = os.open(life["stderr"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(errors, 2)
        live(life)
        code = 0
    except BaseException:  # noqa: BLE001 - the process's edge
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def serve():
    """Fork a program for each line."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who is killed is gone, and no zombie
    for line in sys.stdin:
        life = json.loads(Path(line.strip()).read_text())
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _begin(life)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
