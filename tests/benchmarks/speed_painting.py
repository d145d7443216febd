"""Painting each pixel by its own colour, against a look-up in a table of colours.

    python tests/benchmarks/speed_painting.py 12

Prints JSON: the least of three runs, seconds of CPU.
"""

import argparse
import json
import time
from types import SimpleNamespace

import numpy as np
from speed_pictures import documents, picture

from segapp.engine import refinement
from segapp.engine.trainer import Trainer
from segapp.model.answer import final_answer
from segapp.model.settings import PRESETS

refinement.time = SimpleNamespace(perf_counter=time.process_time)  # a busy machine stops no clock


def fastest(work):
    took = []
    for _ in range(3):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return min(took)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("megapixels", type=float)
    options = parser.parse_args()
    rgb = picture(options.megapixels)
    _, document = next(iter(documents(options.megapixels)))
    settings, trainer = PRESETS["paper"], Trainer(rgb)
    final_answer(trainer.updates(document, settings))
    # The painting alone: what was learnt is the same each time, and costs what it costs.
    labels = np.random.default_rng(0).integers(0, 2, (32, 32, 32)).astype(np.uint8)

    def look_up():
        return labels[rgb[..., 0] >> 3, rgb[..., 1] >> 3, rgb[..., 2] >> 3]

    steps = []
    for _ in range(3):
        seconds = final_answer(trainer.updates(document, settings)).insight.seconds
        steps.append(seconds.get("full size", 0.0) + seconds["painting"])
    print(json.dumps({"painting": min(steps), "look_up": fastest(look_up)}))


if __name__ == "__main__":
    main()
