"""The object under the pointer before any stroke: its IoU and the time that it takes.

    python tests/benchmarks/hover.py DATA [--points 500] [--encoder NAME] [--sizes 0.2,1,4,12]

DATA is a folder with images and truths. Random pixels of the true objects are pointed at, as many
in each picture; the object is proposed at each of the wheel's sizes. Besides, a dab of 6 pixels at
the point is given to the learner's live preview. The times are those of one proposal and of its
contour as lines, on a picture of DATA enlarged to each size in megapixels.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np
from PIL import Image

from segapp.app.segmenter import Segmenter
from segapp.app.state import Content
from segapp.batch.cases import find_cases, load_truth
from segapp.batch.robot_user import iou
from segapp.io.images import load_image
from segapp.model.answer import DEFAULT_PROPOSAL, PROPOSAL_SIZES
from segapp.model.document import Document, Stroke
from segapp.qt.canvas.layers import scaled_boundary_lines


@dataclass(frozen=True)
class Point:
    """The IoU at each size, and that of the learner's preview."""

    proposed: list[float]
    learnt: float


def main():
    """Print a table of the IoU, and one of the times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--every", type=int, default=1, help="take each n-th picture")
    parser.add_argument("--encoder", default=None)
    parser.add_argument("--sizes", default="0.2,1,4,12", help="megapixels of the times")
    parser.add_argument("--repeats", type=int, default=40)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    cases = find_cases(arguments.data)[:: arguments.every]
    shares = np.full(len(cases), arguments.points // len(cases))
    shares[: arguments.points % len(cases)] += 1
    points = []
    for case, count in zip(cases, shares.tolist(), strict=True):
        if count:
            points += measured(case, count, arguments.encoder, rng)
    proposed = np.array([point.proposed for point in points])
    columns = " | ".join(f"{share:.0%}" for share in PROPOSAL_SIZES)
    print(f"| encoder | points | {columns} | best size | learner, a dab |")
    print("|---|---|" + "---|" * (len(PROPOSAL_SIZES) + 2))
    means = [*proposed.mean(axis=0), proposed.max(axis=1).mean()]
    means.append(np.mean([point.learnt for point in points]))
    cells = " | ".join(f"{value:.3f}" for value in means)
    print(f"| {arguments.encoder or 'none'} | {len(points)} | {cells} |")
    print("\n| megapixels | median, ms | 95 % | contour, 95 % |\n|---|---|---|---|")
    for megapixels in map(float, arguments.sizes.split(",")):
        times, lines = timed(cases[0], megapixels, arguments.repeats, rng)
        cells = (np.median(times), np.percentile(times, 95), np.percentile(lines, 95))
        print(f"| {megapixels:g} | {' | '.join(f'{1000 * each:.0f}' for each in cells)} |")


def measured(case, count, encoder, rng):
    """Return the points of one picture."""
    picture = load_image(case.image)
    truth = load_truth(case.truth, picture.size, 2)
    segmenter = Segmenter(picture, encoder=encoder)
    points = []
    inside = np.argwhere(truth == 0)
    for row, column in rng.choice(inside, size=count):
        x, y = column + 0.5, row + 0.5
        ious = []
        for size in range(len(PROPOSAL_SIZES)):
            mask = segmenter.propose_object(x, y, size)
            ious.append(iou(np.where(mask, 0, 1), truth))
        document = Document(strokes=(Stroke(((x, y),), 6.0, 0),))
        *_, last = segmenter.live_preview(Content(document, segmenter.settings))
        points.append(Point(ious, iou(last.preview.labelling.labels, truth)))
    return points


def timed(case, megapixels, repeats, rng):
    """Return the seconds of proposals at random points, and those of their contours."""
    with Image.open(case.image) as image:
        scale = (1e6 * megapixels / (image.width * image.height)) ** 0.5
        size = round(scale * image.width), round(scale * image.height)
        segmenter = Segmenter(np.array(image.convert("RGB").resize(size)))
    segmenter.prepare()
    times, lines = [], []
    for attempt in range(repeats + 1):
        x, y = rng.uniform(0, size[0]), rng.uniform(0, size[1])
        start = time.perf_counter()
        (proposal,) = segmenter.proposals(x, y, DEFAULT_PROPOSAL)
        middle = time.perf_counter()
        scaled_boundary_lines(proposal.mask, proposal.times)
        if attempt:  # the first one prepares for all
            times.append(middle - start)
            lines.append(time.perf_counter() - middle)
    return times, lines


if __name__ == "__main__":
    main()
