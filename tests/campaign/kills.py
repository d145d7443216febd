"""Chains of runs that are killed at any moment; the next run restores the strokes.

A chain of lives shares the user's folders. In each life the real program paints without rest,
until the parent ends it by SIGKILL; the next life restores what it is offered. Strokes that
were finished two seconds before the kill must come back, and no file may be half-written. Two
seconds are by the clock; only time in which other programs had the processor that this one was
waiting for does not count, and a life that needed this is counted in the table.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from PIL import Image

from segapp.io.images import load_image
from segapp.io.pages import ImageError
from segapp.io.project import ProjectError, load_project
from segapp.model.document import Document
from tests.campaign.driver import digest_of
from tests.campaign.processor import Watch
from tests.campaign.results import Failure, Row

ROOT = Path(__file__).parents[2]
KINDS = ("steady", "hasty", "paused", "mixed")
MOMENTS = ("any", "any", "autosave", "save", "restore", "switch")
WORDS = {"any": "any moment", "save": "a save or an export", "autosave": "a copy"}
ENDINGS = {"kills": "killed", "power": "power lost"}
PROMISE = 2.0  # seconds from a stroke's end until it is safe
PATIENCE = 90.0  # seconds, for a start on a machine that may be busy
BLANK = digest_of(Document())


class PromiseError(AssertionError):
    """A promise was not kept."""


class Nursery:
    """The process that has loaded the libraries, and forks a program for each life."""

    def __init__(self):
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)}
        self._turn = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.campaign.driver"],
            env=environment,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def born(self, plan):
        """Start a program; return its process number."""
        with self._turn:
            self._process.stdin.write(f"{plan}\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def alive(pid):
    """Tell whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Chain:
    """Lives of the program on the same folders."""

    def __init__(self, folder, seed, nursery):
        self.nursery, self.late = nursery, 0
        self.folder, self.rng = Path(folder), random.Random(seed)
        self.images = [self.folder / "pictures" / f"{name}.png" for name in ("one", "two", "é 3")]
        self.log = self.folder / "log"
        self.shown = {str(image): [BLANK] for image in self.images}  # what may come back
        self.in_time = dict(self.shown)  # likewise, without the time that other programs took
        self.entries = []
        self.images[0].parent.mkdir(parents=True)
        pixels = np.random.default_rng(self.rng.randint(0, 999))
        for image in self.images:
            rgb = pixels.integers(0, 60, (72, 96, 3), dtype=np.uint8)
            rgb[:, :48] += np.array((140, 20, 20), np.uint8)
            Image.fromarray(rgb).save(image)

    @property
    def recovery(self):
        return self.folder / "state" / "segapp" / "recovery"

    def environment(self):
        names = {
            f"XDG_{name}_HOME": str(self.folder / name.lower())
            for name in ("STATE", "CONFIG", "DATA", "CACHE")
        }
        return {**names, "HOME": str(self.folder)}

    def life(self, kind, moment):
        """Let the program live, kill it, and see what the next one must bring back."""
        images = [str(image) for image in self.images]
        self.rng.shuffle(images)
        plan = self.folder / "life.json"
        plan.write_text(
            json.dumps(
                {
                    "kind": kind,
                    "seed": self.rng.randint(0, 10**9),
                    "images": images,
                    "log": str(self.log),
                    "stderr": str(self.folder / "stderr"),
                    "environment": self.environment(),
                }
            )
        )
        seen = len(self.read())
        pid = self.nursery.born(plan)
        watch = Watch(pid)
        try:
            if moment == "restore":
                self.wait(pid, seen, "born")
                time.sleep(self.rng.uniform(0.0, 1.0))
            else:
                self.wait(pid, seen, "ready")
                self.wait_for_moment(moment)
        finally:
            killed = time.time()
            self.stop(pid)
            watch.end()
        self.entries = self.read()[seen:]
        self.check_start()
        self.expect(killed, watch)
        self.check_files()

    def stop(self, pid):
        """End the program without a warning."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        while alive(pid):
            time.sleep(0.002)

    def wait(self, pid, seen, what):
        until = time.monotonic() + PATIENCE
        while not any(entry["what"] == what for entry in self.read()[seen:]):
            if not alive(pid) or time.monotonic() > until:
                raise PromiseError(f"not {what}: {(self.folder / 'stderr').read_text()[-600:]}")
            time.sleep(0.02)

    def wait_for_moment(self, moment):
        patterns = {
            "autosave": (self.recovery, "*/.*"),
            "save": (self.images[0].parent, ".*"),
        }
        end = time.monotonic() + self.rng.uniform(0.3, 6.0)
        while time.monotonic() < end:
            time.sleep(0.05)
        if moment in patterns:
            folder, pattern = patterns[moment]
            left = set(folder.glob(pattern))  # by kills before
            end = time.monotonic() + 4
            while time.monotonic() < end and left.issuperset(folder.glob(pattern)):
                time.sleep(0.0005)

    def read(self):
        if not self.log.exists():
            return []
        lines = self.log.read_text().splitlines()
        return [json.loads(line) for line in lines]

    def check_start(self):
        """Compare what came back with what had to."""
        for entry in self.entries:
            if entry["what"] == "error":
                raise PromiseError(f"an exception: {entry['text']}")
            if entry["what"] in ("restored", "opened"):
                image = entry["image"]
                if entry["digest"] not in self.shown[image]:
                    raise PromiseError(
                        f"{Path(image).name} came back with {entry['n']} strokes, "
                        f"which is none of {self.shown[image]}"
                    )
                self.late += entry["digest"] not in self.in_time[image]
                self.shown[image] = self.in_time[image] = [entry["digest"]]

    def expect(self, killed, watch):
        """Note which states of each picture may come back after this kill."""
        for image in self.shown:
            noted = [entry for entry in self.entries if self.is_change(entry, image)]
            changes = [(entry["time"], entry["digest"]) for entry in noted]
            by_the_clock = [when <= killed - PROMISE for when, _ in changes]
            by_its_own = [watch.own_seconds(when, killed) >= PROMISE for when, _ in changes]
            self.in_time[image] = _may_come(self.in_time[image], changes, by_the_clock)
            self.shown[image] = _may_come(self.shown[image], changes, by_its_own)

    @staticmethod
    def is_change(entry, image):
        return entry["what"] == "document" and entry["image"] == image

    def check_files(self):
        """Check that files are complete, and that unrestored strokes are in their project."""
        for file in sorted(self.images[0].parent.iterdir()):
            if file.name.startswith("."):
                continue  # given up by the kill, and never under the name of a file
            if file.suffix == ".segapp" and file.with_suffix(".png") not in self.images:
                raise PromiseError(f"{file.name}: saved elsewhere than where its image looks")
            try:
                load_project(file) if file.suffix == ".segapp" else load_image(file)
            except (ProjectError, ImageError) as error:
                raise PromiseError(f"half-written: {error}") from error
        copied = set()
        for file in self.recovery.glob("*/*.segapp"):
            try:
                project = load_project(file)
            except ProjectError as error:
                raise PromiseError(f"half-written: {error}") from error
            copied.add(str(project.image_path))
        for image in self.images:
            if str(image) not in copied:
                saved = image.with_suffix(".segapp")
                there = load_project(saved).document if saved.exists() else Document()
                if digest_of(there) not in self.shown[str(image)]:
                    raise PromiseError(
                        f"{image.name} has {len(there.strokes)} strokes in its project and no "
                        f"copy; wanted one of {self.shown[str(image)]}"
                    )

    def end(self):
        """Let a last life restore everything."""
        self.life("idle", "restore")
        self.life("idle", "any")


def _may_come(before, changes, safe):
    """List what may come back: the last safe state, and whatever followed it.

    Which of several the last life would have shown is not known if it had no time.
    """
    last = max((index for index, is_safe in enumerate(safe) if is_safe), default=None)
    digests = [digest for _, digest in changes]
    return [*before, *digests] if last is None else digests[last:]


@contextmanager
def _plain_folder(seed, nursery):
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        yield Chain(folder, seed, nursery)


def chain(seed, n_kills, rows, nursery=None, part="kills", lives_in=_plain_folder):
    """Kill ``n_kills`` times; return whether all was well."""
    if nursery is None:
        with Nursery() as own:
            return chain(seed, n_kills, rows, own, part, lives_in)
    rng = random.Random(str(seed))
    with lives_in(rng.randint(0, 10**9), nursery) as lives:
        for number in range(n_kills):
            kind, moment = rng.choice(KINDS), rng.choice(MOMENTS)
            kind = "mixed" if moment in ("save", "switch") else kind
            what = f"{ENDINGS[part]} at {WORDS.get(moment, moment)}"
            row = rows.setdefault(moment, Row(part, what))
            row.tried += 1
            try:
                lives.life(kind, moment)
                changes = sum(entry["what"] == "document" for entry in lives.entries)
                row.count(changes=changes)
                if number == n_kills - 1:
                    lives.end()
            except PromiseError as error:
                row.failures.append(Failure(f"{part}:{seed}:{n_kills}", f"life {number}: {error}"))
                return False
            finally:
                row.count(late=lives.late)
                lives.late = 0
    return True


# The batch --------------------------------------------------------------------------------------


def _cases(folder):
    rng = np.random.default_rng(4)
    folder.mkdir()
    for name in "abcd":
        rgb = rng.integers(0, 80, (60, 80, 3), dtype=np.uint8)
        rgb[:, :40] += np.array((120, 10, 10), np.uint8)
        Image.fromarray(rgb).save(folder / f"{name}.png")
        strokes = np.zeros((60, 80), np.uint8)
        strokes[20:24, 5:20], strokes[20:24, 60:75] = 1, 2
        Image.fromarray(strokes).save(folder / f"{name}-strokes.png")


def _batch(folder, out, *words):
    return subprocess.Popen(
        [sys.executable, "-m", "segapp", "batch", str(folder), "--out", str(out), *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _masks(out):
    return {file.name: file.read_bytes() for file in sorted((out / "masks").glob("*.png"))}


def batch(seed, count):
    """Kill a batch and resume it; the masks are those of an undisturbed run."""
    row = Row("kills", "batch killed, then --resume")
    rng = random.Random(str(seed))
    with tempfile.TemporaryDirectory(prefix="batch-") as name:
        folder = Path(name)
        _cases(folder / "data")
        began = time.monotonic()
        _batch(folder / "data", folder / "whole").communicate()
        needed = time.monotonic() - began
        whole = _masks(folder / "whole")
        for number in range(count):
            out = folder / f"out{number}"
            process = _batch(folder / "data", out)
            time.sleep(rng.uniform(0.2, 1.0) * needed)
            process.kill()
            process.communicate()
            resumed = _batch(folder / "data", out, "--resume")
            told = resumed.communicate()[1]
            row.tried += 1
            if resumed.returncode or _masks(out) != whole or len(whole) != 4:
                row.failures.append(Failure(f"batch:{seed}:{number + 1}", told[-300:]))
    return row


def run(seed, count, seconds=None, chain_length=5, at_once=2):
    """Kill at least ``count`` times, or until ``seconds`` are over."""
    rows, numbers = {}, itertools.count()
    until = time.monotonic() + seconds if seconds else None

    def work(nursery):
        while until is None or time.monotonic() < until:
            number = next(numbers)
            if number * chain_length >= count:
                return
            chain(f"{seed}.{number * chain_length}", chain_length, rows, nursery)

    with Nursery() as nursery, ThreadPoolExecutor(at_once) as pool:
        for done in [pool.submit(work, nursery) for _ in range(at_once)]:
            done.result()
    killed = sum(row.tried for row in rows.values())
    return [*rows.values(), batch(seed, max(1, killed // 20))]
