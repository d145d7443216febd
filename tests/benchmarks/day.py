"""A day's work in the window: thousands of strokes, and a folder of finished pictures.

    python tests/benchmarks/day.py [--strokes 2000] [--pictures 300] [--against TREE] [--plot PNG]

Paints strokes on one picture of 0.2 MP with the mouse, and compares the first tenth of them with
the last: seconds of CPU from the press of the button to the preview, and from its release to the
drawn result, all threads and saving included. A fixed task is timed after each stroke: ratios and
growth are of seconds divided by its own, as what else runs on the machine slows both alike. Then
goes through a folder of finished pictures, forth and back, and exports it. ``--against`` measures
an earlier tree as well, and ``--strokes-against`` says with how many strokes, where its cost
grows.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from speed_window import stolen

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MEGAPIXELS = 0.2
MOVES = 24  # of the mouse in a stroke
IDLE = 0.3  # seconds that one looks at a picture
TENTHS = 10


def resident():
    """Return the kilobytes that this process holds in memory; 0 where that is unknown.

    What it has freed is given back to the system before, where the C library can do that.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1000


def fixed_task():
    """Return the CPU seconds of some sorting, of exponentials and of Python's own loops."""
    start = time.process_time()
    values = np.random.default_rng(0).random((300, 300))
    for _ in range(2):
        np.exp(-values @ values.T).sort(axis=1)
    sum(number % 7 for number in range(20_000))
    return time.process_time() - start


class Day:
    """A window that is worked in, with a clock for its pauses."""

    def __init__(self, folder):
        from PySide6.QtCore import QTimer
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
        self.beats = []  # clock, time stolen by other machines, CPU time of the window's thread
        self.clock = QTimer(interval=1)
        self.clock.timeout.connect(self.beat)

    def beat(self):
        self.beats.append((1000 * time.perf_counter(), stolen(), 1000 * time.thread_time()))

    def longest_pause(self):
        """Return the longest pause since the last call in ms, by the clock and in CPU time."""
        self.beat()
        clock, taken, cpu = np.diff(np.array(self.beats).T)
        self.beats.clear()
        self.beat()
        return float(clock[taken == 0].max(initial=0)), float(cpu.max(initial=0))

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


LATE = 2000


def paint(count, begun=None):
    """Paint strokes on one picture; print the cost of each.

    Of a picture that has begun with some strokes, the next ones are always the same.
    """
    from speed_pictures import RADIUS, picture, strokes

    from segapp.app.state import PictureState
    from segapp.model.document import Marks
    from segapp.model.picture import Picture
    from segapp.qt.canvas.brush import BrushUnit
    from segapp.qt.canvas.layers import Layer, ZeroCopyImage
    from shlcore.parallel import limit_threads

    found = {"preview": [], "update": [], "fixed": [], "pause": [], "busy": [], "kilobytes": []}
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
        painted = [stroke for _, stroke in strokes(MEGAPIXELS, later=count - 2)]
        if begun is not None:
            painted = [stroke for _, stroke in strokes(MEGAPIXELS, later=LATE + count)]
            document = replace(day.session.document, strokes=Marks.of(painted[:begun]))
            day.session.edit("begun", document.as_one_state())
            day.until(day.is_answered)
            painted = painted[LATE : LATE + count]
        day.clock.start()
        day.beat()
        for number, stroke in enumerate(painted):
            preview, update = day.draw(stroke)
            found["preview"].append(preview)
            found["update"].append(update)
            pause, busy = day.longest_pause()
            found["pause"].append(pause)
            found["busy"].append(busy)
            if number % TENTHS == 0:
                held = resident()
            found["kilobytes"].append(held)
            found["fixed"].append(fixed_task())
            if number % 100 == 99:
                print(f"{number + 1} strokes, {update:.3f} s", file=sys.stderr, flush=True)
        due = time.perf_counter() + 2
        day.until(lambda: time.perf_counter() > due)
        found["project"] = sum(each.stat().st_size for each in folder.rglob("*.segapp"))
    print(json.dumps(found), flush=True)
    os._exit(0)  # the window's threads need no farewell


DISTINCT = 8  # pictures of a folder, of which the others are copies
STROKES = 5


