"""Seconds of an update after a stroke, against OpenCV's GrabCut with five iterations.

    python tests/benchmarks/update_speed.py path/to/gulshan

For each image: the picture is prepared by a first update, then the robot user adds strokes;
after each, both methods answer for the same strokes, one after the other, in one process.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from segmentation_peers import grabcut

from segapp.batch.cases import find_cases, load_truth
from segapp.batch.robot_user import robot_stroke
from segapp.files.images import load_image
from segapp.files.strokes_file import load_strokes
from segapp.learning.training import Trainer
from segapp.values.rasterize import rasterize
from segapp.values.settings import PRESETS
from segapp.values.updates import answer_of


def timed(work, *inputs):
    start = time.perf_counter()
    answer = work(*inputs)
    return answer, time.perf_counter() - start


def run_case(case, strokes):
    """Return pairs of seconds, ours and GrabCut's."""
    rgb = load_image(case.image).rgb
    document = load_strokes(case.strokes, rgb.shape[:2]).document
    truth = load_truth(case.truth, rgb.shape[:2], len(document.classes))
    trainer = Trainer(rgb)

    def segment(document):
        return answer_of(trainer.updates(document, PRESETS["best"])).labelling

    labelling = segment(document)
    pairs = []
    for _ in range(strokes):
        stroke = robot_stroke(labelling.labels, truth)
        if stroke is None:
            break
        document = document.with_stroke(stroke)
        labelling, ours = timed(segment, document)
        _, theirs = timed(grabcut, rgb, rasterize(document, rgb.shape[:2]))
        pairs.append((ours, theirs))
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="the Gulshan set, or a folder in the same layout")
    parser.add_argument("--every", type=int, default=6, help="take every Nth image")
    parser.add_argument("--strokes", type=int, default=5, help="strokes after the first update")
    options = parser.parse_args()
    cases = [case for case in find_cases(options.folder) if case.truth is not None]
    pairs = []
    for case in cases[:: options.every]:
        found = run_case(case, options.strokes)
        pairs += found
        ours, theirs = np.array(found).mean(axis=0) if found else (np.nan, np.nan)
        print(f"{case.name}: {ours:.3f} s, GrabCut {theirs:.3f} s", file=sys.stderr, flush=True)
    ours, theirs = np.array(pairs).T
    print("| | mean s | median s | largest s |\n|---|---|---|---|")
    for name, values in (("*SHL best", ours), ("GrabCut, 5 iterations", theirs)):
        print(f"| {name} | {values.mean():.3f} | {np.median(values):.3f} | {values.max():.3f} |")
    print(f"\n{theirs.mean() / ours.mean():.1f} times faster over {len(ours)} updates")


if __name__ == "__main__":
    main()
