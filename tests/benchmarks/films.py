"""Masks through films from strokes on one frame, against three simpler ways.

    python tests/benchmarks/films.py FOLDER [--width 427] [--films dog goat] [--only ours]

FOLDER holds a folder for each film, with ``images`` and ``masks`` (0 and 255) in it.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from PIL import Image
from skimage.registration import optical_flow_ilk
from skimage.transform import warp

from segapp.app.segmenter import Segmenter
from segapp.app.stack import Stack
from segapp.batch.film_robot import BEGIN_LEVEL, END_LEVEL, MOST_STROKES, film_steps
from segapp.batch.robot_user import first_dabs, iou, robot_stroke
from segapp.model.document import Document
from shlcore.parallel import limit_threads


def load_film(folder: Path, width: int):
    """Return frames and truths (0 for the object, 1 for the rest), scaled to a width."""
    frames, truths = [], []
    for path in sorted((folder / "images").iterdir()):
        image = Image.open(path).convert("RGB")
        size = (width, round(image.height * width / image.width)) if width else image.size
        frames.append(np.asarray(image.resize(size, Image.Resampling.BOX)))
        mask = Image.open(folder / "masks" / f"{path.stem}.png").convert("L")
        inside = np.asarray(mask.resize(size, Image.Resampling.BOX)) > 127
        truths.append(np.where(inside, 0, 1).astype(np.int16))
    return np.stack(frames), truths


def mark_until(segmenter: Segmenter, truth, level: float) -> int:
    """Let the robot mark a picture until a level; return the number of strokes."""
    strokes = 0
    if not segmenter.document.initial and not segmenter.document.strokes:
        dabs = first_dabs(truth, 2)
        segmenter.edit("dabs", Document(strokes=dabs).as_one_state())
        strokes = len(dabs)
    for count in range(MOST_STROKES):
        labels = segmenter.answer().labelling.labels
        if iou(labels, truth) >= level:
            return strokes + count
        segmenter.add_mark(robot_stroke(labels, truth))
    return strokes + MOST_STROKES


def ours(frames, truths) -> dict:
    """Propagate, then correct the worst frame until all have the level."""
    start = time.perf_counter()
    steps = film_steps(Stack(frames), truths)
    first = next(steps)
    seconds = time.perf_counter() - start
    last = first
    for last in steps:
        print(f"    {last.strokes} strokes, worst {min(last.ious):.3f}", flush=True)
    return {
        "uncorrected": float(np.mean(first.ious)),
        "last": first.ious[-1],
        "first": first.strokes,
        "strokes": last.strokes,
        "worst": min(last.ious),
        "seconds": seconds / len(frames),
        "ious": [round(value, 3) for value in first.ious],
    }


def begun(frames, truths) -> tuple[Segmenter, int]:
    """Return the first frame, marked as ours is."""
    segmenter = Segmenter(frames[0])
    return segmenter, mark_until(segmenter, truths[0], BEGIN_LEVEL)


def carry_over(frames, truths) -> dict:
    """Apply the model of the first frame to each other one, then correct each."""
    segmenter, strokes = begun(frames, truths)
    model = segmenter.model()
    values = [iou(segmenter.answer().labelling.labels, truths[0])]
    for frame, truth in zip(frames[1:], truths[1:], strict=True):
        values.append(iou(model.apply(frame).labelling.labels, truth))
    return {"uncorrected": float(np.mean(values)), "last": values[-1], "first": strokes}


def each_frame(frames, truths) -> dict:
    """Mark each frame anew until it has the level."""
    strokes = [
        mark_until(Segmenter(frame), truth, END_LEVEL)
        for frame, truth in zip(frames, truths, strict=True)
    ]
    return {"strokes": sum(strokes)}


def flow(frames, truths) -> dict:
    """Move the first frame's mask from frame to frame by optical flow."""
    segmenter, strokes = begun(frames, truths)
    mask = (segmenter.answer().labelling.labels == 0).astype(np.float32)
    values = [iou((mask < 0.5).astype(int), truths[0])]
    grey = [frame.mean(axis=2) / 255 for frame in frames]
    rows, columns = np.indices(mask.shape, dtype=np.float32)
    for before, after, truth in zip(grey, grey[1:], truths[1:], strict=False):
        down, right = optical_flow_ilk(after, before)
        mask = warp(mask, np.stack((rows + down, columns + right)), mode="edge")
        values.append(iou((mask < 0.5).astype(int), truth))
    return {"uncorrected": float(np.mean(values)), "last": values[-1], "first": strokes}


WAYS = {"ours": ours, "carry over": carry_over, "each frame": each_frame, "flow": flow}


def main() -> None:
    """Print a row for each film and way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--width", type=int, default=427, help="0 leaves the frames as they are")
    parser.add_argument("--films", nargs="+")
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results: dict[str, dict] = {}
    names = arguments.films or sorted(p.name for p in arguments.folder.iterdir() if p.is_dir())
    with limit_threads(1):
        for name in names:
            frames, truths = load_film(arguments.folder / name, arguments.width)
            results[name] = {}
            for way in arguments.only:
                results[name][way] = row = WAYS[way](frames, truths)
                shown = {k: round(v, 3) for k, v in row.items() if k != "ious"}
                print(f"{name:<16}{way:<12}{shown}", flush=True)
                if arguments.json:
                    arguments.json.write_text(json.dumps(results, indent=1))
    for way in arguments.only:
        rows = [result[way] for result in results.values()]
        means = {k: np.mean([row[k] for row in rows]).round(3) for k in rows[0] if k != "ious"}
        print(f"{'mean':<16}{way:<12}{means}")


if __name__ == "__main__":
    main()
