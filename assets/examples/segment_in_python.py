"""Segment an image by strokes, and another one by the learnt model.

    python assets/examples/segment_in_python.py --out .

It prints how much of each image every class has, and writes the masks and a project that the
window opens.
"""

import argparse
from pathlib import Path

import numpy as np

import segapp


def picture(seed: int, size: int) -> np.ndarray:
    """Return a greenish disc on brown ground, as an array that could come from anywhere."""
    rng = np.random.default_rng(seed)
    y, x = np.ogrid[:size, :size]
    centre = rng.uniform(0.4, 0.6, 2) * size
    inside = np.hypot(y - centre[0], x - centre[1]) < 0.25 * size
    colours = np.where(inside[..., np.newaxis], (90, 140, 60), (120, 90, 70))
    return (colours + rng.normal(0, 12, (size, size, 3))).clip(0, 255).astype(np.uint8)


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the files")
    parser.add_argument("--size", type=int, default=160, help="pixels of a side")
    arguments = parser.parse_args()
    size, out = arguments.size, arguments.out

    # All strokes at once: a label array, 0 where nothing is marked.
    image = picture(0, size)
    strokes = np.zeros((size, size), np.uint8)
    strokes[size // 2 - 4 : size // 2 + 4, size // 2 - 4 : size // 2 + 4] = 1
    strokes[: size // 20] = 2
    result = segapp.segment(image, strokes, classes=["leaf", "background"])
    print(f"segment: {result.shares['leaf']:.1%} is leaf")
    names = np.array(result.kernels)[np.argsort(-result.kernel_weights.mean(axis=0))[:2]]
    print(f"the kernels that count most: {', '.join(names)}")
    result.export(out / "leaf.json", format="coco-rle")

    # One stroke after the other, with undo: each answer takes the one before it into account.
    segmenter = segapp.Segmenter(image, classes=["leaf", "background"])
    segmenter.add_stroke([(size / 2, size / 2)], "leaf", radius=size / 20)
    segmenter.add_stroke([(5, 5), (size - 5, 5)], "background", radius=3)
    before = segmenter.result
    segmenter.add_stroke([(5, size - 5), (size - 5, size - 5)], "background", radius=3)
    changed = (segmenter.result.labels != before.labels).mean()
    print(f"the third stroke changed {changed:.1%} of the pixels")
    segmenter.undo()
    segmenter.save(out / "leaf.segapp")

    # What was learnt, on another image of its kind.
    other = segmenter.model().apply(picture(1, size))
    other.export(out / "other-mask.png")
    print(f"another image: {other.shares['leaf']:.1%} is leaf")


if __name__ == "__main__":
    main()
