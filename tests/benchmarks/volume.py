"""A made volume of touching cells, marked on three slices, against its truth.

    python tests/benchmarks/volume.py [--slices 60] [--cells 100] [--size 360] [--seed 0]

Two channels of 16 bits: bodies, and the walls between them. Cells drift, touch, divide and end.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import tifffile
from scipy import ndimage

from segapp.app.stack import Stack
from segapp.batch.robot_user import first_dabs, iou, robot_stroke
from segapp.model.classes import ClassInfo
from segapp.model.document import Document
from shlcore.parallel import limit_threads


def make_volume(n_slices: int, n_cells: int, size: int, seed: int):
    """Return the pages, ``Z x C x Y x X``, the cell of each voxel, and the mother of each cell."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(np.sqrt(n_cells)))
    step = size / side
    places = (np.stack(np.divmod(np.arange(n_cells), side), axis=1) + 0.5) * step
    cells = {}  # number: place, drift, radius, first and last slice
    mothers = {}
    for number, place in enumerate(places, start=1):
        cells[number] = {
            "at": place + rng.uniform(-0.08, 0.08, 2) * step,
            "drift": rng.normal(0, 0.004, 2) * step,
            "radius": step * rng.uniform(0.42, 0.52),
            "first": 0,
            "last": n_slices - 1,
        }
    for number in rng.choice(n_cells, n_cells // 10, replace=False) + 1:
        cells[number]["last"] = int(rng.integers(n_slices // 3, n_slices - 5))
    others = [n for n in range(1, n_cells + 1) if cells[n]["last"] == n_slices - 1]
    for number in rng.choice(others, n_cells // 10, replace=False):
        mother = cells[number]
        split = int(rng.integers(n_slices // 4, 3 * n_slices // 4))
        mother["last"] = split - 1
        axis = rng.normal(size=2)
        axis /= np.hypot(*axis)
        for sign in (-1, 1):
            daughter = len(cells) + 1
            apart = sign * axis
            cells[daughter] = {
                "at": mother["at"] + mother["drift"] * split + apart * mother["radius"] * 0.42,
                "drift": apart * 0.012 * step,
                "radius": mother["radius"] * 0.62,
                "first": split,
                "last": n_slices - 1,
            }
            mothers[daughter] = int(number)
    truth = np.zeros((n_slices, size, size), np.uint16)
    pages = np.zeros((n_slices, 2, size, size), np.uint16)
    y, x = np.mgrid[:size, :size].astype(np.float32)
    grain = ndimage.gaussian_filter(rng.normal(size=(n_slices, size, size)), (1, 1.5, 1.5))
    for z in range(n_slices):
        nearest = np.full((size, size), np.inf, np.float32)
        for number, cell in cells.items():
            if not cell["first"] <= z <= cell["last"]:
                continue
            cy, cx = cell["at"] + cell["drift"] * (z - cell["first"])
            away = np.hypot(y - cy, x - cx) / cell["radius"]
            inside = (away < 1) & (away < nearest)
            truth[z][inside] = number
            nearest = np.where(inside, away, nearest)
        walls = np.zeros((size, size), bool)
        for one, other in (
            (truth[z, :, 1:], truth[z, :, :-1]),
            (truth[z, 1:], truth[z, :-1]),
        ):
            walls[: other.shape[0], : other.shape[1]] |= one != other
        body = np.where(truth[z] > 0, 9000 - 2500 * np.minimum(nearest, 1), 2500)
        wall = ndimage.gaussian_filter(walls.astype(np.float32), 0.8)
        pages[z, 0] = np.clip(body - 4500 * wall + 2500 * grain[z], 0, 65535)
        pages[z, 1] = np.clip(1500 + 12000 * wall + 1500 * grain[z], 0, 65535)
    return pages, truth, mothers


def mark(stack: Stack, page: int, truth, strokes: int) -> int:
    """Let the robot mark cells and ground of a slice, up to some strokes."""
    target = np.where(truth > 0, 0, 1).astype(np.int16)
    dabs = first_dabs(target, 2)
    stack.edit(page, Document(stack.classes.classes, dabs).as_one_state())
    for count in range(strokes):
        stack.answer_marked(page)
        labels = stack.labels(page)
        if iou(labels, target) >= 0.95:
            return len(dabs) + count
        stack.add_mark(page, robot_stroke(labels, target))
    return len(dabs) + strokes


def right_tracks(objects, truth) -> float:
    """Return the share of true cells that one track follows on 90 % of their slices."""
    followed = []
    for number in np.unique(truth)[1:]:
        owners = []
        for z in np.flatnonzero((truth == number).any(axis=(1, 2))):
            inside = truth[z] == number
            found = np.bincount(objects[z][inside])
            best = int(found.argmax())
            own = np.count_nonzero(objects[z] == best)
            owners.append(best if best and found[best] > 0.5 * max(inside.sum(), own) else 0)
        counts = np.bincount(owners)
        counts[0] = 0
        followed.append(counts.max() >= 0.9 * len(owners))
    return float(np.mean(followed))


def main() -> None:
    """Print size, overlap, counts and tracks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slices", type=int, default=60)
    parser.add_argument("--cells", type=int, default=100)
    parser.add_argument("--size", type=int, default=360)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strokes", type=int, default=40, help="on each of three slices")
    arguments = parser.parse_args()
    pages, truth, mothers = make_volume(
        arguments.slices, arguments.cells, arguments.size, arguments.seed
    )
    with tempfile.TemporaryDirectory() as folder, limit_threads(1):
        path = Path(folder) / "cells.ome.tif"
        names = {"Channel": {"Name": ["bodies", "walls"]}}
        tifffile.imwrite(path, pages, metadata={"axes": "ZCYX", **names})
        stack = Stack(path)
        cell = ClassInfo("cell", (230, 160, 0), split=True)
        stack.set_classes((cell, ClassInfo("background", (0, 110, 180))))
        n = arguments.slices
        strokes = [
            mark(stack, z, truth[z], arguments.strokes) for z in (n // 6, n // 2, 5 * n // 6)
        ]
        start = time.perf_counter()
        stack.propagate()
        seconds = time.perf_counter() - start
        objects = np.stack([stack.objects_on(page) for page in range(n)])
    found = objects > 0
    overlap = np.count_nonzero(found & (truth > 0)) / np.count_nonzero(found | (truth > 0))
    counted = np.array([len(np.unique(page)) - 1 for page in objects])
    actual = np.array([len(np.unique(page)) - 1 for page in truth])
    print(f"strokes {strokes}, {seconds / n:.2f} s a slice")
    print(f"IoU of the volume {overlap:.3f}")
    print(f"objects a slice: {counted.mean():.1f} counted, {actual.mean():.1f} true")
    print(f"largest difference {np.abs(counted / actual - 1).max():.1%}")
    print(
        f"tracks right {right_tracks(objects, truth):.1%}, {len(stack.tracks)} tracks, "
        f"{len(np.unique(truth)) - 1} cells, {len(mothers) // 2} divisions"
    )


if __name__ == "__main__":
    main()
