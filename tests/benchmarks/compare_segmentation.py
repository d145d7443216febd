"""*SHL and classical methods with the same robot user, on the same images.

    python tests/benchmarks/compare_segmentation.py path/to/gulshan
    python tests/benchmarks/compare_segmentation.py FOLDER --every 1 --methods "*SHL best"
    python tests/benchmarks/compare_segmentation.py FOLDER --jobs 2 --json curves.json --resume

Every method gets the images' own strokes and then 20 strokes of the robot user, who dabs the
largest mistake that this method makes. Each peer runs once as it is and once with the clean-up
of our preset `best`. All methods take about two hours of one core; ``--resume`` goes on where a
run with the same ``--json`` file ended. Needs the extra ``bench``.
"""

import argparse
import csv
import io
import json
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from segmentation_peers import PEERS

from segapp.batch.cases import find_cases, load_truth
from segapp.batch.robot_user import robot_steps, strokes_to
from segapp.engine.clean_up import clean_up
from segapp.engine.trainer import Trainer
from segapp.imaging.rasterise import rasterize
from segapp.imaging.seeds import SeedMap
from segapp.io.images import load_image
from segapp.io.masks import load_strokes
from segapp.model.answer import final_answer
from segapp.model.labelling import Labelling
from segapp.model.settings import PRESETS
from shlcore.atomic_file import write_text

BEST = PRESETS["best"]


@dataclass
class Result:
    """A method's IoU after 0, 1, ... strokes and the seconds of each update, by image."""

    curves: dict[str, list[float]]
    seconds: dict[str, list[float]]

    def among(self, names):
        """Keep some images only."""
        kept = [name for name in self.curves if name in names]
        return Result({n: self.curves[n] for n in kept}, {n: self.seconds[n] for n in kept})

    def row(self):
        """Return the figures of the report."""
        curves = np.array(list(self.curves.values()))
        mean = curves.mean(axis=0)
        # The first update prepares the picture; a user waits for the later ones. Seconds of a
        # run with several jobs say little: `speed.py` measures them.
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
        return lambda document: final_answer(trainer.updates(document, settings)).labelling

    return start


def peer(method, *, tidied):
    """Make a classical method look like ours."""

    def start(rgb):
        def segment(document):
            marked = rasterize(document, rgb.shape[:2])
            labels = np.where(marked >= 0, marked, method(rgb, marked)).astype(np.uint8)
            if tidied:
                labels = clean_up(labels, SeedMap.from_array(marked), BEST.clean_up, 1)
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


def run_case(name, case, strokes):
    """Return the IoUs and seconds of one method on one image."""
    rgb = load_image(case.image).rgb
    document = load_strokes(case.strokes, rgb.shape[:2]).document
    truth = load_truth(case.truth, rgb.shape[:2], len(document.classes))
    segment = all_methods()[name](rgb)
    steps = [(s.iou, s.seconds) for s in robot_steps(segment, document, truth, strokes)]
    ious, seconds = (list(values) for values in zip(*steps, strict=True))
    return ious + [ious[-1]] * (strokes + 1 - len(ious)), seconds


def one_core():
    """Let a worker use one core, as many workers as there are jobs."""
    cv2.setNumThreads(1)
    threadpool_limits(1)


def run_all(results, cases, strokes, jobs):
    """Fill in what the results lack, and yield after each image and method."""
    missing = [
        (name, case)
        for case in cases
        for name, result in results.items()
        if case.name not in result.curves
    ]
    with ProcessPoolExecutor(jobs, get_context("spawn"), one_core) as pool:
        waiting = {pool.submit(run_case, *cell, strokes): cell for cell in missing}
        for place, done in enumerate(as_completed(waiting)):
            name, case = waiting[done]
            results[name].curves[case.name], results[name].seconds[case.name] = done.result()
            print(f"{place + 1}/{len(missing)} {case.name} {name}", file=sys.stderr, flush=True)
            yield


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
    parser.add_argument("--jobs", type=int, default=1, help="processes, each on one core")
    parser.add_argument("--json", type=Path, help="write all curves and seconds here")
    parser.add_argument("--resume", action="store_true", help="keep what the --json file has")
    parser.add_argument("--csv", type=Path, help="write the table here")
    parser.add_argument("--plot", type=Path, help="draw IoU over strokes here, as PNG")
    options = parser.parse_args()
    if options.resume and not options.json:
        parser.error("--resume: wanted --json FILE beside it, got none")
    return options


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
    names = {case.name for case in cases}
    kept = json.loads(options.json.read_text()) if options.resume and options.json.exists() else {}
    for name, result in kept.items():
        curves = {n: c for n, c in result["curves"].items() if len(c) == options.strokes + 1}
        results.setdefault(name, Result({}, {})).curves.update(curves)
        results[name].seconds.update({n: result["seconds"][n] for n in curves})
    asked = {name: results[name] for name in chosen}
    for _ in run_all(asked, cases, options.strokes, options.jobs):
        if options.json:
            text = json.dumps({name: asdict(result) for name, result in results.items()})
            write_text(options.json, text)
    rows = {name: result.among(names).row() for name, result in asked.items()}
    print(f"{len(cases)} images, {options.strokes} strokes of the robot\n")
    print(table(rows))
    if options.csv:
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(["method", *next(iter(rows.values()))])
        writer.writerows([name, *row.values()] for name, row in rows.items())
        write_text(options.csv, text.getvalue())
    if options.plot:
        draw(options.plot, {name: result.among(names) for name, result in asked.items()})


def draw(path, results):
    """Draw the mean IoU of each method after each stroke."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for name, result in results.items():
        ours = name == "*SHL best"
        mean = np.mean(list(result.curves.values()), axis=0)
        label = "segapp" if ours else name.removesuffix(", same clean-up")
        axes.plot(mean, label=label, linewidth=3 if ours else 1.3, zorder=3 if ours else 2)
    axes.set(xlabel="strokes of the simulated user", ylabel="mean IoU", xlim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
