"""A learner so simple that its answers can be foretold: the nearest mean colour wins."""

import os
import signal
import time

import numpy as np

from segapp.imaging.rasterise import rasterize
from segapp.model.answer import Answer, NotEnoughStrokes, Report
from segapp.model.labelling import Labelling


class NearestColour:
    def __init__(self, rgb, channels=None):
        self.rgb = rgb

    def prepare(self, settings):
        pass

    def updates(self, document, settings):
        marked = rasterize(document, self.rgb.shape[:2])
        found = [label for label in range(len(document.classes)) if (marked == label).any()]
        if len(found) < 2:
            raise NotEnoughStrokes("Two classes need strokes.")
        means = [self.rgb[marked == label].mean(axis=0) for label in found]
        distances = np.stack([((self.rgb - mean) ** 2).sum(axis=2) for mean in means])
        labels = np.array(found, np.uint8)[distances.argmin(axis=0)]
        labels[marked >= 0] = marked[marked >= 0]
        margin = np.ptp(distances, axis=0).astype(np.float32)
        answer = Labelling(labels, margin, labels.astype(np.uint32), len(document.classes), 1)
        yield Report("half", 0.5)
        yield Report("nearly", 0.9)
        yield Answer(answer)


class Slow(NearestColour):
    """Takes ten minutes, in small steps."""

    def updates(self, document, settings):
        for step in range(12_000):
            time.sleep(0.05)
            yield Report("waiting", step / 12_000)
        yield from super().updates(document, settings)


class Unhurried(NearestColour):
    """Takes long enough to be interrupted."""

    def updates(self, document, settings):
        time.sleep(0.3)
        yield from super().updates(document, settings)


class Deadly(NearestColour):
    """Kills its process on red pictures, as a lack of memory would."""

    def updates(self, document, settings):
        if self.rgb[0, 0].tolist() == [255, 0, 0]:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().updates(document, settings)
