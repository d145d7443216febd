"""Peak memory of opening large files of 8 and 16 bits, above the picture itself.

    python tests/benchmarks/open_memory.py --megapixels 12 50 100

Each file is opened in a process of its own. "Above the start" is the most that this process held,
less what it held before it opened the file; "above the picture" is what of it is not the picture
itself, in bytes a pixel. Linux only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

from segapp.io.images import load_image

KINDS = (
    "RGB PNG, 8 bits",
    "RGB JPEG, 8 bits",
    "RGB TIFF, 8 bits",
    "grey TIFF, 16 bits",
    "RGB TIFF, 16 bits",
)
SUFFIXES = {"PNG": ".png", "JPEG": ".jpg", "TIFF": ".tif"}


@dataclass(frozen=True)
class Cost:
    """Bytes: at the most above the start, and of the picture."""

    peak: int
    picture: int


def make(kind: str, megapixels: float, folder: Path) -> Path:
    """Write a picture of soft waves with some noise, four to three."""
    width = round((megapixels * 1e6 * 4 / 3) ** 0.5)
    height = round(megapixels * 1e6 / width)
    colours, form, bits = kind.replace(",", "").split()[:3]
    depth, highest = (np.uint16, 65535) if bits == "16" else (np.uint8, 255)
    rng = np.random.default_rng(0)
    pixels = np.empty((height, width, 3) if colours == "RGB" else (height, width), depth)
    across = np.sin(np.arange(width) / 300)
    for row in pixels:  # one after the other: the script itself needs little memory
        wave = 0.5 + 0.4 * across + rng.normal(0, 0.01, width)
        values = (np.clip(wave, 0, 1) * highest).astype(depth)
        row[...] = values if row.ndim == 1 else values[:, np.newaxis]
    path = folder / f"picture{SUFFIXES[form]}"
    if form == "TIFF":
        tifffile.imwrite(path, pixels, photometric="rgb" if pixels.ndim == 3 else "minisblack")
    else:
        Image.fromarray(pixels).save(path, compress_level=1)
    return path


def cost_of(path: Path) -> Cost:
    """Open a file in another process."""
    command = [sys.executable, __file__, "--open", str(path)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return Cost(*map(int, done.stdout.split()))


def opened(path: Path) -> Cost:
    """Open a file in this process, which has opened nothing before."""
    before = _memory("VmRSS")
    picture = load_image(path)
    alpha = 0 if picture.alpha is None else picture.alpha.nbytes
    return Cost(_memory("VmHWM") - before, picture.rgb.nbytes + alpha)


def _memory(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) << 10
    raise OSError(f"{field}: not told by this system")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megapixels", type=float, nargs="+", default=[12, 50, 100])
    parser.add_argument("--open", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.open:
        cost = opened(arguments.open)
        print(cost.peak, cost.picture)
        return
    print("| file | megapixels | above the start | bytes a pixel above the picture |")
    print("|---|---|---|---|")
    for kind in KINDS:
        for megapixels in arguments.megapixels:
            with tempfile.TemporaryDirectory() as folder:
                cost = cost_of(make(kind, megapixels, Path(folder)))
            above = (cost.peak - cost.picture) / (megapixels * 1e6)
            row = (kind, f"{megapixels:g}", f"{cost.peak / 1e6:.0f} MB", f"{above:.1f}")
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
