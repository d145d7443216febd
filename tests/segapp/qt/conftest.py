"""Windows without a screen, a learner that is quick, and a watch over what tests leave behind."""

from __future__ import annotations

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import sys
import threading
import time
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QApplication

from segapp.imaging.rasterise import rasterize
from segapp.imaging.retouch import retouch_updates
from segapp.imaging.seeds import SeedMap
from segapp.model.answer import Answer, NotEnoughStrokes, Preview, Report
from segapp.model.document import Stroke
from segapp.model.labelling import Insight, Labelling
from segapp.qt.application import SWITCH_SECONDS
from segapp.qt.files import file_dialogs
from segapp.qt.files.file_dialogs import Unsaved
from segapp.qt.files.preferences import Preferences
from segapp.qt.session.session import Session
from segapp.qt.window.startup import build_window


class QuickSegmenter:
    """Nearest mean colour: an answer in milliseconds, in two steps, with all that is shown."""

    def __init__(self, rgb, channels=None):
        self.rgb = rgb.astype(np.float32)

    def prepare(self, settings):
        """Nothing is worth preparing."""

    def updates(self, document, settings):
        painted = SeedMap.empty(self.rgb.shape[:2]).with_marks(document.retouches)
        return retouch_updates(self._class_updates(document, settings), painted)

    def _class_updates(self, document, settings):
        if document.initial is not None and not document.strokes:
            yield Answer(document.initial.labelling(len(document.classes)))
            return
        marks = rasterize(document, self.rgb.shape[:2])
        present = [index for index in range(len(document.classes)) if (marks == index).any()]
        if len(present) < 2:
            missing = [
                info.name for index, info in enumerate(document.classes) if index not in present
            ]
            raise NotEnoughStrokes(f"Paint {' and '.join(missing)} as well.")
        yield Report("looking", 0.25)
        yield Report("halfway", 0.5, Preview(self._labelling(document, marks, present[:1])))
        answer = self._labelling(document, marks, present)
        yield Answer(answer, self._insight(document, settings))

    def propose_object(self, x, y, settings, size):
        """No object is seen."""

    def live_preview(self, document, settings):
        marks = rasterize(document, self.rgb.shape[:2])
        present = [index for index in range(len(document.classes)) if (marks == index).any()]
        if len(present) < 2:
            raise NotEnoughStrokes("Paint something else as well.")
        yield Report("looking", 0.5)
        yield Report("looking", 1.0, Preview(self._labelling(document, marks, present)))

    def _labelling(self, document, marks, present):
        distances = np.full((len(document.classes), *marks.shape), 1e6, dtype=np.float32)
        for index in present:
            mean = self.rgb[marks == index].mean(axis=0)
            distances[index] = ((self.rgb - mean) ** 2).sum(axis=2)
        labels = distances.argmin(axis=0).astype(np.uint8)
        labels[marks >= 0] = marks[marks >= 0]
        ordered = np.sort(distances, axis=0)
        margin = np.sqrt(ordered[1]) - np.sqrt(ordered[0])
        margin[marks >= 0] = margin.max()
        return Labelling(labels, margin, labels.astype(np.uint32) * 5, len(document.classes), 5)

    @staticmethod
    def _insight(document, settings):
        n_classes = len(document.classes)
        return Insight(
            kernels=("colour, sigma 0.5", "position, sigma 1"),
            kernel_weights=np.array([[0.75, 0.25], [0.5, 0.5], [1.0, 0.0]]),
            codewords=np.ones((n_classes, 1, 3), np.int8) * [[[1]], [[-1]]][:1],
            objective=(9.0, 4.0, 1.0),
            seconds={"kernels": 0.1, "bits": 0.3},
        )


class GatedSegmenter(QuickSegmenter):
    """Waits before every step until the test lets it go on."""

    gate: ClassVar[threading.Semaphore]
    asked: ClassVar[list]

    def updates(self, document, settings):
        type(self).asked.append(document)
        yield from self._one_by_one(super().updates(document, settings))

    def live_preview(self, document, settings):
        type(self).asked.append(document)
        yield from self._one_by_one(super().live_preview(document, settings))

    def _one_by_one(self, updates):
        for update in updates:
            while not type(self).gate.acquire(timeout=0.01):
                yield Report("waiting", 0.1)
            yield update


@pytest.fixture
def gated():
    """Return a learner class whose steps a test releases one by one."""

    class Gated(GatedSegmenter):
        gate = threading.Semaphore(0)
        asked: ClassVar = []

    return Gated


