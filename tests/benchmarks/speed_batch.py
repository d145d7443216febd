"""A batch on one process and on two, by the clock.

    python tests/benchmarks/speed_batch.py --images 8

Prints JSON. On a machine that does something else as well, the second process has no core.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from shutil import copyfile

from speed_pictures import SAMPLES


def seconds(folder, jobs):
    with tempfile.TemporaryDirectory() as out:
        start = time.perf_counter()
        words = ["batch", str(folder), "--out", out, "--jobs", str(jobs)]
        subprocess.run(
            [sys.executable, "-m", "segapp", *words], check=True, stdout=subprocess.DEVNULL
        )
        return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(options.images):
            for suffix in (".jpg", "-strokes.png", "-truth.png"):
                copyfile(SAMPLES / f"coffee{suffix}", folder / f"coffee{number}{suffix}")
        print(json.dumps({"one": seconds(folder, 1), "two": seconds(folder, 2)}))


if __name__ == "__main__":
    main()
