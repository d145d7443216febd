"""Two real windows on one folder: annotators that share the work, and random actions.

Each window is a process of its own, which paints with the mouse. It has its own images to paint
and to flag, and looks at those of the other one. In the end the folder holds all strokes and all
flags, no dialog was shown, and no window hung.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from pathlib import Path

from segapp.io.folder_files import PROGRESS_FILE, read_progress
from segapp.io.project import load_project
from segapp.model.document import Document
from tests.campaign.driver import digest_of
from tests.campaign.folders import draw
from tests.campaign.kills import Nursery, alive
from tests.campaign.results import Failure, Row

BLANK = digest_of(Document())
LONGEST_HANG = 1.0  # seconds in which the window's thread does nothing but wait
SECONDS_AN_ACTION = 3.0  # on a machine that others use too
OWN_FILES = {PROGRESS_FILE, "segapp-classes.json", "segapp-view.json"}


def _entries(log):
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def _lost(kept):
    """Yield the images whose projects differ from what a window has had."""
    for image, values in kept.items():
        project = Path(image).with_suffix(".segapp")
        there = load_project(project).document if project.exists() else Document()
        if digest_of(there) != values["digest"]:
            yield f"{Path(image).name}: {len(there.strokes)} strokes, not {values['n']}"


class Pair:
    """Two windows on a folder of images, and what they say they have done."""

    def __init__(self, folder, seed, n_images, nursery):
        self.folder, self.nursery, rng = Path(folder), nursery, random.Random(str(seed))
        self.pictures = self.folder / "pictures"
        self.images = [
            draw(self.pictures / f"{number:04}.png", number % 7) for number in range(n_images)
        ]
        self.logs = [self.folder / f"log{number}" for number in range(2)]
        self.seeds = [rng.randint(0, 10**9) for _ in range(2)]
        self.before = {path.name for path in self.folder.iterdir()}

    def live(self, kind, count, patience):
        """Let both windows work, and wait for their ends."""
        pids = []
        for number, (log, seed) in enumerate(zip(self.logs, self.seeds, strict=True)):
            home = self.folder / f"home{number}"
            names = ("STATE", "CONFIG", "DATA", "CACHE")
            plan = self.folder / f"life{number}.json"
            own = self.images[number::2] if kind == "shared" else self._half(number)
            plan.write_text(
                json.dumps(
                    {
                        "kind": kind,
                        "seed": seed,
                        "count": count,
                        "images": [str(self.pictures)],
                        "own": [str(path) for path in own],
                        "log": str(log),
                        "stderr": str(self.folder / f"stderr{number}"),
                        "environment": {
                            **{f"XDG_{name}_HOME": str(home / name.lower()) for name in names},
                            "HOME": str(home),
                        },
                    }
                )
            )
            pids.append(self.nursery.born(plan))
        until = time.monotonic() + patience
        while any(map(alive, pids)):
            if time.monotonic() > until:
                for pid in pids:
                    os.kill(pid, 9)
                raise AssertionError(f"the windows did not end within {patience:.0f} s")
            time.sleep(0.1)

    def _half(self, number):
        middle = len(self.images) // 2
        return self.images[:middle] if number == 0 else self.images[middle:]

    def problems(self):
        """Yield what is lost, shown or written elsewhere."""
        done, counts = set(), []
        for number, log in enumerate(self.logs):
            entries = _entries(log)
            stderr = self.folder / f"stderr{number}"
            if not entries or entries[-1]["what"] != "closed":
                yield f"window {number} did not close: {stderr.read_text()[-500:]}"
                continue
            counts.append(entries[-1])
            for entry in entries:
                if entry["what"] in ("box", "error", "offered"):
                    yield f"window {number}: {entry}"
            if entries[-1]["hang"] > LONGEST_HANG:
                yield f"window {number} hung for {entries[-1]['hang']:.2f} s"
            yield from _lost(entries[-1]["kept"])
            kept = entries[-1]["kept"].items()
            done |= {Path(image).name for image, values in kept if values["done"]}
        flags = read_progress(self.pictures / PROGRESS_FILE).done
        if flags != done:
            yield f"flags differ: {sorted(flags ^ done)[:9]}"
        names = {path.stem for path in self.images}
        for path in self.pictures.iterdir():
            if path.name not in OWN_FILES and path.stem not in names:
                yield f"{path.name} was left behind"
        self.longest = max((count["hang"] for count in counts), default=0.0)
        self.n_actions = sum(count["actions"] for count in counts)


def pair(kind, seed, n_images, count, nursery, row):
    """Let two windows work on a folder; count what is wrong."""
    with tempfile.TemporaryDirectory(prefix="shared-") as folder:
        both = Pair(folder, seed, n_images, nursery)
        try:
            both.live(kind, count, 120 + SECONDS_AN_ACTION * count)
            problems = list(both.problems())
            row.tried += both.n_actions
            row.note = f"longest hang {max(both.longest, float(row.counts['ms']) / 1000):.2f} s"
            row.counts["ms"] = max(row.counts["ms"], int(1000 * both.longest))
        except AssertionError as error:
            problems = [str(error)]
        words = f"shared:{kind}:{seed}:{n_images}:{count}"
        row.failures += [Failure(words, problem) for problem in problems[:5]]
    return not problems


def run(seed, count, seconds=None):
    """Act ``count`` times in two windows, or for some seconds; then annotate a folder."""
    rows = [
        Row("shared", "actions in two windows on one folder"),
        Row("shared", "actions of two annotators who finish a folder"),
    ]
    until = None if seconds is None else time.monotonic() + seconds
    with Nursery() as nursery:
        number = 0
        while rows[0].tried < count and (until is None or time.monotonic() < until):
            a_time = min(2500, max(20, (count - rows[0].tried) // 2))
            if not pair("shared", f"{seed}.{number}", 12, a_time, nursery, rows[0]):
                break
            number += 1
        n_images = 200 if seconds is None else 8
        pair("annotator", seed, n_images, n_images // 2, nursery, rows[1])
    return rows