@pytest.fixture
def quick_segmenter():
    return QuickSegmenter


@pytest.fixture
def picture_file(tmp_path):
    """Save a picture whose left half is red and whose right half is blue."""

    def save(name="picture.png", size=(60, 80)):
        height, width = size
        rgb = np.zeros((height, width, 3), np.uint8)
        rgb[:, : width // 2] = (200, 40, 40)
        rgb[:, width // 2 :] = (40, 40, 200)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rgb).save(path)
        return path

    return save


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """Keep settings and recovery files of tests away from the user's."""
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    QSettings.setPath(
        QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(tmp_path / "config")
    )


@pytest.fixture
def documents(tmp_path, monkeypatch):
    """Return the documents folder of a user whose home is empty besides."""
    folder = tmp_path / "Documents"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder


@pytest.fixture(autouse=True)
def nothing_left(qapp):
    """Fail a test that leaves a thread, a running timer or a window behind."""
    before = set(threading.enumerate())
    yield
    for widget in QApplication.topLevelWidgets():
        if widget.parent() is None and widget.isVisible():
            widget.close()
    QApplication.sendPostedEvents()
    deadline = time.monotonic() + 2
    while (left := set(threading.enumerate()) - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left, f"threads left running: {left}"
    timers = [
        timer
        for widget in QApplication.topLevelWidgets()
        for timer in widget.findChildren(QTimer)
        if timer.isActive()
    ]
    assert not timers, f"timers left running: {timers}"


@pytest.fixture
def make_window(qtbot, tmp_path, monkeypatch):
    """Open windows on pictures; unsaved strokes are discarded at the end."""
    windows = []
    answers = {"unsaved": Unsaved.DISCARD}
    monkeypatch.setattr(file_dialogs, "ask_unsaved", lambda *_: answers["unsaved"])

    def make(path=None, make_trainer=QuickSegmenter, size=(1000, 700)):
        window = build_window(Session(make_trainer), Preferences(), tmp_path / "recovery")
        windows.append(window)
        qtbot.addWidget(window)
        if size is not None:
            window.resize(*size)
        window.show()
        qtbot.waitExposed(window)
        if path is not None:
            with qtbot.waitSignal(window.files.opened):
                window.files.open(path)
        return window

    yield make
    answers["unsaved"] = Unsaved.DISCARD
    monkeypatch.setattr(file_dialogs, "ask_unsaved", lambda *_: Unsaved.DISCARD)
    for window in windows:
        window.close()


@pytest.fixture
def turns_as_in_the_program():
    """Let threads take turns as often as the program does."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture
def heartbeat(qtbot, turns_as_in_the_program):
    """Measure how long the window's thread is away, from the first beat to the test's end.

    A gap counts as long as this process's own threads were running in it: while other programs
    have the machine no window can answer, but whenever we run, ours must have its turn.
    """
    heart = QTimer()
    heart.setInterval(5)

    def measure(begin):
        gaps, last = [], [(time.monotonic(), time.process_time())]

        def beat():
            now = (time.monotonic(), time.process_time())
            gaps.append(min(now[0] - last[0][0], now[1] - last[0][1]))
            last[0] = now

        heart.timeout.connect(beat)
        heart.start()
        begin()
        return gaps

    yield measure
    heart.stop()


def press_save(window):
    """Choose the command that saves, and wait for the writing."""
    window.commands["save"].trigger()
    assert window.autosave.wait(20)


def save_now(window, path=None):
    """Save the open picture's strokes, to a file or its project; return whether it was done."""
    state = window.session.state
    path = path or window.store.proposed(state).path
    window.file_commands.save_to(path, state)
    assert window.autosave.wait(20)
    state = window.session.state
    return not state.unsaved and state.location.path == path


def stroke(label, *points, radius=4.0):
    return Stroke(tuple(points), radius, label)


@pytest.fixture
def two_strokes():
    """One stroke on each half of the picture."""
    return stroke(0, (10.0, 30.0), (20.0, 40.0)), stroke(1, (60.0, 30.0), (70.0, 40.0))


@pytest.fixture
def answered(qtbot, two_strokes):
    """Add the two strokes to a window and wait for the answer."""

    def wait(window):
        for each in two_strokes:
            window.session.add_stroke(each)
        qtbot.waitUntil(lambda: window.session.answers.is_current)
        return window

    return wait
