"""CPU seconds of peers for the same strokes, on the whole picture each time.

    python tests/benchmarks/speed_peers.py 0.2 [--only GrabCut] [--rounds 5]

None of them keeps anything between two strokes, so each stroke costs the same. A machine that is
shared is faster at one moment than at the next: small pictures are painted five times over, ours
and theirs by turns, and medians are taken of all. Prints JSON.
"""

import argparse
import json
import time

import cv2
import numpy as np
from segmentation_peers import boykov_jolly, grabcut, walker
from skimage.feature import multiscale_basic_features
from sklearn.ensemble import RandomForestClassifier
from sklearn.semi_supervised import LabelSpreading
from speed_pictures import documents, picture, truth

from segapp.engine.preparation import PreparedPicture
from segapp.engine.trainer import Trainer
from segapp.imaging.rasterise import rasterize
from segapp.model.answer import final_answer
from segapp.model.settings import PRESETS

BEST = PRESETS["best"]


def forest(rgb, marked):
    """Random forest on colour, edges and texture at several scales, as in ilastik."""
    features = multiscale_basic_features(rgb, channel_axis=-1, sigma_min=0.5, sigma_max=8)
    seen = marked >= 0
    trees = RandomForestClassifier(100, max_depth=10, random_state=0, n_jobs=1)
    trees.fit(features[seen], marked[seen])
    return trees.predict(features.reshape(-1, features.shape[-1])).reshape(marked.shape)


def spreading(table, marked):
    """Label spreading over our superpixels, whose time is not counted."""
    counts = np.stack([table.prototypes.count(marked == c) for c in (0, 1)], axis=1)
    labels = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
    found = LabelSpreading(gamma=20, max_iter=100).fit(table.features, labels)
    return found.transduction_[table.prototypes.index_map]


def peers(rgb):
    table = None if rgb.shape[0] * rgb.shape[1] > 2**20 else PreparedPicture(rgb).table(BEST)
    found = {
        "GrabCut, 5 iterations": grabcut,
        "random walker": walker,
        "Boykov-Jolly cut": boykov_jolly,
        "random forest": forest,
    }
    if table is not None:
        found["LabelSpreading, same regions"] = lambda _, marked: spreading(table, marked)
    return found


def overlap(labels, true):
    inside = labels == 0
    return float(np.count_nonzero(inside & true) / np.count_nonzero(inside | true))


def run(megapixels, later, only, rounds):
    """Time ours and theirs by turns, in one process, on the same strokes."""
    cv2.setNumThreads(1)
    rgb, true = picture(megapixels), truth(megapixels)
    others = {name: method for name, method in peers(rgb).items() if not only or only in name}
    seconds, ious = {}, {}
    for _ in range(rounds):
        paint(rgb, true, documents(megapixels, later=later), others, seconds, ious)
    return {"seconds": {k: float(np.median(v)) for k, v in seconds.items()}, "iou": ious}


def paint(rgb, true, strokes, others, seconds, ious):
    """Add the seconds of one segmentation to ``seconds``, and its IoU to ``ious``."""
    trainer = Trainer(rgb)
    for number, (place, document) in enumerate(strokes):
        start = time.process_time()
        labels = final_answer(trainer.updates(document, BEST)).labelling.labels
        if place != "first":
            seconds.setdefault("*SHL", []).append(time.process_time() - start)
        ious["*SHL"] = overlap(labels, true)
        if place == "first" or number % 4:
            continue  # theirs take long, and each time the same
        marked = rasterize(document, true.shape)
        for name, method in others.items():
            start = time.process_time()
            found = method(rgb, marked)
            seconds.setdefault(name, []).append(time.process_time() - start)
            ious[name] = overlap(np.where(marked >= 0, marked, found), true)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("megapixels", type=float)
    parser.add_argument("--strokes", type=int, default=8, help="after the first two")
    parser.add_argument("--only", default="", help="a part of a peer's name")
    parser.add_argument("--rounds", type=int, help="default: 5 below 1 MP, else 1")
    options = parser.parse_args()
    rounds = options.rounds or (5 if options.megapixels < 1 else 1)
    print(json.dumps(run(options.megapixels, options.strokes, options.only, rounds)))


if __name__ == "__main__":
    main()
