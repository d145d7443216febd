"""Digests of the answers on bundled samples and on each tenth Gulshan image.

``--large 12`` takes two of the samples instead, enlarged to 12 MP.

Two trees give the same masks when their tables agree. Everything goes through the commands, so
that the script runs on any version of the program:

    python tests/benchmarks/mask_digests.py --gulshan DIR > before.md
    python tests/benchmarks/mask_digests.py --gulshan DIR --against before.md > after.md

A row holds the first 12 digits of SHA-256 of the labels, of the margins and of the codes.
Margins and codes are as exact as the machine's arithmetic; compare on one machine. The exit code
is 1 when a command failed or a row changed.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from speed_pictures import SAMPLES, picture

EVERY = 10
ENLARGED = ("coffee", "leaf")


FAILED = ("failed",) * 3


def segapp(*words: object) -> bool:
    """Run a command; say whether all went well."""
    command = [sys.executable, "-m", "segapp", *map(str, words)]
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode == 0


def digests(result: Path) -> tuple[str, ...]:
    with np.load(result) as arrays:
        return tuple(
            hashlib.sha256(np.ascontiguousarray(arrays[name]).tobytes()).hexdigest()[:12]
            for name in ("labels", "margin", "codes")
        )


def cases(samples: Path, gulshan: Path | None) -> list[tuple[str, Path, Path]]:
    found = [
        (image.stem, image, image.with_name(f"{image.stem}-strokes.png"))
        for image in sorted(samples.glob("*.jpg"))
    ]
    if gulshan is not None:
        images = sorted((gulshan / "images").iterdir())[::EVERY]
        found += [(i.stem, i, gulshan / "images-labels" / f"{i.stem}-anno.png") for i in images]
    return found


def enlarge(megapixels: float, folder: Path) -> Path:
    """Fill a folder with samples of about so many megapixels, and their strokes."""
    folder.mkdir()
    for name in ENLARGED:
        image = Image.fromarray(picture(megapixels, name))
        image.save(folder / f"{name}.jpg", quality=95)
        with Image.open(SAMPLES / f"{name}-strokes.png") as strokes:
            larger = strokes.resize(image.size, Image.Resampling.NEAREST)
        larger.save(folder / f"{name}-strokes.png")
    return folder


def rows(samples: Path, gulshan: Path | None, folder: Path) -> list[tuple[str, ...]]:
    table = []
    chosen = cases(samples, gulshan)
    for place, (name, image, strokes) in enumerate(chosen):
        for preset in ("best", "paper"):
            out, model = folder / f"{name}-{preset}.npz", folder / f"{name}-{preset}.shlmodel"
            words = ("--strokes", strokes, "--out", out, "--preset", preset)
            done = segapp("segment", image, *words, "--save-model", model)
            table.append((name, preset, *(digests(out) if done else FAILED)))
            print(*table[-1], file=sys.stderr)
        # The model of the best preset, for this picture and for the next one.
        for target in dict.fromkeys((image, chosen[(place + 1) % len(chosen)][1])):
            out = folder / f"{name}-to"
            model = folder / f"{name}-best.shlmodel"
            done = segapp("apply", model, target, "--out", out, "--as", "numpy")
            found = digests(out / f"{target.stem}.npz") if done else FAILED
            table.append((name, f"apply to {target.stem}", *found))
            print(*table[-1], file=sys.stderr)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--samples", metavar="DIR", type=Path, default=SAMPLES, help="other samples (*.jpg)"
    )
    parser.add_argument("--large", metavar="MP", type=float, help="two samples of this size")
    parser.add_argument("--gulshan", metavar="DIR", type=Path, help="the Gulshan set's folder")
    parser.add_argument("--against", metavar="FILE", type=Path, help="an earlier table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        samples = arguments.samples
        if arguments.large is not None:
            samples = enlarge(arguments.large, Path(folder) / "large")
        table = rows(samples, arguments.gulshan, Path(folder))
    lines = [f"| {' | '.join(row)} |" for row in table]
    print("| picture | answer | labels | margin | codes |\n|---|---|---|---|---|")
    print("\n".join(lines))
    failed = any(row[-3:] == FAILED for row in table)
    if arguments.against is None:
        return int(failed)
    earlier = set(arguments.against.read_text().splitlines())
    changed = [line for line in lines if line not in earlier]
    print(f"\n{len(lines) - len(changed)} of {len(lines)} rows as in {arguments.against.name}.")
    return int(failed or bool(changed))


if __name__ == "__main__":
    sys.exit(main())
