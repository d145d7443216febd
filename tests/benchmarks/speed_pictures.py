"""Pictures of any size with truth and strokes: enlarged samples with added grain."""

import sys
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

from segapp.model.document import Document, Stroke

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"
GRAIN = 6  # levels of noise at full size, so that no two neighbours are equal
RADIUS = 0.012  # of the brush, as a part of the longer side
_STRIP = 256


def size_of(megapixels, name="coffee"):
    with Image.open(SAMPLES / f"{name}.jpg") as image:
        width, height = image.size
    factor = (megapixels * 1e6 / (width * height)) ** 0.5
    return round(height * factor), round(width * factor)


def picture(megapixels, name="coffee"):
    """Return RGB of about so many megapixels."""
    height, width = size_of(megapixels, name)
    with Image.open(SAMPLES / f"{name}.jpg") as image:
        rgb = np.array(image.convert("RGB").resize((width, height), Image.Resampling.BICUBIC))
    rng = np.random.default_rng(0)
    for top in range(0, height, _STRIP):
        part = rgb[top : top + _STRIP]
        grain = rng.integers(-GRAIN, GRAIN + 1, part.shape, dtype=np.int16)
        part[:] = np.clip(part + grain, 0, 255)
    return rgb


def truth(megapixels, name="coffee"):
    """Return where the object is."""
    height, width = size_of(megapixels, name)
    with Image.open(SAMPLES / f"{name}-truth.png") as image:
        mask = Image.fromarray(np.asarray(image.convert("L")))
        return np.asarray(mask.resize((width, height), Image.Resampling.BILINEAR)) > 127


def strokes(megapixels, name="coffee", later=8):
    """Yield the first two strokes, and then later ones, each with where it falls.

    Later strokes go by turns near the object's outline and far from it: "near" or "far".
    """
    height, width = size_of(megapixels, name)
    with Image.open(SAMPLES / f"{name}-truth.png") as image:
        inside = np.asarray(image.convert("L")) > 127
    depth = ndimage.distance_transform_edt(inside)
    away = ndimage.distance_transform_edt(~inside)
    rng = np.random.default_rng(1)
    places = {
        "object": np.argwhere(depth > 0.5 * depth.max()),
        "near": np.argwhere((depth > 6) & (depth < 20)),
        "beside": np.argwhere((away > 8) & (away < 20)),
        "far": np.argwhere(away > 0.5 * away.max()),
    }
    scale = height / inside.shape[0]

    def stroke(place, label):
        y, x = rng.choice(places[place]) * scale
        end = (x + rng.uniform(-0.02, 0.02) * width, y + rng.uniform(-0.02, 0.02) * height)
        return Stroke(((float(x), float(y)), end), RADIUS * max(height, width), label)

    yield "first", stroke("object", 0)
    yield "first", stroke("far", 1)
    for number in range(later):
        place, label = (("near", 0), ("far", 1), ("beside", 1), ("far", 1))[number % 4]
        yield ("far" if place == "far" else "near"), stroke(place, label)


def documents(megapixels, name="coffee", later=8):
    """Yield what is marked first, and then what each later stroke makes of it.

    Each comes with where its stroke fell, "near" or "far".
    """
    marks = strokes(megapixels, name, later)
    document = Document().with_stroke(next(marks)[1])
    for place, stroke in marks:
        document = document.with_stroke(stroke)
        yield place, document


if __name__ == "__main__":
    Image.fromarray(picture(float(sys.argv[1]))).save(sys.argv[2], compress_level=1)
