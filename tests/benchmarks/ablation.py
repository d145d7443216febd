"""Each part of the engine left out, on the images for tuning.

    python tests/benchmarks/ablation.py path/to/gulshan
    python tests/benchmarks/ablation.py path/to/gulshan --every 2 --robot 10 --start object dabs

The images for tuning are those of the Gulshan set that are not of PASCAL VOC. Each variant is the
preset `best` without one part, or with one part alone; all get the same simulated user. Five rows
differ from `best` in the number of superpixels alone, by one or two in a hundred: their spread is
chance.
"""

import argparse
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from segapp.batch.cases import find_cases, load_truth
from segapp.batch.robot_user import EXACT, Start, begin, dips, robot_steps, strokes_to
from segapp.engine import prior, region_graph, state_update
from segapp.engine.region_belief import RegionBelief
from segapp.engine.region_classifier import RegionScores
from segapp.engine.trainer import Trainer
from segapp.io.images import load_image
from segapp.io.masks import load_strokes
from segapp.model.answer import final_answer
from segapp.model.settings import PRESETS, FeatureGroup
from shlcore.parallel import limit_threads

BEST = PRESETS["best"]
VOC = re.compile(r"20\d\d_\d+")


def without(*groups):
    """Leave out groups of features."""
    return replace(BEST, features=tuple(g for g in BEST.features if g not in groups))


def ridge_alone():
    """Replace the learner's costs by none: those of the ridge over descriptors remain."""

    def of(model, projections, labels):
        scores = made(model, projections, labels)
        return replace(scores, costs=np.zeros_like(scores.costs))

    made = RegionScores.of
    return mock.patch.object(RegionScores, "of", of)


def learner_alone():
    """Leave out the costs of the ridge; its kernels remain."""
    return mock.patch.object(state_update, "descriptor_weight", return_value=0.0)


def full_weight_of_the_border():
    """Hold an answer that rests on the border as strongly as any other."""
    return mock.patch.object(prior, "_ASSUMED_WEIGHT", 1.0)


def forgotten_border():
    """Forget an answer that rests on the border with the first background stroke."""
    return mock.patch.object(prior, "_ASSUMED_WEIGHT", 0.0)


def free_background_stroke():
    """Let the first background stroke change regions to any class."""

    def kept(update, painted):
        made = of_update(update, painted)
        return np.zeros_like(made)

    of_update = state_update.StateUpdate._kept
    return mock.patch.object(state_update.StateUpdate, "_kept", kept)


def paths_without_contrast():
    """Let paths cost nothing for the edges that they cross."""
    return mock.patch.object(region_graph, "_CONTRAST_COST", 0.0)


def paths_without_descriptors():
    """Let paths change with colours alone."""
    return mock.patch.object(RegionBelief, "mixed_with", lambda _, probabilities: probabilities)


def alone(*groups):
    """Take some groups of features alone."""
    return replace(BEST, features=groups)


VARIANTS = {
    "best": (BEST, None),
    **{
        f"{count} superpixels": (replace(BEST, prototypes=count), None)
        for count in (1170, 1180, 1190, 1210, 1220)
    },
    "without descriptors": (without(FeatureGroup.DESCRIPTORS), None),
    "without the descriptors' costs": (BEST, learner_alone),
    "ridge over descriptors in place of *SHL": (BEST, ridge_alone),
    "texture and position alone": (alone(FeatureGroup.TEXTURE, FeatureGroup.POSITION), None),
    "likelihood alone": (alone(FeatureGroup.LIKELIHOOD), None),
    "nearness alone": (alone(FeatureGroup.NEARNESS), None),
    "descriptors alone": (alone(FeatureGroup.DESCRIPTORS), None),
    "without texture": (without(FeatureGroup.TEXTURE), None),
    "without position": (without(FeatureGroup.POSITION), None),
    "without likelihood": (without(FeatureGroup.LIKELIHOOD), None),
    "without nearness": (without(FeatureGroup.NEARNESS), None),
    "without unmarked pixels": (replace(BEST, transductive=False), None),
    "without the previous answer": (replace(BEST, locality=0.0), None),
    "paths without contrast": (BEST, paths_without_contrast),
    "paths without descriptors": (BEST, paths_without_descriptors),
    "first background stroke changes all": (BEST, free_background_stroke),
    "border held at full weight": (BEST, full_weight_of_the_border),
    "border forgotten": (BEST, forgotten_border),
    "without colours in the cut": (replace(BEST, colour_likelihood=0.0), None),
    "one bit": (replace(BEST, bits=1), None),
}


def curve(job):
    """Return the IoU after each stroke of one image and variant."""
    case, name, start, strokes = job
    limit_threads(1)
    settings, patch = VARIANTS[name]
    rgb = load_image(case.image).rgb
    truth = load_truth(case.truth, rgb.shape[:2], 2)
    document = load_strokes(case.strokes, rgb.shape[:2]).document
    trainer = Trainer(rgb)
    document, planned = begin(start, document, truth, EXACT)

    def segment(document):
        return final_answer(trainer.updates(document, settings)).labelling

    with patch() if patch else mock.patch.dict({}):
        steps = robot_steps(segment, document, truth, strokes, EXACT, planned)
        ious = [step.iou for step in steps]
    return ious + ious[-1:] * (strokes + 1 - len(ious))


def row(name, curves):
    """Return a line of the table."""
    mean = curves.mean(axis=0)
    first = 100 * np.mean([bool(dips(ious[:2])) for ious in curves])
    figures = (
        f"{mean[0]:.3f} / {mean[1]:.3f} / {mean[min(5, len(mean) - 1)]:.3f}",
        f"{curves.mean():.4f}",
        f"{np.mean([strokes_to(ious, 0.9) for ious in curves]):.2f}",
        f"{np.mean([len(dips(ious)) for ious in curves]):.2f}",
        f"{first:.0f} %",
    )
    return f"| {name} | {' | '.join(figures)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="the Gulshan set, or a folder in the same layout")
    parser.add_argument("--every", type=int, default=1, help="take every Nth image")
    parser.add_argument("--robot", type=int, default=20, help="strokes of the simulated user")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--start", nargs="+", type=Start, default=[Start.STROKES, Start.DABS, Start.OBJECT]
    )
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    options = parser.parse_args()
    cases = [c for c in find_cases(options.folder) if c.truth and not VOC.search(c.name)]
    cases = cases[:: options.every]
    with ProcessPoolExecutor(options.jobs) as pool:
        for start in options.start:
            print(f"\nBegun with: {start.value}; {len(cases)} images\n")
            print("| variant | IoU after 0 / 1 / 5 | AUC | strokes to 90 % | dips | 1st costs |")
            print("|---|---|---|---|---|---|")
            for name in options.variants:
                jobs = [(case, name, start, options.robot) for case in cases]
                print(row(name, np.array(list(pool.map(curve, jobs)))), flush=True)


if __name__ == "__main__":
    main()
