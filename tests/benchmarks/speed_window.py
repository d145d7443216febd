"""Latency of brush moves, pauses and start of the window, in its own process.

    python tests/benchmarks/speed_window.py brush 12 [--moves 200]
    python tests/benchmarks/speed_window.py pauses 12 [--strokes 8] [--sample astronaut]
    python tests/benchmarks/speed_window.py start

Prints JSON. `speed.py` runs these for each size.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def send(canvas, kind, at, button="LeftButton"):
    from PySide6.QtCore import QEvent, Qt
    from PySide6.QtGui import QMouseEvent
    from PySide6.QtWidgets import QApplication

    pressed, none = Qt.MouseButton[button], Qt.MouseButton.NoButton
    changed = none if kind == QEvent.Type.MouseMove else pressed
    held = none if kind == QEvent.Type.MouseButtonRelease else pressed
    event = QMouseEvent(
        kind, at, canvas.mapToGlobal(at), changed, held, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(canvas, event)


def keep_preferences_in(folder):
    """Measure the window as it is at first, whatever this user has chosen in theirs."""
    from PySide6.QtCore import QSettings

    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, folder)


def stolen():
    """Return the milliseconds so far that other virtual machines took from the cores.

    Linux counts them, in steps of 10 ms, and as the program's own CPU time as well. Elsewhere
    nothing is known of it.
    """
    try:
        told = Path("/proc/stat").read_text().splitlines()[0].split()
    except OSError:
        return 0.0
    return 1000 * int(told[8]) / os.sysconf("SC_CLK_TCK")


def brush(megapixels, moves):
    """Draw a long wavy stroke over an answer; time each move until it is painted."""
    from PySide6.QtCore import QEvent, QPointF
    from PySide6.QtWidgets import QApplication
    from speed_pictures import picture, truth

    from segapp.model.document import Document
    from segapp.qt.canvas.brush import Brush
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.canvas.layers import Layer, ZeroCopyImage
    from segapp.qt.canvas.painting import LabelOverlay

    application = QApplication([])
    rgb, inside = picture(megapixels), truth(megapixels)
    canvas = Canvas()
    canvas.resize(1400, 900)
    canvas.set_picture(Layer.over(ZeroCopyImage.of_picture(rgb)))
    tint = np.array([[0, 0, 0, 0], [230, 159, 0, 255]], np.uint8)
    labels = inside.astype(np.uint8)
    answer = ZeroCopyImage.of_labels(labels, tint, lambda box: tint[labels[box]])
    canvas.set_overlay(LabelOverlay(Layer.over(answer)))
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


MOVES = 24  # of the mouse in a stroke
BETWEEN = 0.012  # seconds, as a mouse has it
LATE = 20  # milliseconds until what was stolen is counted


class Watch:
    """Notes the times between two beats of the window's clock, by what was going on."""

    def __init__(self, application):
        from PySide6.QtCore import QTimer

        self._application = application
        self._beats = []
        self._clock = QTimer(interval=1)
        self._clock.timeout.connect(self._beat)
        self.longest, self.stolen, self.undisturbed, self.waited = {}, {}, {}, {}

    def _beat(self):
        self._beats.append((1000 * time.perf_counter(), stolen()))

    def turn(self, is_done):
        start = time.perf_counter()
        while not is_done():
            self._application.processEvents()
            time.sleep(0.0005)
            if time.perf_counter() - start > 300:
                raise TimeoutError("the window does not come to an end")

    def while_(self, place, work):
        self._beats.clear()
        self._clock.start()
        start = time.perf_counter()
        work()
        self._clock.stop()
        times, counted = np.array(self._beats).T
        gaps = np.diff(times)
        later = np.searchsorted(times, times[1:] + LATE).clip(max=len(times) - 1)
        taken = counted[later] - counted[:-1]
        worst = gaps.argmax()
        self.longest.setdefault(place, []).append(float(gaps[worst]))
        self.stolen.setdefault(place, []).append(float(taken[worst]))
        self.undisturbed.setdefault(place, []).append(float(gaps[taken == 0].max(initial=0.0)))
        self.waited.setdefault(place, []).append(time.perf_counter() - start)


