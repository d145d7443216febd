"""The window in a process of its own: how long a brush move, a pause and the start take.

    python tests/benchmarks/speed_window.py brush 12 [--moves 200]
    python tests/benchmarks/speed_window.py pauses 12 [--strokes 4]
    python tests/benchmarks/speed_window.py start

Prints JSON. `speed.py` runs these for each size.
"""

import argparse
import functools
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def send(canvas, kind, at):
    from PySide6.QtCore import QEvent, Qt
    from PySide6.QtGui import QMouseEvent
    from PySide6.QtWidgets import QApplication

    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    button = none if kind == QEvent.Type.MouseMove else left
    held = none if kind == QEvent.Type.MouseButtonRelease else left
    event = QMouseEvent(
        kind, at, canvas.mapToGlobal(at), button, held, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(canvas, event)


def brush(megapixels, moves):
    """Draw a long wavy stroke over an answer; time each move until its pixels are painted."""
    from PySide6.QtCore import QEvent, QPointF
    from PySide6.QtWidgets import QApplication
    from speed_pictures import picture, truth

    from segapp.qt.canvas.brush import Brush
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.canvas.layers import Layer, opaque
    from segapp.qt.canvas.painting import Sheet
    from segapp.values.document import Document

    application = QApplication([])
    rgb, inside = picture(megapixels), truth(megapixels)
    size = inside.shape
    canvas = Canvas()
    canvas.resize(1400, 900)
    canvas.set_picture(Layer.painted(size, lambda box: opaque(rgb[box])))
    tint = np.array([[0, 0, 0, 0], [230, 159, 0, 255]], np.uint8)
    canvas.set_labelling(Sheet(Layer.painted(size, lambda box: tint[inside[box].astype(int)])))
    canvas.set_document(Document())
    canvas.set_brush(Brush(radius=50.0))
    canvas.show()
    application.processEvents()
    found = {}
    for name, scale, step in (
        ("fit, slow", None, 8.0),
        ("fit, fast", None, 60.0),
        ("1:1, slow", 1.0, 8.0),
        ("1:1, fast", 1.0, 60.0),
        ("4:1, slow", 4.0, 8.0),
    ):
        canvas.viewport.fit()
        if scale is not None:
            canvas.viewport.zoom(scale / canvas.viewport.view.scale)
        application.processEvents()
        middle = QPointF(canvas.width() / 2, canvas.height() / 2)
        send(canvas, QEvent.Type.MouseButtonPress, middle)
        application.processEvents()
        times = []
        for index in range(moves):
            angle = index * step / 200
            at = QPointF(
                canvas.width() * (0.5 + 0.4 * np.sin(angle)),
                canvas.height() * (0.5 + 0.4 * np.sin(1.7 * angle)),
            )
            start = time.process_time()
            send(canvas, QEvent.Type.MouseMove, at)
            application.processEvents()
            times.append(1000 * (time.process_time() - start))
        send(canvas, QEvent.Type.MouseButtonRelease, middle)
        found[name] = float(np.percentile(times, 95))
        canvas.set_document(Document())
    return {"p95_milliseconds": found}


def pauses(megapixels, strokes):
    """Return the longest time between two beats of the window's clock while it learns.

    By the clock, and in seconds of CPU of all threads, which no other program makes longer: a
    pause on a quiet machine is at most that long, as what holds the interpreter is at work.
    "ready" is what opening a picture costs: libraries load, and the picture is prepared.
    """
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication
    from speed_pictures import documents, picture

    from segapp.qt.app import SWITCH_SECONDS
    from segapp.qt.canvas.layers import Layer, opaque
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.picture_state import PictureState
    from segapp.qt.session.session import Session
    from segapp.qt.window.build import build_window
    from segapp.values.picture import Picture
    from shlcore.threads import limited_threads

    sys.setswitchinterval(SWITCH_SECONDS)
    application = QApplication([])
    with tempfile.TemporaryDirectory() as folder, limited_threads(1):
        session = Session()
        window = build_window(session, Preferences(), Path(folder))
        window.resize(1400, 900)
        window.show()
        rgb = picture(megapixels)
        for _ in range(20):  # a picture is opened in a window that stands there
            application.processEvents()
            time.sleep(0.005)
        shown = Picture(rgb, None, Path(folder) / "picture.png", "0", "")
        layer = Layer.painted(shown.size, lambda box: opaque(rgb[box]))
        session.open(shown, layer, PictureState(shown.path, "0"))
        beats = []
        clock = QTimer(interval=1)
        clock.timeout.connect(lambda: beats.append((time.perf_counter(), time.process_time())))
        longest, of_cpu, waited = {}, {}, {}

        def watch(place, is_done):
            beats.clear()
            clock.start()
            start = time.perf_counter()
            while not is_done():
                application.processEvents()
                time.sleep(0.0005)
                if time.perf_counter() - start > 300:
                    raise TimeoutError("the window does not come to an end")
            clock.stop()
            for found, gaps in zip((longest, of_cpu), np.diff(beats, axis=0).T, strict=True):
                found.setdefault(place, []).append(1000 * float(max(gaps, default=0.0)))
            waited.setdefault(place, []).append(time.perf_counter() - start)

        watch("ready", lambda: not session.answers._jobs.busy)
        for place, document in documents(megapixels, later=strokes):
            for stroke in document.strokes[len(session.document.strokes) :]:
                QTimer.singleShot(0, functools.partial(session.add_stroke, stroke))
            count = len(document.strokes)
            watch(
                place,
                lambda count=count: (
                    len(session.document.strokes) == count
                    and session.answers.is_current
                    and not window.labelling_view.busy
                ),
            )
        session.answers.close(60)
        window.labelling_view.close(60)
    return {
        "longest_milliseconds": longest,
        "cpu_milliseconds": of_cpu,
        "seconds_to_answer": waited,
    }


def start():
    """Return seconds of CPU until a window stands there, can be used and nothing is due."""
    from segapp.qt.display import what_is_missing
    from segapp.staying import loaded_to_stay

    what_is_missing()
    with loaded_to_stay(), tempfile.TemporaryDirectory() as folder:
        from PySide6.QtWidgets import QApplication

        from segapp.qt.files.preferences import Preferences
        from segapp.qt.session.session import Session
        from segapp.qt.window.build import build_window

        application = QApplication([])
        window = build_window(Session(), Preferences(), Path(folder))
        window.show()
        application.processEvents()
        seconds = time.process_time()
        names = ("sklearn", "skimage", "scipy.ndimage", "scipy.sparse", "matplotlib")
        heavy = [name for name in names if name in sys.modules]
    return {"seconds": seconds, "heavy_modules": heavy}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("brush", "pauses", "start"))
    parser.add_argument("megapixels", type=float, nargs="?", default=0.2)
    parser.add_argument("--moves", type=int, default=200)
    parser.add_argument("--strokes", type=int, default=4)
    options = parser.parse_args()
    work = {
        "brush": lambda: brush(options.megapixels, options.moves),
        "pauses": lambda: pauses(options.megapixels, options.strokes),
        "start": start,
    }
    print(json.dumps(work[options.what]()))
    sys.stdout.flush()
    os._exit(0)  # the window's threads need no farewell


if __name__ == "__main__":
    main()
