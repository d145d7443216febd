"""Strokes named by explanations, removed: does the pixel change?

    python tests/benchmarks/explain.py DATA [--every 8] [--strokes 8] [--pixels 5] [--seed 0]

DATA is a folder with images, strokes and truths. The robot begins with one dab for each class and
marks the largest mistake after each answer. Random unmarked pixels are explained until strokes are
named for some. These strokes are removed, and the others are answered anew, one after the other,
by a trainer that has seen none of them; likewise without as many random strokes that are not
named. A pixel has flipped when its class has changed, and is weaker when its lead has fallen by a
tenth of all that spoke for it.
"""

import argparse
from collections import Counter

import numpy as np

from segapp.batch.cases import find_cases, load_truth
from segapp.batch.robot_user import first_dabs, robot_steps
from segapp.engine.trainer import Trainer
from segapp.imaging.rasterise import rasterize
from segapp.io.images import load_image
from segapp.model.answer import NotEnoughStrokes, final_answer
from segapp.model.classes import TWO_CLASSES
from segapp.model.document import Document
from segapp.model.settings import PRESETS

WEAKER = 0.1
"""Fall of the lead as a share of the support from which on a pixel is weaker."""

MOST_TRIED = 20
"""Pixels of a picture that are explained at the most."""


def main():
    """Print how many pixels flip or are weaker without the named and without random strokes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--every", type=int, default=8, help="take each n-th picture")
    parser.add_argument("--strokes", type=int, default=8)
    parser.add_argument("--pixels", type=int, default=5, help="of each picture")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    outcomes = {"named": Counter(), "random": Counter()}
    tried, named, falls = 0, [], []
    cases = find_cases(arguments.data)[:: arguments.every]
    for case in cases:
        picture = load_image(case.image)
        truth = load_truth(case.truth, picture.size, 2)
        answer, document = answered(picture.rgb, truth, arguments.strokes)
        count = 0
        for x, y in random_pixels(document, truth.shape, rng):
            if count == arguments.pixels:
                break
            (*_, explained), tried = answer.explain(x, y), tried + 1
            decisive = explained.decisive()
            rest = sorted(set(range(len(document.strokes))) - set(decisive))
            if not decisive or not rest:
                continue
            count += 1
            named.append(len(decisive))
            outcome, fall = without(picture.rgb, document, decisive, explained)
            outcomes["named"][outcome] += 1
            falls.append((sum(explained.stroke_shares()[index] for index in decisive), fall))
            others = rng.choice(rest, size=min(len(decisive), len(rest)), replace=False)
            outcome, _ = without(picture.rgb, document, tuple(others.tolist()), explained)
            outcomes["random"][outcome] += 1
    print("| removed | pixels | flipped | weaker | unchanged | flipped or weaker |")
    print("|---|---|---|---|---|---|")
    for name, counts in outcomes.items():
        total = sum(counts.values())
        changed = counts["flipped"] + counts["weaker"]
        cells = (counts["flipped"], counts["weaker"], counts["unchanged"])
        print(f"| {name} | {total} | {' | '.join(map(str, cells))} | {changed / total:.0%} |")
    shares, fallen = np.array(falls).T
    print(
        f"{len(cases)} pictures; strokes are named for {len(named)} of {tried} pixels, "
        f"{np.mean(named):.1f} in the mean"
    )
    print(
        f"share of the named strokes {shares.mean():.2f}, fall without them {fallen.mean():.2f} "
        f"(correlation {np.corrcoef(shares, fallen)[0, 1]:.2f})"
    )


def answered(rgb, truth, strokes):
    """Return the answer and the document after so many strokes of the robot."""
    trainer, answers = Trainer(rgb), []

    def segment(given):
        answers.append(final_answer(trainer.updates(given, PRESETS["best"])))
        return answers[-1].labelling

    start = Document(TWO_CLASSES, first_dabs(truth, 2)).as_one_state()
    *_, last = robot_steps(segment, start, truth, strokes)
    return answers[-1], last.document


def random_pixels(document, shape, rng):
    """Yield the centres of unmarked pixels in a random order, of no more than `MOST_TRIED`."""
    unmarked = np.flatnonzero(rasterize(document, shape) < 0)
    for pixel in rng.choice(unmarked, size=MOST_TRIED, replace=False):
        row, column = divmod(int(pixel), shape[1])
        yield column + 0.5, row + 0.5


def without(rgb, document, indices, explained):
    """Return the outcome and the fall of the lead without some strokes."""
    others = document.without_strokes(indices)
    try:
        answer = final_answer(Trainer(rgb).updates(others, PRESETS["best"]))
    except NotEnoughStrokes:
        return "flipped", 1.0
    x, y = explained.x, explained.y
    if answer.labelling.labels[int(y), int(x)] != explained.label:
        return "flipped", 1.0
    fall = (explained.net - next(answer.explain(x, y)).net) / explained.support
    return ("weaker" if fall >= WEAKER else "unchanged"), min(fall, 1.0)


if __name__ == "__main__":
    main()
