"""Pictures of several classes with an exact truth, for the robot user.

    python tests/benchmarks/many_classes.py path/to/gulshan --out cases
    segapp batch cases --out results --robot 20

A picture of the set gets the objects of the next ones pasted beside its own: each is a class of
its own, and what is left is the background. So there are real objects on real grounds, and
several that look alike now and then. One dab for each class is given. Every sixth picture is
taken by default, with two more objects: four classes.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from segapp.batch.cases import find_cases, load_truth
from segapp.batch.robot_user import IGNORED, first_dabs
from segapp.io.export.rasters import write_strokes_png
from segapp.io.images import load_image
from segapp.model.classes import PALETTE, ClassInfo
from segapp.model.document import Document
from segapp.model.labelling import Labelling

_SHARE = 0.12  # of the picture's area that a pasted object covers
_SEAM = 1.0  # pixels over which it fades into the ground


def pasted(rgb, truth, other, label):
    """Lay another picture's object where it hides least; its class is ``label``."""
    cut, own = _cut_out(other, np.sqrt(_SHARE * truth.size))
    rows, columns = own.shape
    if rows > truth.shape[0] or columns > truth.shape[1]:
        shrink = min(truth.shape[0] / rows, truth.shape[1] / columns)
        cut, own = _resized(cut, own, shrink)
        rows, columns = own.shape
    background = truth == truth.max()
    # Where the most of it would lie on background, at every eighth pixel.
    hidden = ndimage.uniform_filter(
        np.pad((~background).astype(float), ((0, rows), (0, columns)), constant_values=9),
        own.shape,
        origin=(-(rows // 2), -(columns // 2)),
    )[: truth.shape[0] - rows + 1 : 8, : truth.shape[1] - columns + 1 : 8]
    top, left = (8 * k for k in np.unravel_index(int(np.argmin(hidden)), hidden.shape))
    box = np.s_[top : top + rows, left : left + columns]
    alpha = np.minimum(ndimage.gaussian_filter(own.astype(float), _SEAM), own)[..., None]
    rgb, truth = rgb.copy(), truth.copy()
    rgb[box] = np.rint(alpha * cut + (1 - alpha) * rgb[box])
    truth[box][own] = label
    # As in the set's own truths, the seam is not judged.
    seam = ndimage.binary_dilation(own) & ~ndimage.binary_erosion(own)
    truth[box][seam] = IGNORED
    return rgb, truth


def _cut_out(case, side):
    rgb = load_image(case.image).rgb
    own = load_truth(case.truth, rgb.shape[:2], 2) == 0
    parts, _ = ndimage.label(own)
    largest = parts == np.argmax(np.bincount(parts.ravel())[1:]) + 1
    (box,) = ndimage.find_objects(largest.astype(int))
    return _resized(rgb[box], largest[box], side / np.sqrt(np.count_nonzero(largest)))


def _resized(rgb, mask, scale):
    size = [max(round(scale * length), 8) for length in mask.shape[::-1]]
    colours = Image.fromarray(rgb.astype(np.uint8)).resize(size, Image.Resampling.LANCZOS)
    shape = Image.fromarray(mask.astype(np.uint8) * 255).resize(size, Image.Resampling.BILINEAR)
    return np.asarray(colours).astype(float), np.asarray(shape) > 127


def make_case(cases, place, more, out):
    """Write one picture with its truth and one dab for each class."""
    first = cases[place]
    picture = load_image(first.image)
    rgb, truth = picture.rgb, load_truth(first.truth, picture.size, 2)
    truth = np.where(truth == 1, more + 1, truth)
    for k in range(1, more + 1):
        rgb, truth = pasted(rgb, truth, cases[(place + k) % len(cases)], k)
    names = [f"object {k + 1}" for k in range(more + 1)]
    classes = tuple(ClassInfo(n, PALETTE[k]) for k, n in enumerate([*names, "background"]))
    path = out / f"{first.name}.png"
    Image.fromarray(rgb).save(path)
    made = Image.fromarray(np.where(truth == IGNORED, 255, truth).astype(np.uint8), "P")
    made.putpalette([part for k in range(256) for part in PALETTE[k % len(PALETTE)]])
    made.save(out / f"{first.name}-truth.png")
    nothing = np.zeros(truth.shape)
    labelling = Labelling(
        nothing.astype(np.uint8),
        nothing.astype(np.float32),
        nothing.astype(np.uint32),
        more + 2,
        1,
    )
    dabs = Document(classes, first_dabs(truth, len(classes))).as_one_state()
    write_strokes_png(out / f"{first.name}-strokes.png", labelling, dabs, load_image(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="the Gulshan set, or a folder in the same layout")
    parser.add_argument("--out", type=Path, required=True, help="where the cases go")
    parser.add_argument("--every", type=int, default=6, help="take every Nth picture")
    parser.add_argument(
        "--more", type=int, default=2, choices=range(1, 7), help="objects pasted into each"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    cases = [case for case in find_cases(options.folder) if case.truth is not None]
    for place in range(0, len(cases), options.every):
        make_case(cases, place, options.more, options.out)
        print(cases[place].name, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
