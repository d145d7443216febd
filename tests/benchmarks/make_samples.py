"""Make the bundled samples: ``python tests/benchmarks/make_samples.py [NAME …]``.

Three are painted by formulas and have an exact truth. Two are photographs that scikit-image
brings along, outlined by hand: the astronaut Eileen Collins (NASA, public domain) and a cup of
coffee (Rachel Michetti, CC0).
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import paint_flat
import render_fruit
import skimage.data
from PIL import Image, ImageDraw
from scipy import interpolate, ndimage

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from segapp.io.export.rasters import write_indexed_png, write_strokes_png  # noqa: E402
from segapp.io.images import load_image  # noqa: E402
from segapp.model.classes import TWO_CLASSES, ClassInfo  # noqa: E402
from segapp.model.document import Document, Stroke  # noqa: E402
from segapp.model.labelling import Labelling  # noqa: E402

OUT = ROOT / "assets" / "samples"
ASTRONAUT = """
    215,18 229,16 245,18 262,25 272,28 280,34 287,42 293,51 298,65 301,85 299,105 292,120 285,128
    278,135 268,138 264,150 260,164 256,177 266,181 278,190 290,203 299,217 304,233 320,245
    335,258 345,270 350,280 353,288 356,300 360,320 363,335 364,349 380,346 400,344 420,345
    440,352 451,358 461,366 470,377 478,388 484,400 489,412 492,424 495,437 497,454 505,457
    511,466 512,512 38,512 34,503 26,480 22,450 20,420 23,385 27,345 35,310 45,283 60,259 74,241
    90,227 105,214 112,206 113,195 116,186 123,180 130,167 143,156 160,150 175,148 186,150
    183,140 180,132 174,129 168,119 160,110 154,95 153,80 155,65 161,54 172,45 186,34 200,25
"""
SAUCER = """
    77,208 84,165 100,133 120,110 160,83 182,72 230,60 300,62 370,78 417,103 440,128 460,155
    475,190 480,215 474,255 460,295 440,327 400,360 340,383 280,390 240,386 200,372 140,335
    100,290 84,250
"""
CUP = """
    173,110 178,80 195,55 225,32 260,20 290,18 330,24 370,45 395,70 407,100 405,135 380,200
    290,230 200,200 178,150
