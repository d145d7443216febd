"""Count cells that touch, without corrections and after at most ten of them.

    python tests/benchmarks/touching_cells.py [--seed 1] [--cells 80] [--corrections 10]
                                              [--kinds rods …] [--sheet FILE.png]

A cell gets a dab and the background a stroke; the class is cut at its necks. Then a robot user
corrects one error after the other, with the edits of the window and the most frequent kind first:
a line that cuts a merged object along the true boundary, a line that joins the parts of a cell, a
retouching dab for a missing cell, or the deletion of an object that is none. A cell is found when
an object and the cell share at least half of their union.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

from segapp.engine.trainer import Trainer
from segapp.imaging.objects import inner_point, objects_of, shaded_labels
from segapp.imaging.retouch import keys_along, with_cut, with_joined, without_objects
from segapp.model.answer import final_answer
from segapp.model.classes import ClassInfo
from segapp.model.document import Document, Stroke
from segapp.model.settings import PRESETS

FOUND = 0.5
PART = 0.25  # of a cell that an object has to cover to be a part of it, or to hold it


@dataclass(frozen=True)
class Kind:
    """Shape and light of the cells of a picture."""

    axes: tuple[float, float]  # pixels, the least and the largest semi-axis
    overlap: float  # share of the semi-axes by which two cells may come too near
    noise: float
    clump: float  # share of the cells that grow beside another one
    longer: float = 1.0  # times the second semi-axis
    tissue: bool = False


KINDS = {
    "nuclei in clumps": Kind((9, 12), 0.2, 8, 0.6),
    "all sizes": Kind((6, 16), 0.2, 8, 0.5),
    "rods": Kind((4, 5), 0.15, 8, 0.5, longer=3.5),
    "tissue": Kind((10, 13), 0.35, 8, 0.9, tissue=True),
    "faint": Kind((9, 12), 0.2, 20, 0.6),
}


def main():
    """Print a row for each kind of picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cells", type=int, default=80)
    parser.add_argument("--corrections", type=int, default=10)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--sheet", type=Path, help="draw each picture with its first objects")
    arguments = parser.parse_args()
    print("| picture | cells | in touch | counted | found | corrections | counted | found |")
    print("|---|---|---|---|---|---|---|---|")
    drawn = []
    for name in arguments.kinds:
        rgb, truth = made(arguments.cells, KINDS[name], arguments.seed)
        picture = CountedPicture(rgb, truth, np.random.default_rng(arguments.seed))
        first, corrections = picture.errors.counted(), 0
        drawn.append(picture.drawn())
        while corrections < arguments.corrections and picture.correct():
            corrections += 1
        texts = [name, str(truth.max()), str(in_touch(truth)), *first, str(corrections)]
        print(f"| {' | '.join((*texts, *picture.errors.counted()))} |", flush=True)
    if arguments.sheet is not None:
        Image.fromarray(np.hstack(drawn)).save(arguments.sheet)