def fill(folder, count, megapixels):
    """Fill a folder with finished pictures and their projects."""
    from PIL import Image
    from speed_pictures import documents, picture

    from segapp.app.segmenter import Segmenter
    from segapp.io.project import load_project, save_project

    names = ("coffee", "leaf")
    for number in range(count):
        path = folder / f"p{number:03}.jpg"
        if number < DISTINCT:
            name = names[number % 2]
            rgb = np.roll(picture(megapixels, name), number, axis=1)
            Image.fromarray(rgb).save(path, quality=92)
            *_, (_, document) = documents(megapixels, name, later=STROKES - 2)
            segmenter = Segmenter(path)
            for stroke in document.strokes:  # each is answered, as a user sees it
                segmenter.add_mark(stroke)
                if len(segmenter.document.strokes) > 1:
                    segmenter.answer()
            segmenter.save(path.with_suffix(".segapp"))
        else:
            first = folder / f"p{number % DISTINCT:03}.jpg"
            path.write_bytes(first.read_bytes())
            project = load_project(first.with_suffix(".segapp"))
            save_project(path.with_suffix(".segapp"), replace(project, image_path=path))


def walk(folder):
    """Go through a folder forth and back; print the waits, and the cost of an export."""
    import segapp

    found = {"picture": [], "result": [], "cpu": [], "fixed": [], "kilobytes": []}
    with tempfile.TemporaryDirectory() as name:
        day = Day(Path(name))
        day.window.files.open(folder)
        day.until(lambda: day.session.state is not None and day.is_answered())
        count = len(list(folder.glob("*.jpg")))
        for command in ("next", "previous"):
            for _ in range(count - 1):
                before = day.session.state.path
                idle = time.perf_counter() + IDLE  # in which the next picture is read ahead
                day.watch.turn(lambda idle=idle: time.perf_counter() > idle)
                day.window.commands[command].trigger()
                cpu, shown = day.until(lambda before=before: day.session.state.path != before)
                more, answered = day.until(day.is_answered)
                found["picture"].append(shown)
                found["result"].append(shown + answered)
                found["cpu"].append(cpu + more)
                found["kilobytes"].append(resident())
                found["fixed"].append(fixed_task())
    out = Path(tempfile.mkdtemp())
    words = ["export", str(folder), "--as", "mask", "--out", str(out)]
    start, before = time.perf_counter(), os.times()
    subprocess.run([sys.executable, "-m", "segapp", *words], check=True, stdout=subprocess.DEVNULL)
    found["export"] = time.perf_counter() - start
    after = os.times()
    found["export_cpu"] = after.children_user + after.children_system
    found["export_cpu"] -= before.children_user + before.children_system
    found["version"] = segapp.__version__
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


