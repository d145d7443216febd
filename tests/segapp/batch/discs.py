"""Cases of a bright disc, and runs of them with a fake learner."""

import numpy as np
from PIL import Image

from segapp.batch.cases import find_cases
from segapp.batch.execution import run_tasks
from segapp.batch.task import Task
from segapp.model.settings import SettingsChoice
from tests.segapp.fake_segmenter import NearestColour

SIZE = (48, 64)


def make_case(folder, name, corner=(20, 90, 200), truth=True):
    """A bright disc on a dark ground with noise, so that nearest colours make mistakes."""
    rng = np.random.default_rng(len(name))
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    disc = (y - 24) ** 2 + (x - 32) ** 2 <= 15**2
    rgb = np.where(disc[..., np.newaxis], (200, 180, 60), corner)
    rgb = rgb + rng.normal(0, 70, (*SIZE, 3))
    rgb[0, 0] = corner
    Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8)).save(folder / f"{name}.png")
    strokes = np.zeros(SIZE, np.uint8)
    strokes[22:26, 30:34], strokes[3:6, 3:20] = 1, 2
    Image.fromarray(strokes).save(folder / f"{name}-strokes.png")
    if truth:
        values = np.where(disc, 255, 0).astype(np.uint8)
        Image.fromarray(values).save(folder / f"{name}-truth.png")
    return disc


def tasks(folder, out, **options):
    return [Task(case, out, SettingsChoice(), **options) for case in find_cases(folder)]


def run(folder, out, jobs=1, learner=NearestColour, **options):
    results = list(run_tasks(tasks(folder, out, **options), learner, jobs))
    return sorted(results, key=lambda outcome: outcome.name)


def masks(out):
    return {path.name: path.read_bytes() for path in sorted((out / "masks").iterdir())}