def made(count, kind, seed):
    """Return an 8-bit picture of bright cells on dark ground, and the cell of each pixel."""
    rng = np.random.default_rng(seed)
    side = int(np.sqrt(count) * kind.axes[1] * (2.6 + kind.longer / 2))
    truth, light, placed = np.zeros((side, side), np.int32), np.zeros((side, side)), []
    while len(placed) < count:
        a = rng.uniform(*kind.axes)
        b = a * (kind.longer if kind.longer > 1 else rng.uniform(0.8, 1.0))
        turn, reach = rng.uniform(0, np.pi), max(a, b) + 2
        x, y = rng.uniform(reach, side - reach, 2)
        if placed and rng.random() < kind.clump:
            other, way = placed[rng.integers(len(placed))], rng.uniform(0, 2 * np.pi)
            x = other[0] + np.cos(way) * (other[2] + min(a, b)) * 0.95
            y = other[1] + np.sin(way) * (other[2] + min(a, b)) * 0.95
        if not (reach <= x <= side - reach and reach <= y <= side - reach):
            continue
        rows, columns = np.mgrid[:side, :side] + 0.5
        u = (columns - x) * np.cos(turn) + (rows - y) * np.sin(turn)
        v = (rows - y) * np.cos(turn) - (columns - x) * np.sin(turn)
        far = (u / a) ** 2 + (v / b) ** 2
        if (truth[far < 1] > 0).mean() > kind.overlap / 2:
            continue
        placed.append((x, y, min(a, b)))
        inside = (far < 1) & (truth == 0)
        truth[inside] = len(placed)
        shade = 1.0 if not kind.tissue else 1 - 0.45 * np.clip(far[inside], 0, 1) ** 4
        light[inside] = rng.uniform(90, 160) * shade
    lamp = 0.85 + 0.15 * np.sin(np.mgrid[:side, :side][1] / side * 2.5)
    seen = 40 * lamp + ndimage.gaussian_filter(light, 0.9) * lamp
    seen = seen + rng.normal(0, kind.noise, seen.shape)
    grey = np.clip(seen, 0, 255).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2), truth


def in_touch(truth):
    """Count the cells that touch another one."""
    return len(
        {
            int(cell)
            for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1))
            for one, other in (_shifted(truth, dy, dx),)
            for cell in np.unique(
                np.stack([one, other])[:, (one != other) & (one > 0) & (other > 0)]
            )
        }
    )


def _shifted(truth, dy, dx):
    one = truth[: len(truth) - dy, max(-dx, 0) : truth.shape[1] - max(dx, 0)]
    return one, truth[dy:, max(dx, 0) : truth.shape[1] - max(-dx, 0)]


class Corrections:
    """Errors of the objects that were found, against the true cells."""

    def __init__(self, truth, found):
        self.truth, self.found = truth, found
        self.areas = np.bincount(truth.ravel())
        self.common = np.zeros((len(self.areas), len(found.keys) + 1), np.intp)
        np.add.at(self.common, (truth.ravel(), found.index_map.ravel()), 1)

    def counted(self):
        """Return the number of objects with its error, and the share of cells that are found."""
        n_cells, n_objects = len(self.areas) - 1, len(self.found.keys)
        unions = self.areas[1:, None] + self.common.sum(axis=0)[None, 1:] - self.common[1:, 1:]
        hits = (self.common[1:, 1:] / np.maximum(unions, 1) >= FOUND).any(axis=1).sum()
        error = (n_objects - n_cells) / n_cells
        return f"{n_objects} ({error:+.1%})", f"{hits / n_cells:.1%}"

    def largest(self):
        """Return the largest error of the most frequent kind: its kind, and points for it."""
        held = self.common / np.maximum(self.areas, 1)[:, None] > PART
        held[0] = held[:, 0] = False
        own = self.common / np.maximum(self.common.sum(axis=0), 1)[None]
        merged = np.maximum((held & (own > PART / 2)).sum(axis=0) - 1, 0)
        parts = np.maximum(held.sum(axis=1) - 1, 0)
        missing = ~held.any(axis=1) & (np.arange(len(self.areas)) > 0)
        strange = ~held.any(axis=0) & (np.arange(held.shape[1]) > 0)
        n_errors = [merged.sum(), parts.sum(), missing.sum(), strange.sum()]
        if not any(n_errors):
            return "", ()
        match int(np.argmax(n_errors)):
            case 0:
                cells = np.flatnonzero(held[:, int(merged.argmax())])
                return "cut", self._boundary(cells)
            case 1:
                objects = np.flatnonzero(held[int(parts.argmax())])
                masks = (self.found.index_map == index for index in objects)
                return "join", tuple(inner_point(mask) for mask in masks)
            case 2:
                cell = int((missing * self.areas).argmax())
                return "dab", (inner_point(self.truth == cell),)
            case _:
                largest = int((strange * self.common.sum(axis=0)).argmax())
                return "delete", (inner_point(self.found.index_map == largest),)

    def _boundary(self, cells):
        """Return a straight line along the longest boundary of two of some cells."""
        longest = None
        for index, one in enumerate(cells):
            near = ndimage.binary_dilation(self.truth == one, np.ones((3, 3)))
            for other in cells[index + 1 :]:
                points = np.argwhere(near & (self.truth == other))[:, ::-1] + 0.5
                if len(points) and (longest is None or len(points) > len(longest)):
                    longest = points
        if longest is None:  # of two that do not touch
            longest = np.array([inner_point(self.truth == cell) for cell in cells]).mean(axis=0)[
                None
            ]
        middle = longest.mean(axis=0)
        direction = np.linalg.svd(longest - middle)[2][0] if len(longest) > 1 else np.ones(2)
        along = (longest - middle) @ direction
        ends = (along.min() - 3, along.max() + 3)
        return tuple(tuple((middle + end * direction).tolist()) for end in ends)


