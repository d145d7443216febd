"""Soak test: memory and threads over thousands of strokes with live update."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from unittest import mock

import numpy as np
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication

from segapp.engine.trainer import Trainer
from segapp.model.document import Stroke
from segapp.qt.files import file_dialogs
from segapp.qt.files.file_dialogs import Unsaved
from segapp.qt.files.preferences import Preferences
from segapp.qt.session.session import Session
from segapp.qt.window.startup import build_window
from tests.campaign.folders import draw, own_folders
from tests.campaign.random_users import wait
from tests.campaign.results import Failure, Row

# Kilobytes that a stroke may cost on average in the second half: undo keeps every document,
# which is a tuple of all its strokes, and the heap has its own ups and downs.
MOST = 60.0
PAGE = 4  # kilobytes


def _memory():
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def run(seed, strokes, seconds=None):
    """Paint and wait for each answer; tell what it cost."""
    row = Row("soak", "strokes with live update")
    rng = random.Random(str(seed))
    until = time.monotonic() + seconds if seconds else None
    memory, threads, longest = [], [], 0.0
    with (
        own_folders() as folder,
        mock.patch.object(file_dialogs, "ask_unsaved", return_value=Unsaved.DISCARD),
    ):
        window = build_window(Session(Trainer), Preferences(), folder / "recovery")
        window.show()
        window.files.open(draw(folder / "picture.png", size=(48, 64)))
        wait(lambda: window.session.state is not None, "the picture")
        while row.tried < strokes and (until is None or time.monotonic() < until):
            label = row.tried % 2
            x, y = rng.uniform(1, 30) + 32 * label, rng.uniform(1, 46)
            began = time.monotonic()
            window.session.add_stroke(Stroke(((x, y), (x + 1, y + 1)), 0.8, label))
            row.tried += 1
            if row.tried > 1:
                wait(lambda: window.session.answers.is_current, "the answer")
            longest = max(longest, time.monotonic() - began)
            memory.append(_memory())
            threads.append(threading.active_count())
        window.close()
        window.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    second = memory[len(memory) // 2 :]
    slope = float(np.polyfit(range(len(second)), second, 1)[0]) if len(second) > 1 else 0.0
    row.note = (
        f"{slope:.1f} kB a stroke in the second half, {memory[-1] // 1024} MB at the end, "
        f"{max(threads)} threads, slowest answer {longest:.2f} s"
    )
    if slope > MOST and row.tried >= 200:
        row.failures.append(Failure(f"soak:{seed}:{row.tried}", row.note))
    if max(threads[len(threads) // 2 :]) > max(threads[: len(threads) // 2 + 1]):
        row.failures.append(Failure(f"soak:{seed}:{row.tried}", f"threads grow: {row.note}"))
    return [row]
