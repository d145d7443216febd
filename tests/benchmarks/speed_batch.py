"""Wall-clock and CPU seconds of a batch on one process and on two.

    python tests/benchmarks/speed_batch.py --images 8
    python tests/benchmarks/speed_batch.py --folder DATA --turns 1

Prints JSON: medians over turns of one after the other. On a machine that does something else as
well, the second process has no core: then only the seconds of the cores mean something, that is
how much more two processes have to do. For comparison, a loop that shares nothing and loads
nothing is run on both cores as well: more than that this machine has not to give.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from shutil import copyfile
from statistics import median

from speed_pictures import SAMPLES


def seconds(folder, jobs):
    with tempfile.TemporaryDirectory() as out:
        start, before = time.perf_counter(), os.times()
        words = ["batch", str(folder), "--out", out, "--jobs", str(jobs)]
        # As users have it: the program itself sees to its threads, and keeps what it compiles.
        unusual = ("NUM_THREADS", "PYTHONDONTWRITEBYTECODE")
        free = {k: v for k, v in os.environ.items() if not any(word in k for word in unusual)}
        subprocess.run(
            [sys.executable, "-m", "segapp", *words],
            check=True,
            stdout=subprocess.DEVNULL,
            env=free,
        )
        after = os.times()
        cores = after.children_user + after.children_system
        cores -= before.children_user + before.children_system
        return time.perf_counter() - start, cores


def copies(folder, count):
    """Fill a folder with one picture many times, its strokes and its truth beside it."""
    for number in range(count):
        for suffix in (".jpg", "-strokes.png", "-truth.png"):
            copyfile(SAMPLES / f"coffee{suffix}", folder / f"coffee{number}{suffix}")
    return folder


def loops(count, at_once):
    """Return how long two loops of plain Python take, one after the other or at once."""
    start = time.perf_counter()
    words = [sys.executable, "-c", f"total = 0\nfor k in range({count}): total += k"]
    if at_once:
        running = [subprocess.Popen(words) for _ in range(2)]
        for process in running:
            process.wait()
    else:
        for _ in range(2):
            subprocess.run(words, check=True)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=8, help="copies of a small picture")
    parser.add_argument("--folder", type=Path, help="images of a folder instead")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--loop", type=int, default=60_000_000, help="length of the plain loops")
    options = parser.parse_args()
    turns = []
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or copies(Path(name), options.images)
        for _ in range(options.turns):
            (one, of_one), (two, of_two) = seconds(folder, 1), seconds(folder, 2)
            plain = loops(options.loop, at_once=False) / loops(options.loop, at_once=True)
            turns.append([one, two, of_one, of_two, plain])
    names = ("one", "two", "cores_of_one", "cores_of_two", "loops")
    medians = {k: median(turn) for k, turn in zip(names, zip(*turns, strict=True), strict=True)}
    print(json.dumps({**medians, "turns": [turn[0] / turn[1] for turn in turns]}))


if __name__ == "__main__":
    main()
