"""Strokes named by explanations, removed: does the pixel change?

    python tests/benchmarks/explain.py DATA [--every 8] [--strokes 8] [--pixels 5] [--seed 0]

DATA is a folder with images, strokes and truths. The robot begins with one dab for each class and
marks the largest mistake after each answer. Random unmarked pixels are explained; the strokes that
an explanation names as decisive are removed, the answer is computed anew from the others in their
order, and so it is without as many random strokes that it does not name. A pixel has flipped when
its class has changed, and is weaker when its lead has fallen by a tenth of all that spoke for it.
"""

import argparse
from collections import Counter
from dataclasses import replace

import numpy as np

from segapp.batch.cases import find_cases, load_truth
from segapp.batch.robot_user import first_dabs, robot_steps
from segapp.engine.trainer import Trainer
from segapp.imaging.rasterise import rasterize
from segapp.io.images import load_image
from segapp.model.answer import NotEnoughStrokes, final_answer
from segapp.model.classes import TWO_CLASSES
from segapp.model.document import Document
from segapp.model.explanation import Source
from segapp.model.settings import PRESETS

WEAKER = 0.1
"""Fall of the lead as a share of the support from which on a pixel is weaker."""


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
    named, falls = [], []
    cases = find_cases(arguments.data)[:: arguments.every]
    for case in cases:
        picture = load_image(case.image)
        truth = load_truth(case.truth, picture.size, 2)
        for explained, others in explained_pixels(picture.rgb, truth, arguments, rng):
            decisive = explained.decisive()
            named.append(len(decisive))
            rest = [index for index in range(others.n) if index not in decisive]
            if not decisive or not rest:
                outcomes["named"]["unchanged"] += 1
                continue
            share = sum(explained.stroke_shares()[index] for index in decisive)
            outcome, fall = others.without(decisive, explained)
            outcomes["named"][outcome] += 1
            falls.append((share, fall))
            count = min(len(decisive), len(rest))
            chosen = rng.choice(rest, size=count, replace=False)
            outcomes["random"][others.without(tuple(chosen), explained)[0]] += 1
    print("| removed | pixels | flipped | weaker | unchanged | flipped or weaker |")
    print("|---|---|---|---|---|---|")
    for name, counts in outcomes.items():
        total = sum(counts.values())
        changed = counts["flipped"] + counts["weaker"]
        cells = (counts["flipped"], counts["weaker"], counts["unchanged"])
        print(f"| {name} | {total} | {' | '.join(map(str, cells))} | {changed / total:.0%} |")
    shares, fallen = np.array(falls).T
    print(f"{len(cases)} pictures, {np.mean(named):.1f} strokes named in the mean")
    print(
        f"share of the named strokes {shares.mean():.2f}, fall without them {fallen.mean():.2f} "
        f"(correlation {np.corrcoef(shares, fallen)[0, 1]:.2f})"
    )


class Strokes:
    """The strokes of one picture, any of which may be left out."""

    def __init__(self, rgb, document):
        self._trainer, self._document, self.n = Trainer(rgb), document, len(document.strokes)

    def without(self, indices, explained):
        """Return the outcome and the fall of the lead without some strokes."""
        kept = [s for index, s in enumerate(self._document.strokes) if index not in set(indices)]
        document = replace(self._document, strokes=(replace(kept[0], joined=False), *kept[1:]))
        try:
            answer = final_answer(self._trainer.updates(document, PRESETS["best"]))
        except NotEnoughStrokes:
            return "flipped", 1.0
        x, y = explained.x, explained.y
        if answer.labelling.labels[int(y), int(x)] != explained.label:
            return "flipped", 1.0
        fall = (raw_lead(explained) - raw_lead(answer.explain(x, y))) / explained.support
        return ("weaker" if fall >= WEAKER else "unchanged"), min(fall, 1.0)


def raw_lead(explained):
    """Return the lead, below 0 where neighbours hold the class."""
    outline = [part.value for part in explained.contributions if part.source is Source.OUTLINE]
    return explained.lead - sum(outline)


def explained_pixels(rgb, truth, arguments, rng):
    """Yield the explanations of random unmarked pixels, and the picture's strokes."""
    trainer = Trainer(rgb)
    *_, last = robot_steps(
        lambda given: final_answer(trainer.updates(given, PRESETS["best"])).labelling,
        Document(TWO_CLASSES, first_dabs(truth, 2)).as_one_state(),
        truth,
        arguments.strokes,
    )
    answer = final_answer(trainer.updates(last.document, PRESETS["best"]))
    unmarked = np.flatnonzero(rasterize(last.document, truth.shape) < 0)
    strokes = Strokes(rgb, last.document)
    for pixel in rng.choice(unmarked, size=arguments.pixels, replace=False):
        row, column = divmod(int(pixel), truth.shape[1])
        yield answer.explain(column + 0.5, row + 0.5), strokes


if __name__ == "__main__":
    main()
