"""From three marked cells to all of them, in a 16-bit picture with a truth.

    python tests/benchmarks/cells_alike.py [--cells 1500] [--seeds 3] [--presets alike best paper]
                                           [--picture FILE.png]

Cells are bright ellipses of different sizes and brightness, blurred, with the noise of a camera
and uneven light, stored as 16-bit TIFF between about 170 and 1200. Three cells get a dab in their
middle and the background gets one stroke. A cell is found when a part of the answer and the cell
share at least half of their union (IoU >= 0.5). Three kinds of picture: cells that keep apart,
cells of which some touch (cut apart at their necks and edges), and faint cells.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image
from scipy.ndimage import gaussian_filter

from segapp.engine.trainer import Trainer
from segapp.imaging.objects import find_objects
from segapp.io.images import load_image
from segapp.model.answer import final_answer
from segapp.model.classes import ClassInfo
from segapp.model.document import Document, Stroke
from segapp.model.settings import PRESETS

FOUND = 0.5


@dataclass(frozen=True)
class Kind:
    """Layout of cells, and their brightness above the background and its noise."""

    gap: float  # pixels between two of them, below 0 they may overlap
    bright: tuple[float, float]
    noise: float
    split: bool = False


KINDS = {
    "apart": Kind(gap=3.0, bright=(450, 950), noise=15),
    "some touch": Kind(gap=-1.5, bright=(450, 950), noise=15, split=True),
    "faint": Kind(gap=3.0, bright=(120, 240), noise=25),
}


def main():
    """Print a row for each kind of picture and preset."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=1500)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--presets", nargs="+", default=["alike", "best", "paper"])
    parser.add_argument("--picture", type=Path, help="draw the first answer")
    arguments = parser.parse_args()
    print("| cells | preset | found | least of the seeds | parts that are no cell | CPU s |")
    print("|---|---|---|---|---|---|")
    drawing = arguments.picture
    for name, kind in KINDS.items():
        cases = [made(arguments.cells, kind, seed) for seed in range(arguments.seeds)]
        for preset in arguments.presets:
            shares, strangers, start = [], [], time.process_time()
            for picture, truth, document in cases:
                labels = answer(picture, document, PRESETS[preset])
                found, others = score(labels, truth, picture, document)
                shares.append(found)
                strangers.append(others)
                if drawing is not None:
                    draw(drawing, picture, truth, labels)
                    drawing = None
            took = (time.process_time() - start) / len(cases)
            cells = [f"{np.mean(shares):.1%}", f"{min(shares):.1%}", f"{np.mean(strangers):.0f}"]
            print(f"| {name} | {preset} | " + " | ".join(cells) + f" | {took:.1f} |", flush=True)


def made(count, kind, seed):
    """Return a picture as loaded, the number of the cell at each pixel, and the marks."""
    rng = np.random.default_rng(seed)
    side = int(np.sqrt(count) * 34)
    light, truth, middles = cells(count, side, kind, rng)
    y, x = np.mgrid[:side, :side] / side
    lamp = 0.85 + 0.15 * np.sin(2.5 * x + 1.5 * y)
    seen = 180 + gaussian_filter(light, 1.2) * lamp + 25 * lamp
    seen = rng.poisson(np.maximum(seen, 0)) + rng.normal(0, kind.noise, seen.shape)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.tif"
        tifffile.imwrite(path, np.clip(seen, 0, 65535).astype(np.uint16))
        picture = load_image(path)
    return picture, truth, Document(classes(kind.split), marks(truth, middles, rng))


def classes(split):
    """Return cells and what lies between them."""
    cell = ClassInfo("cell", (230, 60, 60), split=split)
    return cell, ClassInfo("background", (60, 90, 230))


def cells(count, side, kind, rng):
    """Return how bright the cells are, their numbers from 1, and their middles."""
    light, truth = np.zeros((side, side)), np.zeros((side, side), np.int32)
    middles = []
    while len(middles) < count:
        x, y = rng.uniform(14, side - 14, 2)
        a, b = rng.uniform(5.0, 10.0, 2)
        turn = rng.uniform(0, np.pi)
        reach = int(max(a, b) + max(kind.gap, 0) + 2)
        top, left = int(y) - reach, int(x) - reach
        window = np.s_[max(top, 0) : top + 2 * reach + 1, max(left, 0) : left + 2 * reach + 1]
        rows, columns = np.mgrid[window]
        u = (columns + 0.5 - x) * np.cos(turn) + (rows + 0.5 - y) * np.sin(turn)
        v = (rows + 0.5 - y) * np.cos(turn) - (columns + 0.5 - x) * np.sin(turn)
        near = (u / (a + kind.gap)) ** 2 + (v / (b + kind.gap)) ** 2 < 1
        if truth[window][near].any():
            continue
        inside = ((u / a) ** 2 + (v / b) ** 2 < 1) & (truth[window] == 0)
        middles.append((x, y))
        truth[window][inside] = len(middles)
        light[window][inside] = rng.uniform(*kind.bright)
    return light, truth, middles


def marks(truth, middles, rng):
    """Return a dab in three cells and a stroke over what is free."""
    chosen = rng.choice(len(middles), 3, replace=False)
    dabs = [Stroke((middles[index],), 3.0, 0) for index in chosen]
    free = np.argwhere(gaussian_filter((truth > 0).astype(float), 4.0) < 0.02)
    y, x = free[rng.integers(len(free))]
    way = [(x + 0.5, y + 0.5)]
    for _ in range(400):  # from pixel to free pixel, on a path between cells
        step = rng.integers(-2, 3, 2)
        row, column = np.clip([y + step[1], x + step[0]], 0, len(truth) - 1)
        if not truth[max(row - 3, 0) : row + 4, max(column - 3, 0) : column + 4].any():
            y, x = row, column
            way.append((float(x) + 0.5, float(y) + 0.5))
    return (*dabs, Stroke(tuple(way), 2.0, 1))


def answer(picture, document, settings):
    """Return the class of every pixel."""
    return final_answer(Trainer(picture.rgb).updates(document, settings)).labelling.labels


def score(labels, truth, picture, document):
    """Return the share of cells that are found, and how many objects are none of them."""
    found = find_objects(labels, document, rgb=picture.rgb).index_map
    cells = np.bincount(truth.ravel())
    objects = np.bincount(found.ravel())
    common = np.zeros((len(cells), len(objects)), np.intp)
    np.add.at(common, (truth.ravel(), found.ravel()), 1)
    unions = cells[1:, None] + objects[None, 1:] - common[1:, 1:]
    good = common[1:, 1:] / unions >= FOUND
    return good.any(axis=1).mean(), int((~good.any(axis=0)).sum())


def draw(path, picture, truth, labels):
    """Draw the upper left corner: what is seen, the truth, and the answer."""
    corner = np.s_[:400, :400]
    seen = picture.rgb[corner]
    masks = [
        np.repeat(255 * (mask[corner][..., None]).astype(np.uint8), 3, axis=2)
        for mask in (truth > 0, labels == 0)
    ]
    Image.fromarray(np.hstack([seen, *masks])).save(path)


if __name__ == "__main__":
    main()
