"""A long stack in the window: opening, next pages and memory; propagation against an update.

    python tests/benchmarks/long_stack.py [--pages 2000] [--side 2048] [--megapixels 0.4]

The file is written first, uncompressed: 8.4 GB for 2000 pages of 4 megapixels. Times are those of
the clock, memory is the most that the process held. The stack is then gone through page by page,
played, and left at its last page. Propagation is measured on a film of a textured disc: the time
of a page against that of an update of the same picture after a stroke.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tifffile
from scipy import ndimage
from speed_window import keep_preferences_in

from segapp.app.segmenter import Segmenter
from segapp.app.stack import Stack
from segapp.model.document import Stroke
from shlcore.parallel import limit_threads

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def disc_pages(count: int, height: int, width: int):
    """Yield grey pages of a bright textured disc that moves over a textured ground."""
    rng = np.random.default_rng(0)
    grain = ndimage.gaussian_filter(rng.normal(size=(height, width)).astype(np.float32), 3)
    grain = (40 + 90 * (grain - grain.min()) / np.ptp(grain)).astype(np.uint8)
    rows, columns = np.ogrid[:height, :width]
    for page in range(count):
        y, x = height * (0.5 + 0.1 * np.sin(page / 80)), width * (0.5 + 0.1 * np.cos(page / 60))
        inside = (rows - y) ** 2 + (columns - x) ** 2 < (0.2 * height) ** 2
        yield np.where(inside, grain + np.uint8(100), grain)


def long_stack(path: Path) -> None:
    """Print times and memory of a stack in the window."""
    from PySide6.QtWidgets import QApplication

    from segapp.qt.application import SWITCH_SECONDS
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session
    from segapp.qt.window.startup import build_window

    sys.setswitchinterval(SWITCH_SECONDS)
    application = QApplication([])
    with tempfile.TemporaryDirectory() as name:
        keep_preferences_in(name)
        session = Session()
        window = build_window(session, Preferences(), Path(name) / "recovery")
        window.resize(1400, 900)
        window.show()

        def until(is_done, seconds: float = 120) -> float:
            start = time.perf_counter()
            while not is_done() and time.perf_counter() - start < seconds:
                application.processEvents()
                time.sleep(0.001)
            return time.perf_counter() - start

        def page_shown(page: int) -> bool:
            return window.stacks.page == page and not window.files.is_reading

        start = time.perf_counter()
        window.files.open(path)
        until(lambda: page_shown(0))
        print(f"opened in {time.perf_counter() - start:.2f} s, {peak():.0f} MB")
        until(lambda: False, 2)
        last = len(window.stacks.stack) - 1
        for text, pages, pause in (
            ("next pages, one a second", range(1, 11), 1.0),
            ("next pages at once", range(11, 61), 0.0),
            ("far pages", [last // 3, 2 * last // 3, last, 0], 0.5),
        ):
            taken = []
            for page in pages:
                start = time.perf_counter()
                window.stacks.go_to(page)
                until(lambda page=page: page_shown(page))
                taken.append(time.perf_counter() - start)
                until(lambda: False, pause)
            worst, median = 1000 * max(taken), 1000 * float(np.median(taken))
            print(f"{text}: median {median:.0f} ms, worst {worst:.0f} ms, {peak():.0f} MB")
        window.commands["play"].setChecked(True)
        start, first = time.perf_counter(), window.stacks.page
        until(lambda: False, 10)
        window.commands["play"].setChecked(False)
        played = (window.stacks.page - first) % (last + 1)
        print(f"played {played / (time.perf_counter() - start):.1f} pages/s, {peak():.0f} MB")
        window.close()


def peak() -> float:
    """Return the most memory that this process held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def propagation(megapixels: float) -> None:
    """Print the time of a propagated page and of an update of a picture."""
    height = round((megapixels * 1e6 * 3 / 4) ** 0.5)
    frames = np.stack(list(disc_pages(8, height, height * 4 // 3)))
    middle = frames.shape[2] / 2
    strokes = [
        Stroke(((middle * 1.1, height / 2), (middle * 1.3, height / 2)), 8, 0),
        Stroke(((9, 9), (9, height - 9)), 8, 1),
        Stroke(((middle * 1.2, height / 2), (middle * 1.25, height * 0.6)), 8, 0),
        Stroke(((middle, 9), (1.9 * middle, 9)), 8, 1),
        Stroke(((middle * 1.2, height * 0.45),), 8, 0),
    ]
    with limit_threads(1):
        segmenter = Segmenter(frames[0])
        updates = []
        for stroke in strokes:
            segmenter.add_mark(stroke)
            if stroke is not strokes[0]:
                start = time.process_time()
                segmenter.answer()
                updates.append(time.process_time() - start)
        stack = Stack(frames, {0: segmenter.document})
        pages, start = [], time.process_time()
        for step in stack.propagation():
            if step is not None:
                pages.append(time.process_time() - start)
                start = time.process_time()
    update, page = np.median(updates[1:]), np.median(pages[1:])
    print(f"{frames[0].size / 1e6:.2f} megapixels, seconds of CPU:")
    print(f"update {update:.3f}, with the reading of the picture {updates[0]:.3f}")
    print(f"propagated page {page:.3f}, {page / update:.1f} updates")


def main() -> None:
    """Write the stack unless it is there, and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--side", type=int, default=2048)
    parser.add_argument("--megapixels", type=float, default=0.4)
    parser.add_argument("--file", type=Path, help="a stack to open instead of a written one")
    arguments = parser.parse_args()
    propagation(arguments.megapixels)
    if arguments.file:
        long_stack(arguments.file)
        return
    with tempfile.TemporaryDirectory() as folder:
        path, side = Path(folder) / "long.ome.tif", arguments.side
        tifffile.imwrite(
            path,
            disc_pages(arguments.pages, side, side),
            shape=(arguments.pages, side, side),
            dtype=np.uint8,
            ome=True,
            bigtiff=True,
            photometric="minisblack",
            metadata={"axes": "TYX"},
        )
        long_stack(path)


if __name__ == "__main__":
    main()
