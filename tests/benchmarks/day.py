"""A day's work in the window: thousands of strokes, and a folder of finished pictures.

    python tests/benchmarks/day.py [--strokes 2000] [--pictures 300] [--against TREE] [--plot PNG]

Paints strokes on one picture of 0.2 MP with the mouse, and compares the first tenth of them with
the last: seconds of CPU from the press of the button to the preview, and from its release to the
drawn result, all threads and saving included. Then goes through a folder of finished pictures,
forth and back, and exports it. ``--against`` measures an earlier tree as well, and
``--strokes-against`` says with how many strokes, where its cost grows.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MEGAPIXELS = 0.2
MOVES = 24  # of the mouse in a stroke
TENTHS = 10


def resident():
    """Return the kilobytes of this process that are in memory; 0 where that is unknown."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1000


class Day:
    """A window that is worked in, with a clock for its pauses."""

    def __init__(self, folder):
        from PySide6.QtWidgets import QApplication
        from speed_window import Watch, keep_preferences_in

        from segapp.app.project_store import SaveLocation
        from segapp.qt.application import SWITCH_SECONDS
        from segapp.qt.files.preferences import Preferences
        from segapp.qt.session.session import Session
        from segapp.qt.window.startup import build_window

        sys.setswitchinterval(SWITCH_SECONDS)
        self.application = QApplication([])
        keep_preferences_in(str(folder))
        self.session = Session()
        self.window = build_window(self.session, Preferences(), folder / "recovery")
        self.window.store.policy.choose(SaveLocation.FOLDER, folder)
        self.window.resize(1400, 900)
        self.window.show()
        self.watch = Watch(self.application)

    def until(self, is_done):
        """Let the window work until something is done; return seconds of CPU and of the clock."""
        cpu, clock = time.process_time(), time.perf_counter()
        self.watch.turn(is_done)
        return time.process_time() - cpu, time.perf_counter() - clock

    def is_answered(self):
        return self.session.answers.is_current and not self.window.labelling_view.busy

    def draw(self, stroke):
        """Draw a stroke; return the CPU seconds to its preview, and from its end to the result."""
        from PySide6.QtCore import QEvent, QPointF
        from speed_window import send

        canvas, answers = self.window.canvas, self.session.answers
        button = ("LeftButton", "RightButton")[stroke.label]
        one, other = (canvas.viewport.view.to_widget(QPointF(*at)) for at in stroke.points)
        begun = time.process_time()
        send(canvas, QEvent.Type.MouseButtonPress, one, button)
        for share in np.linspace(0, 1, MOVES):
            send(canvas, QEvent.Type.MouseMove, one + share * (other - one), button)
        self.watch.turn(lambda: not answers.is_previewing)
        previewed = time.process_time()
        send(canvas, QEvent.Type.MouseButtonRelease, other, button)
        self.watch.turn(self.is_answered)
        return previewed - begun, time.process_time() - previewed


def paint(count):
    """Paint strokes on one picture; print the cost of each."""
    from speed_pictures import RADIUS, picture, strokes
    from speed_window import stolen

    from segapp.app.state import PictureState
    from segapp.model.picture import Picture
    from segapp.qt.canvas.brush import BrushUnit
    from segapp.qt.canvas.layers import Layer, ZeroCopyImage
    from shlcore.parallel import limit_threads

    found = {"preview": [], "update": [], "pause": [], "kilobytes": [], "project": []}
    with tempfile.TemporaryDirectory() as name, limit_threads(1):
        folder = Path(name)
        day = Day(folder)
        rgb = picture(MEGAPIXELS)
        shown = Picture(rgb, None, folder / "picture.png", "0", "")
        day.session.open(
            shown, Layer.over(ZeroCopyImage.of_picture(rgb)), PictureState(shown.path, "0")
        )
        day.window.brush.set_unit(BrushUnit.PICTURE)
        day.window.brush.set_radius(RADIUS * max(shown.size))
        day.until(lambda: not day.session.answers._jobs.busy)
        day.watch._clock.start()
        for number, (_, stroke) in enumerate(strokes(MEGAPIXELS, later=count - 2)):
            day.watch._beats.clear()
            day.watch._beat()
            preview, update = day.draw(stroke)
            day.watch._beat()
            found["preview"].append(preview)
            found["update"].append(update)
            times, counted = np.array(day.watch._beats).T
            calm = np.diff(times)[np.diff(counted) == 0]
            found["pause"].append(float(calm.max(initial=0)))
            found["kilobytes"].append(resident())
            if number % 100 == 99:
                print(f"{number + 1} strokes, {update:.3f} s", file=sys.stderr, flush=True)
        due = time.perf_counter() + 2
        day.until(lambda: time.perf_counter() > due)
        found["project"] = sum(each.stat().st_size for each in folder.rglob("*.segapp"))
        found["stolen"] = stolen()
    print(json.dumps(found), flush=True)
    os._exit(0)  # the window's threads need no farewell


