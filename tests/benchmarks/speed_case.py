"""CPU seconds of each step, and peak memory, for one picture in its own process.

    python tests/benchmarks/speed_case.py 12 [--strokes 8] [--prototypes 600]

Prints JSON. `speed.py` runs this for each size.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from speed_pictures import documents, truth

from segapp.app.state import Content, project_of, valid_answer
from segapp.engine import refinement
from segapp.engine.trainer import Trainer
from segapp.io.export.rasters import write_binary_png
from segapp.io.images import load_image
from segapp.model.answer import final_answer
from segapp.model.classes import PALETTE, ClassInfo
from segapp.model.document import Document
from segapp.model.settings import PRESETS

refinement.time = SimpleNamespace(perf_counter=time.process_time)  # a busy machine stops no clock


SLIDERS = (
    *({"threshold": value} for value in (0.1, 0.2, -0.2)),
    *({"clean_up": {"smoothing": value}} for value in (1, 2, 4)),
    *({"clean_up": {"smallest_area": value}} for value in (50, 500)),
)
PICTURES = Path(__file__).with_name("speed_pictures.py")


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def timed(seconds, name):
    start = time.process_time()
    yield
    seconds.setdefault(name, []).append(time.process_time() - start)


def with_classes(document, count):
    """Deal the background's strokes out to more classes."""
    classes = tuple(ClassInfo(f"class {k}", PALETTE[k % len(PALETTE)]) for k in range(count))
    labels = [0 if m.label == 0 else 1 + k % (count - 1) for k, m in enumerate(document.strokes)]
    strokes = tuple(replace(m, label=k) for m, k in zip(document.strokes, labels, strict=True))
    return Document(classes, strokes)


def run(megapixels, settings, *, strokes, classes, folder):
    """Return what each step took, and how good the last answer is."""
    path = Path(folder) / "picture.png"
    # Made by another process, so that the making does not count for the peak of memory.
    subprocess.run([sys.executable, str(PICTURES), str(megapixels), str(path)], check=True)
    seconds, steps = {}, {}
    with timed(seconds, "open"):
        loaded = load_image(path)
    before = peak_bytes()
    with timed(seconds, "prepare"):
        trainer = Trainer(loaded.rgb)
        trainer.prepare(settings)
    for place, document in documents(megapixels, later=strokes):
        marked = with_classes(document, classes) if classes > 2 else document
        start, looks = time.process_time(), []

        def look(report, start=start, looks=looks):
            if report.preview is not None:
                looks.append(time.process_time() - start)

        with timed(seconds, place):
            answer = final_answer(trainer.updates(marked, settings), look)
        if place != "first" and looks:
            seconds.setdefault("look", []).append(looks[0])
        if place != "first" and answer.insight is not None:
            for name, took in answer.insight.seconds.items():
                steps.setdefault(name, []).append(took)
    content = Content(marked, settings)
    labels = project_of(path, loaded.sha256, content, answer).labels
    with timed(seconds, "return"):
        assert valid_answer(loaded, content, labels, None, lambda: answer) is not None
    for change in SLIDERS:
        clean_up = replace(settings.clean_up, **change.get("clean_up", {}))
        moved = replace(settings, threshold=change.get("threshold", 0.0), clean_up=clean_up)
        with timed(seconds, "slider"):
            final_answer(trainer.updates(marked, moved))
    with timed(seconds, "export"):
        write_binary_png(Path(folder) / "mask.png", answer.labelling, marked, loaded)
    peak = peak_bytes()
    inside, true = answer.labelling.labels == 0, truth(megapixels)
    height, width = true.shape
    return {
        "megapixels": height * width / 1e6,
        "seconds": seconds,
        "steps": {name: float(np.median(took)) for name, took in steps.items()},
        "peak_gigabytes": peak / 1e9,
        "opened_gigabytes": before / 1e9,
        "iou": np.count_nonzero(inside & true) / np.count_nonzero(inside | true),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("megapixels", type=float)
    parser.add_argument("--strokes", type=int, default=8, help="after the first two")
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--prototypes", type=int)
    parser.add_argument("--bits", type=int)
    options = parser.parse_args()
    wishes = {"prototypes": options.prototypes, "bits": options.bits}
    settings = replace(PRESETS["best"], **{k: v for k, v in wishes.items() if v is not None})
    with tempfile.TemporaryDirectory() as folder:
        found = run(
            options.megapixels,
            settings,
            strokes=options.strokes,
            classes=options.classes,
            folder=folder,
        )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