def in_fixed_tasks(found, name):
    """Return seconds divided by those of the fixed task around them."""
    reach = min(20, len(found["fixed"]) // 4)
    near = [
        np.median(found["fixed"][max(number - reach, 0) : number + reach + 1])
        for number in range(len(found["fixed"]))
    ]
    return np.array(found[name]) / near


def kilobytes_each(found):
    """Return the growth of memory from the second tenth on, as the slope of a line."""
    first = len(found["kilobytes"]) // TENTHS
    numbers = np.arange(len(found["kilobytes"]))[first:]
    return float(np.polyfit(numbers, found["kilobytes"][first:], 1)[0]) if first > 1 else 0.0


def show_begun(begun, count):
    """Compare the same strokes on a picture with few strokes and with many."""
    print(f"## {count} strokes on a picture that has some, CPU of the whole window\n")
    print("| strokes before | update | preview | update, s | preview, s |\n|" + "---|" * 5)
    least = None
    for number in begun:
        found = worker("strokes", ROOT, "--strokes", count, "--begun", number)
        costs = [in_fixed_tasks(found, part).mean() for part in ("update", "preview")]
        least = least or costs
        ratios = " | ".join(f"**{a / b:.2f}**" for a, b in zip(costs, least, strict=True))
        seconds = " | ".join(f"{np.mean(found[part]):.3f}" for part in ("update", "preview"))
        print(f"| {number} | {ratios} | {seconds} |", flush=True)


def show_strokes(trees):
    print("## Strokes on one picture of 0.2 MP, CPU of the whole window\n")
    print(
        "| | strokes | update, last against first tenth | preview | growth of an update "
        "| of a preview | update, first s | last s | preview, first s | last s | kB a stroke "
        "| longest pause, ms | CPU of the longest | project, kB |\n|" + "---|" * 14
    )
    for name, found in trees.items():
        cells = [f"| {name} | {len(found['update'])}"]
        relative = [in_fixed_tasks(found, part) for part in ("update", "preview")]
        for values in relative:
            first, last = tenths(values)
            cells.append(f"**{last / first:.2f}**")
        cells += [f"{exponent(values):.2f}" for values in relative]
        for part in ("update", "preview"):
            cells += [f"{value:.3f}" for value in tenths(found[part])]
        cells += [f"{kilobytes_each(found):.1f}"]
        cells += [f"{max(found['pause'][2:]):.0f}", f"{max(found['busy'][2:]):.0f}"]
        print(" | ".join(cells), "|", f"{found['project'] / 1000:.0f} |")
    print(flush=True)


def show_folder(trees, megapixels):
    print(f"## Going through a folder of finished pictures of {megapixels:g} MP, and its export\n")
    print(
        "| | pictures | CPU ms of each | last against first tenth | growth "
        "| ms to the picture (median, 95 %) | ms to its result (median, 95 %) | kB a picture "
        "| export, s | its CPU |\n|" + "---|" * 10
    )
    for name, found in trees.items():
        steps, relative = len(found["cpu"]), in_fixed_tasks(found, "cpu")
        first, last = tenths(relative)
        growth = exponent(relative) if steps > 2 * TENTHS else 0.0
        waits = [
            ", ".join(f"{1000 * np.percentile(found[part], share):.0f}" for share in (50, 95))
            for part in ("picture", "result")
        ]
        print(
            f"| {name} | {steps // 2 + 1} | **{1000 * np.mean(found['cpu']):.0f}** "
            f"| {last / first:.2f} | {growth:.2f} | {waits[0]} | {waits[1]} "
            f"| {kilobytes_each(found):.1f} | **{found['export']:.1f}** "
            f"| {found['export_cpu']:.1f} |"
        )
    print(flush=True)


def plot(strokes, folders, path):
    """Draw cost and memory over strokes, and over the pictures of each folder."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    parts = [("strokes", "update", strokes)] if strokes else []
    parts += [(f"pictures of {each:g} MP", "cpu", trees) for each, trees in folders.items()]
    size = (9, 3.2 * len(parts))
    figure, rows = pyplot.subplots(
        len(parts), 2, figsize=size, layout="constrained", squeeze=False
    )
    for (what, part, trees), (cost, memory) in zip(parts, rows, strict=True):
        for name, found in trees.items():
            window = max(len(found[part]) // 40, 1)
            cost.plot(np.convolve(found[part], np.ones(window) / window, "valid"), label=name)
            memory.plot(np.array(found["kilobytes"]) / 1000, label=name)
        cost.set(xlabel=what, ylabel="CPU seconds of each", ylim=(0, None))
        memory.set(xlabel=what, ylabel="megabytes in memory", ylim=(0, None))
        for each in (cost, memory):
            each.grid(alpha=0.3)
            each.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--strokes", type=int, default=2000)
    parser.add_argument("--pictures", type=int, default=300)
    begun = "compare pictures that have so many strokes before, instead"
    parser.add_argument("--begun", type=int, nargs="+", help=begun)
    parser.add_argument("--against", metavar="TREE", type=Path, help="an earlier tree")
    parser.add_argument("--strokes-against", type=int, help="of the earlier tree")
    parser.add_argument("--plot", type=Path, help="a PNG of cost and memory")
    parser.add_argument("--megapixels", type=float, nargs="+", default=[0.2, 12])
    parser.add_argument("--only", choices=("strokes", "folder"), help="one of both")
    parser.add_argument("--part", choices=("strokes", "folder"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part == "strokes":
        paint(options.strokes, None if options.begun is None else options.begun[0])
    if options.part == "folder":
        walk(options.folder)
    if options.begun is not None:
        show_begun(options.begun, options.strokes)
        return
    trees = {} if options.against is None else {"before": options.against.resolve()}
    trees["now"] = ROOT
    strokes, folders = {}, {}
    if options.only != "folder":
        for name, tree in trees.items():
            count = options.strokes
            if name == "before":
                count = options.strokes_against or count
            strokes[name] = worker("strokes", tree, "--strokes", count)
        show_strokes(strokes)
    if options.only != "strokes":
        for megapixels in options.megapixels:
            count = options.pictures if megapixels <= 1 else max(options.pictures // 10, 2)
            with tempfile.TemporaryDirectory() as folder:
                fill(Path(folder), count, megapixels)
                folders[megapixels] = {
                    name: worker("folder", tree, "--folder", folder)
                    for name, tree in trees.items()
                }
            show_folder(folders[megapixels], megapixels)
    if options.plot is not None:
        plot(strokes, folders, options.plot)


if __name__ == "__main__":
    main()