def worker(part, tree, *words):
    """Run a part on a tree, in a process of its own, and return what it prints."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(tree), str(HERE))),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, __file__, "--part", part, *map(str, words)]
    done = subprocess.run(
        command, env=environment, cwd=tree, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def tenths(values):
    """Return the means of the first and of the last tenth."""
    size = max(len(values) // TENTHS, 1)
    return float(np.mean(values[:size])), float(np.mean(values[-size:]))


def exponent(values):
    """Fit ``value = c * number^e`` to the tenths and return e; the first stroke is special."""
    pieces = np.array_split(np.array(values[2:]), TENTHS)
    numbers = [piece.mean() for piece in np.array_split(np.arange(2, len(values)), TENTHS)]
    return float(np.polyfit(np.log(numbers), np.log([piece.mean() for piece in pieces]), 1)[0])


def show_strokes(trees):
    print("## Strokes on one picture of 0.2 MP, CPU of the whole window\n")
    print(
        "| | strokes | last against first tenth | update, first | last | preview, first | last "
        "| growth | kB a stroke | longest pause, ms | project, kB |\n|" + "---|" * 11
    )
    for name, found in trees.items():
        updates, previews = tenths(found["update"]), tenths(found["preview"])
        half = len(found["kilobytes"]) // 2
        numbers = np.arange(len(found["kilobytes"]))[half:]
        growth = np.polyfit(numbers, found["kilobytes"][half:], 1)[0]
        print(
            f"| {name} | {len(found['update'])} | **{updates[1] / updates[0]:.2f}** "
            f"| {updates[0]:.3f} | {updates[1]:.3f} | {previews[0]:.3f} | {previews[1]:.3f} "
            f"| {exponent(found['update']):.2f} | {growth:.1f} "
            f"| {max(found['pause'][2:]):.0f} | {found['project'] / 1000:.0f} |"
        )
    print(flush=True)


def plot(trees, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for name, found in trees.items():
        window = max(len(found["update"]) // 40, 1)
        smooth = np.convolve(found["update"], np.ones(window) / window, "valid")
        axes[0].plot(smooth, label=name)
        axes[1].plot(np.array(found["kilobytes"]) / 1000, label=name)
    axes[0].set(xlabel="strokes", ylabel="CPU seconds of an update", ylim=(0, None))
    axes[1].set(xlabel="strokes", ylabel="megabytes in memory", ylim=(0, None))
    for each in axes:
        each.grid(alpha=0.3)
        each.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--strokes", type=int, default=2000)
    parser.add_argument("--pictures", type=int, default=300)
    parser.add_argument("--against", metavar="TREE", type=Path, help="an earlier tree")
    parser.add_argument("--strokes-against", type=int, help="of the earlier tree")
    parser.add_argument("--plot", type=Path, help="a PNG of cost and memory over strokes")
    parser.add_argument("--part", choices=("strokes",), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part == "strokes":
        paint(options.strokes)
    trees = {} if options.against is None else {"before": options.against.resolve()}
    trees["now"] = ROOT
    found = {}
    for name, tree in trees.items():
        count = options.strokes
        if name == "before":
            count = options.strokes_against or count
        found[name] = worker("strokes", tree, "--strokes", count)
    show_strokes(found)
    if options.plot is not None:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