class CountedPicture:
    """A picture with its document and objects, and a robot user who corrects them."""

    def __init__(self, rgb, truth, rng):
        self.rgb, self.truth = rgb, truth
        self.trainer, self.settings = Trainer(rgb), PRESETS["alike"]
        classes = ClassInfo("cell", (230, 60, 60), split=True), ClassInfo("background", (9, 9, 9))
        cell = truth == rng.integers(1, truth.max() + 1)
        self.document = Document(
            classes, (Stroke((inner_point(cell),), 2.0, 0), _background(truth, rng))
        )
        self.learn()

    def learn(self):
        """Answer the document."""
        answer = final_answer(self.trainer.updates(self.document, self.settings))
        self.labelling = answer.labelling
        self.found = objects_of(self.labelling, self.document, self.rgb)
        self.errors = Corrections(self.truth, self.found)

    def correct(self):
        """Mend the largest error; return whether there was one."""
        kind, points = self.errors.largest()
        document, found = self.document, self.found
        match kind:
            case "cut":
                self.document = with_cut(document, found, Stroke(points, 0.5, None))
            case "join":
                keys = keys_along(Stroke(points, 0.5, None), found)
                self.document = with_joined(document, found, keys)
            case "dab":
                self.document = document.with_retouch(self._dab(points))
            case "delete":
                ((x, y),) = points
                self.document = without_objects(document, found, [found.at(int(x), int(y))])
            case _:
                return False
        self.learn()
        return True

    def _dab(self, points):
        """Return a dab as large as fits into the cell at a point."""
        ((x, y),) = points
        cell = self.truth == self.truth[int(y), int(x)]
        radius = float(ndimage.distance_transform_edt(np.pad(cell, 1)).max())
        return Stroke(points, radius, 0)

    def drawn(self):
        """Draw picture, truth and objects, one below the other, in 400 pixels."""
        shaded = shaded_labels(self.labelling.labels, self.found, self.document.classes)
        colours = np.array([info.colour for info in shaded.classes], np.uint8)
        random = np.random.default_rng(0).integers(60, 255, (self.truth.max() + 1, 3), np.uint8)
        random[0] = 0
        rows = [self.rgb, random[self.truth], colours[shaded.labels]]
        return np.vstack([np.array(Image.fromarray(row).resize((400, 400), 0)) for row in rows])


def _background(truth, rng):
    """Return a stroke of some straight pieces over what is free."""
    free = ndimage.distance_transform_edt(truth == 0)
    places = np.argwhere(free > 4)
    y, x = places[rng.integers(len(places))]
    way = [(float(x) + 0.5, float(y) + 0.5)]
    for _ in range(300):
        step = rng.integers(-3, 4, 2)
        row, column = np.clip([y + step[1], x + step[0]], 0, len(truth) - 1)
        if free[row, column] > 3:
            y, x = row, column
            way.append((float(x) + 0.5, float(y) + 0.5))
    return Stroke(tuple(way), 1.5, 1)


if __name__ == "__main__":
    main()