"""
SPOON = "393,80 402,68 414,66 423,74 422,86 416,105 408,130 395,125"
BAND = 2  # pixels on either side of an outline drawn by hand

# Class, radius, and the points of each stroke.
STROKES = {
    "astronaut": (
        (0, 5, "205,45 250,50 280,75 282,110"),
        (0, 5, "200,110 225,130 250,110"),
        (0, 6, "90,290 140,330 210,300 280,330 320,300"),
        (0, 6, "60,470 200,450"),
        (0, 6, "340,400 400,480 470,420"),
        (0, 5, "150,175 190,240 280,240"),
        (1, 6, "110,20 110,130 60,190 20,130"),
        (1, 6, "340,60 330,210 380,260"),
        (1, 6, "395,120 430,40 440,180"),
        (1, 6, "420,310 490,330"),
        (1, 5, "8,300 6,460"),
        (1, 6, "490,60 490,220"),
    ),
    "coffee": (
        (0, 6, "110,200 160,270 250,345 340,350 430,260"),
        (0, 5, "205,80 280,40 370,90"),
        (0, 5, "250,150 320,160"),
        (0, 5, "230,215 300,220"),
        (0, 5, "350,290 380,260"),
        (1, 6, "30,30 130,30 60,110 30,280 70,370"),
        (1, 6, "450,40 560,110 520,220 560,330 480,380"),
        (1, 4, "95,335 130,368 175,390"),
        (1, 4, "400,388 450,352 485,300"),
    ),
    "fruit": (
        (0, 5, "75,200 105,245 160,262 212,235 205,185"),
        (0, 5, "270,230 300,290 360,310 405,270"),
        (1, 5, "262,185 300,90 335,150"),
        (2, 5, "430,195 455,182 495,195"),
        (2, 5, "510,265 560,290 580,240"),
        (3, 5, "30,60 150,40 220,60"),
        (3, 5, "400,60 480,110 570,100"),
        (3, 5, "30,140 28,260 120,320 230,330"),
        (3, 5, "300,360 430,350 560,340"),
        (3, 4, "425,330 450,305 462,275"),
        (3, 4, "150,294 215,288 236,268"),
    ),
    "cells": (
        (0, 4, "100,112 118,125"),
        (0, 4, "296,82 312,92"),
        (0, 4, "432,134 446,146"),
        (0, 4, "210,272 226,286"),
        (0, 4, "366,272 386,286"),
        (0, 4, "66,306 76,318"),
        (1, 4, "65,85 60,140 110,168"),
        (1, 4, "255,75 270,120 300,135"),
        (1, 4, "470,90 495,150"),
        (1, 4, "150,250 180,320 240,320"),
        (1, 4, "345,330 400,345 440,290"),
        (1, 4, "35,310 60,350"),
        (2, 5, "20,20 120,22 205,60 208,150"),
        (2, 5, "330,200 400,20"),
        (2, 5, "140,370 215,376 290,381"),
        (2, 5, "490,240 495,360"),
    ),
    "leaf": (
        (0, 4, "150,320 250,270 350,200 420,130"),
        (0, 4, "180,325 260,310"),
        (0, 1.5, "20,368 45,353 80,338"),
        (1, 6, "60,60 250,40 250,150 90,240"),
        (1, 6, "520,60 500,220 400,320 200,375"),
    ),
}


def points(text):
    return [tuple(float(part) for part in pair.split(",")) for pair in text.split()]


def rounded(text):
    """A closed curve through the points."""
    x, y = np.array([*points(text), points(text)[0]]).T
    spline, _ = interpolate.splprep([x, y], s=0, per=True)
    return list(zip(*interpolate.splev(np.linspace(0, 1, 600), spline), strict=True))


def drawn(text):
    """The way of a hand through the points."""
    x, y = np.array(points(text)).T
    spline, _ = interpolate.splprep([x, y], s=0, k=min(3, len(x) - 1))
    return tuple(zip(*np.round(interpolate.splev(np.linspace(0, 1, 40), spline), 2), strict=True))


def filled(shape, *outlines):
    image = Image.new("L", (shape[1] * 4, shape[0] * 4))
    for outline in outlines:
        ImageDraw.Draw(image).polygon([(4 * x, 4 * y) for x, y in outline], fill=255)
    return np.array(image.resize((shape[1], shape[0]), Image.Resampling.BOX)) >= 128


def with_band(inside):
    """Class of each pixel, 255 within the reach of an unsteady hand."""
    truth = np.where(inside, 0, 1)
    square = np.ones((2 * BAND + 1, 2 * BAND + 1))
    near = ndimage.binary_dilation(inside, square) & ~ndimage.binary_erosion(
        inside, square, border_value=1
    )
    truth[near] = 255
    return truth


def save(out, name, rgb, truth, classes=TWO_CLASSES):
    path = out / f"{name}.jpg"
    Image.fromarray(rgb).save(path, quality=88, subsampling=0, optimize=True)
    picture = load_image(path)
    document = Document(tuple(classes))
    for label, radius, text in STROKES[name]:
        document = document.with_stroke(Stroke(drawn(text), radius, label))
    truth = truth.astype(np.uint8)
    nothing = np.zeros(truth.shape)
    answer = Labelling(
        truth, nothing.astype(np.float32), nothing.astype(np.uint32), len(classes), 1
    )
    write_strokes_png(out / f"{name}-strokes.png", answer, document, picture)
    if len(classes) == 2:
        grey = np.array([255, 0] + [128] * 254, np.uint8)[truth]
        Image.fromarray(grey).save(out / f"{name}-truth.png", optimize=True)
    else:
        write_indexed_png(out / f"{name}-truth.png", answer, document, picture)


def astronaut(_):
    return skimage.data.astronaut(), with_band(filled((512, 512), points(ASTRONAUT)))


def coffee(_):
    outlines = (rounded(SAUCER), rounded(CUP), points(SPOON))
    return skimage.data.coffee(), with_band(filled((400, 600), *outlines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", metavar="NAME", nargs="*", help="samples to make (default: all)")
    parser.add_argument("--out", type=Path, default=OUT, help="where to write")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, paint, classes in (
        ("astronaut", astronaut, TWO_CLASSES),
        ("coffee", coffee, TWO_CLASSES),
        ("leaf", paint_flat.leaf, TWO_CLASSES),
        ("cells", paint_flat.cells, named(paint_flat.CELL_CLASSES)),
        ("fruit", render_fruit.render, named(render_fruit.CLASSES)),
    ):
        if name in options.names or not options.names:
            save(options.out, name, *paint(np.random.default_rng(5)), classes)


def named(classes):
    return tuple(ClassInfo(name, colour) for name, colour in classes)


if __name__ == "__main__":
    main()
