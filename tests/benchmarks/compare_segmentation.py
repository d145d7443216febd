"""Ours and the classical methods with the same robot user, on the same images, in one run.

    python tests/benchmarks/compare_segmentation.py ../shared/data/gulshan
    python tests/benchmarks/compare_segmentation.py FOLDER --every 1 --methods "*SHL best"

Every method gets the images' own strokes and then 20 strokes of the robot user, who dabs the
largest mistake that this method makes. Each peer runs once as it is and once with the clean-up
of our preset `best`. Needs the extra ``bench``.
"""

import argparse
import csv
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from segmentation_peers import PEERS

from segapp.cleanup import clean_up, pinned
from segapp.datasets import find_cases, load_truth
from segapp.images import load_image
from segapp.labelling import Labelling
from segapp.rasterize import rasterize
from segapp.robot_user import robot_steps, strokes_to
from segapp.settings import PRESETS
from segapp.strokes_file import load_strokes
from segapp.training import Trainer

BEST = PRESETS["best"]


@dataclass
class Result:
    """A method's IoU after 0, 1, ... strokes and the seconds of each update, by image."""

    curves: dict[str, list[float]]
    seconds: dict[str, list[float]]

    def row(self):
        """Return the figures of the report."""
        curves = np.array(list(self.curves.values()))
        mean = curves.mean(axis=0)
        # The first update prepares the picture; a user waits for the later ones.
        later = [s for times in self.seconds.values() for s in times[1:] or times]
        return {
            "start": mean[0],
            "after_5": mean[min(5, len(mean) - 1)],
            "after_10": mean[min(10, len(mean) - 1)],
            "after_20": mean[-1],
            "auc": mean.mean(),
            **{
                f"strokes_to_{level}": np.mean([strokes_to(c, level / 100) for c in curves])
                for level in (85, 90, 95)
            },
            "seconds": np.mean(later),
        }


def ours(settings):
    """Return a maker of segmenters: picture -> document -> labelling."""

    def start(rgb):
        trainer = Trainer(rgb)
        return lambda document: trainer.labelling(document, settings)

    return start


def peer(method, *, tidied):
    """Make a classical method look like ours."""

    def start(rgb):
        def segment(document):
            marked = rasterize(document, rgb.shape[:2])
            labels = pinned(method(rgb, marked).astype(np.uint8), marked)
            if tidied:
                labels = clean_up(labels, marked, BEST.clean_up, 1)
            nothing = np.zeros(labels.shape)
            return Labelling(labels, nothing.astype(np.float32), nothing.astype(np.uint32), 2, 1)

        return segment

    return start


def all_methods():
    """Name the methods in the order of the table."""
    methods = {
        "*SHL best": ours(BEST),
        "*SHL best, inductive": ours(replace(BEST, transductive=False)),
        "*SHL paper": ours(PRESETS["paper"]),
    }
    for name, method in PEERS.items():
        methods[name] = peer(method, tidied=False)
        methods[f"{name}, same clean-up"] = peer(method, tidied=True)
    return methods


def run_case(start, case, strokes):
    """Return the IoUs and seconds of one image."""
    rgb = load_image(case.image).rgb
    document = load_strokes(case.strokes, rgb.shape[:2])
    truth = load_truth(case.truth, rgb.shape[:2], len(document.classes))
    steps = [(s.iou, s.seconds) for s in robot_steps(start(rgb), document, truth, strokes)]
    ious, seconds = (list(values) for values in zip(*steps, strict=True))
    return ious + [ious[-1]] * (strokes + 1 - len(ious)), seconds


def table(rows):
    """Return the figures as Markdown."""
    lines = [
        "| method | IoU start / 5 / 10 / 20 | AUC | NoS85 / 90 / 95 | s/update |",
        "|---|---|---|---|---|",
    ]
    for name, r in rows.items():
        ious = " / ".join(f"{r[k]:.3f}" for k in ("start", "after_5", "after_10", "after_20"))
        counts = " / ".join(f"{r[f'strokes_to_{level}']:.2f}" for level in (85, 90, 95))
        lines.append(f"| {name} | {ious} | {r['auc']:.4f} | {counts} | {r['seconds']:.3f} |")
    return "\n".join(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="the Gulshan set, or a folder in the same layout")
    parser.add_argument("--every", type=int, default=6, help="take every Nth image")
    parser.add_argument("--offset", type=int, default=0, help="index of the first image taken")
    parser.add_argument("--strokes", type=int, default=20, help="strokes of the robot")
    parser.add_argument("--methods", nargs="*", help="names of methods, all by default")
    parser.add_argument("--json", type=Path, help="write all curves and figures here")
    parser.add_argument("--csv", type=Path, help="write the table here")
    return parser.parse_args()


def main():
    options = arguments()
    cases = [case for case in find_cases(options.folder) if case.truth is not None]
    cases = cases[options.offset :: options.every]
    known = all_methods()
    chosen = options.methods or list(known)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        sys.exit(f"--methods: wanted some of {', '.join(known)}; got {unknown[0]}")
    results = {name: Result({}, {}) for name in chosen}
    for place, case in enumerate(cases):
        for name, result in results.items():
            result.curves[case.name], result.seconds[case.name] = run_case(
                known[name], case, options.strokes
            )
        print(f"{place + 1}/{len(cases)} {case.name}", file=sys.stderr, flush=True)
    rows = {name: result.row() for name, result in results.items()}
    print(f"{len(cases)} images, {options.strokes} strokes of the robot\n")
    print(table(rows))
    if options.json:
        curves = {name: result.curves for name, result in results.items()}
        options.json.write_text(json.dumps({"figures": rows, "curves": curves}, indent=1))
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["method", *next(iter(rows.values()))])
            writer.writerows([name, *row.values()] for name, row in rows.items())


if __name__ == "__main__":
    main()