def pauses(megapixels, strokes, sample):
    """Return the longest pauses of the event loop while strokes are painted.

    The mouse draws, the answer follows it, and strokes are saved to a project as they come. Of
    each longest pause is told how much of all cores was stolen meanwhile, and which was the
    longest in which nothing was. "ready" is what opening a picture costs: libraries load, and
    the picture is prepared.
    """
    from PySide6.QtCore import QEvent, QPointF
    from PySide6.QtWidgets import QApplication
    from speed_pictures import RADIUS, documents, picture

    from segapp.app.project_store import SaveLocation
    from segapp.app.state import PictureState
    from segapp.model.picture import Picture
    from segapp.qt.application import SWITCH_SECONDS
    from segapp.qt.canvas.brush import BrushUnit
    from segapp.qt.canvas.layers import Layer, ZeroCopyImage
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session
    from segapp.qt.window.startup import build_window
    from shlcore.parallel import limit_threads

    sys.setswitchinterval(SWITCH_SECONDS)
    application = QApplication([])
    with tempfile.TemporaryDirectory() as folder, limit_threads(1):
        keep_preferences_in(folder)
        session = Session()
        window = build_window(session, Preferences(), Path(folder) / "recovery")
        window.store.policy.choose(SaveLocation.FOLDER, Path(folder))
        window.resize(1400, 900)
        window.show()
        rgb = picture(megapixels, sample)
        for _ in range(20):  # a picture is opened in a window that stands there
            application.processEvents()
            time.sleep(0.005)
        shown = Picture(rgb, None, Path(folder) / "picture.png", "0", "")
        layer = Layer.over(ZeroCopyImage.of_picture(rgb))
        session.open(shown, layer, PictureState(shown.path, "0"))
        window.brush.set_unit(BrushUnit.PICTURE)
        window.brush.set_radius(RADIUS * max(shown.size))
        canvas, watch = window.canvas, Watch(application)

        def draw(stroke):
            button = ("LeftButton", "RightButton")[stroke.label]
            one, other = (canvas.viewport.view.to_widget(QPointF(*at)) for at in stroke.points)
            send(canvas, QEvent.Type.MouseButtonPress, one, button)
            for share in np.linspace(0, 1, MOVES):
                send(canvas, QEvent.Type.MouseMove, one + share * (other - one), button)
                due = time.perf_counter() + BETWEEN
                watch.turn(lambda due=due: time.perf_counter() > due)
            send(canvas, QEvent.Type.MouseButtonRelease, other, button)

        def is_answered():
            return session.answers.is_current and not window.labelling_view.busy

        watch.while_("ready", lambda: watch.turn(lambda: not session.answers._jobs.busy))
        count = 0
        for place, document in documents(megapixels, sample, later=strokes):
            for stroke in document.strokes[count:]:
                watch.while_("drawing", lambda stroke=stroke: draw(stroke))
            count = len(document.strokes)
            assert len(session.document.strokes) == count
            watch.while_(place, lambda: watch.turn(is_answered))
            # Seconds between two strokes: what is due after an answer comes now.
            due = time.perf_counter() + 1
            watch.while_(
                "afterwards", lambda due=due: watch.turn(lambda: time.perf_counter() > due)
            )
        session.answers.close(60)
        window.labelling_view.close(60)
    return {
        "longest_milliseconds": watch.longest,
        "stolen_milliseconds": watch.stolen,
        "undisturbed_milliseconds": watch.undisturbed,
        "seconds_to_answer": watch.waited,
        "peak_gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }


def start():
    """Return the CPU seconds until a window is shown, and until a sample is painted in it."""
    from segapp.engine.loading import exempt_from_gc
    from segapp.io.desktop import SAMPLES
    from segapp.qt.application import missing_requirement

    missing_requirement()
    with exempt_from_gc(), tempfile.TemporaryDirectory() as folder:
        from PySide6.QtWidgets import QApplication

        from segapp.qt.files.preferences import Preferences
        from segapp.qt.session.session import Session
        from segapp.qt.window.startup import build_window

        keep_preferences_in(folder)
        application = QApplication([])
        window = build_window(Session(), Preferences(), Path(folder))
        window.show()
        application.processEvents()
        seconds = time.process_time()
        names = ("sklearn", "skimage", "scipy.ndimage", "scipy.sparse", "matplotlib")
        heavy = [name for name in names if name in sys.modules]
        window.files.open(SAMPLES / "coffee.jpg")
        while window.session.state is None:
            application.processEvents()
        application.processEvents()
        picture = time.process_time()
    return {"seconds": seconds, "picture_seconds": picture, "heavy_modules": heavy}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("brush", "pauses", "start"))
    parser.add_argument("megapixels", type=float, nargs="?", default=0.2)
    parser.add_argument("--moves", type=int, default=200)
    parser.add_argument("--strokes", type=int, default=8)
    parser.add_argument("--sample", default="coffee", help="which bundled picture is enlarged")
    options = parser.parse_args()
    work = {
        "brush": lambda: brush(options.megapixels, options.moves),
        "pauses": lambda: pauses(options.megapixels, options.strokes, options.sample),
        "start": start,
    }
    print(json.dumps(work[options.what]()))
    sys.stdout.flush()
    os._exit(0)  # the window's threads need no farewell


if __name__ == "__main__":
    main()
