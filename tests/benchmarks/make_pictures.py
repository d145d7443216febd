"""Other pictures to tune on, made of those of a set: harder ones, or larger ones.

    python tests/benchmarks/make_pictures.py path/to/gulshan dim --out dim --without _200[78]_
    segapp batch dim --out results --robot 10

``dim``: in grey, with half of the contrast and with noise. The pictures that must not be tuned on
are harder than those that are for tuning. Without colours and with faint edges the latter become
as hard, so that what helps with hard pictures can be found without looking at the former. Strokes
and truths stay what they are.

``large``: twice as long along each side, with a grain of their own, and strokes and truths with
them. What is done otherwise in pictures of half a megapixel and more can be judged by them.
"""

import argparse
import re
import sys
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from segapp.batch.cases import find_cases, load_truth
from segapp.imaging.rasterise import rasterize
from segapp.io.images import load_image
from segapp.io.masks import load_strokes

_CONTRAST, _NOISE = 0.5, 8.0
_TIMES, _GRAIN = 2, 6
_GREYS = np.array((255, 0, 128), np.uint8)  # the object, what is around, and what is not judged


def dimmed(rgb):
    """Remove the colours and half of the contrast, and add the same noise each time."""
    grey = np.rint(rgb @ np.array((0.299, 0.587, 0.114)))
    noise = np.random.default_rng(0).normal(0, _NOISE, grey.shape)
    faint = grey.mean() + _CONTRAST * (grey - grey.mean()) + noise
    return np.clip(np.rint(faint), 0, 255).astype(np.uint8)


def enlarged(rgb):
    """Enlarge a picture smoothly, and add what a camera's own pixels would."""
    size = _TIMES * rgb.shape[1], _TIMES * rgb.shape[0]
    smooth = np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.BICUBIC))
    grain = np.random.default_rng(0).integers(-_GRAIN, _GRAIN + 1, smooth.shape)
    return np.clip(smooth + grain, 0, 255).astype(np.uint8)


# What becomes of a picture, and how many pixels along a side of one of its marks.
WAYS = {"dim": (dimmed, 1), "large": (enlarged, _TIMES)}


def make_case(case, way, out):
    """Write the picture with the strokes and the truth of the case."""
    change, times = WAYS[way]
    picture = load_image(case.image)
    document = load_strokes(case.strokes, picture.size).document
    truth = load_truth(case.truth, picture.size, 2)
    Image.fromarray(change(picture.rgb)).save(out / f"{case.name}.png")
    marks = (rasterize(document, picture.size) + 1).astype(np.uint8)
    for values, name in ((marks, "strokes"), (_GREYS[truth], "truth")):
        blocks = values.repeat(times, axis=0).repeat(times, axis=1)
        Image.fromarray(blocks).save(out / f"{case.name}-{name}.png")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", help="the Gulshan set, or a folder in the same layout")
    parser.add_argument("way", choices=WAYS, help="what becomes of the pictures")
    parser.add_argument("--out", type=Path, required=True, help="where the pictures go")
    parser.add_argument("--without", default="$^", help="names to leave out, as an expression")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for case in find_cases(options.folder):
        if case.truth is not None and not re.search(options.without, case.name):
            make_case(case, options.way, options.out)
            print(case.name, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
