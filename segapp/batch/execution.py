"""Execution of a batch: here, in processes or on a Dask cluster."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from segapp.batch.task import Cancelled, Outcome, Task, run_case
from segapp.io.masks import load_image_with_strokes
from segapp.io.project import is_project, load_project
from segapp.model.settings import wants_encoder
from shlcore.parallel import (
    ClusterError,
    ProcessDied,
    connect_to_cluster,
    limit_threads,
    map_in_processes,
    map_on_cluster,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from segapp.encoders.feature_cache import FeatureExtractor
    from segapp.model.answer import MakeTrainer


def not_cancelled() -> bool:
    """Return false: this work cannot be cancelled between two steps."""
    return False


def run_tasks(
    tasks: Sequence[Task], make_trainer: MakeTrainer, jobs: int = 1
) -> Generator[Outcome, None, None]:
    """Run all tasks and yield each outcome as it comes.

    Each process computes with one thread: sums in another order differ in their last bits, and
    masks must not depend on ``jobs``. Closing the iterator, or Ctrl-C, stops the processes
    between two steps of their work.
    """
    if jobs == 1 or len(tasks) <= 1:
        with limit_threads(1):
            for task in tasks:
                yield run_case(task, make_trainer, not_cancelled)
        return
    for task, result in map_in_processes(partial(_run_in_process, make_trainer), tasks, jobs):
        if isinstance(result, ProcessDied):
            yield Outcome(task.case.name, error=str(result))
        else:
            yield result


def _run_in_process(
    make_trainer: MakeTrainer, task: Task, cancelled: Callable[[], bool]
) -> Outcome:
    try:
        return run_case(task, make_trainer, cancelled)
    except Cancelled:
        return Outcome(task.case.name, error="Stopped.")


def run_tasks_remotely(
    tasks: Sequence[Task], make_trainer: MakeTrainer, address: str
) -> Generator[Outcome, None, None]:
    """Run all tasks on a scheduler's workers and yield each outcome as it comes.

    A task whose worker dies goes to another. Closing the iterator withdraws those that have not
    begun.
    """
    rooted = [_with_absolute_paths(task) for task in tasks]
    with connect_to_cluster(address) as client:
        for task, result in map_on_cluster(client, partial(_run_on_worker, make_trainer), rooted):
            lost = isinstance(result, ClusterError)
            yield Outcome(task.case.name, error=str(result)) if lost else result


def _with_absolute_paths(task: Task) -> Task:
    """Return the task for a worker, whose working directory is another."""
    case = task.case
    truth = None if case.truth is None else case.truth.absolute()
    case = replace(case, image=case.image.absolute(), strokes=case.strokes.absolute(), truth=truth)
    return replace(task, case=case, out=task.out.absolute())


def _run_on_worker(make_trainer: MakeTrainer, task: Task) -> Outcome:
    # One thread, as everywhere: masks must not depend on where they are made.
    with limit_threads(1):
        return run_case(task, make_trainer, not_cancelled)


def precompute_features(tasks: Sequence[Task], jobs: int) -> Generator[Task, None, None]:
    """Fill the cache of encoder features, and yield each task whose image is read.

    An error here comes again when the task is run, and is reported then. Closing the iterator
    ends the worker processes.
    """
    pool = _ExtractorPool()
    threads = ThreadPoolExecutor(jobs)  # which wait for the worker processes
    try:
        waiting = {threads.submit(pool.read, task): task for task in tasks}
        for done in as_completed(waiting):
            done.result()
            yield waiting[done]
    finally:
        pool.stop()
        threads.shutdown(wait=True, cancel_futures=True)
        pool.close()


def needs_features(task: Task) -> bool:
    """Tell whether an encoder is to read a task's image."""
    if task.resume and task.record_path.is_file():
        return False  # most likely the record is used
    choice, strokes = task.settings, task.case.strokes
    own = None
    if choice.preset is None and choice.encoder is None and is_project(strokes):
        with suppress(ValueError, OSError, MemoryError):  # reported when the task is run
            own = load_project(strokes).settings
    return wants_encoder(choice.settings(own))


class _ExtractorPool:
    """A feature extractor for each thread and encoder."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._all: list[FeatureExtractor] = []

    def read(self, task: Task) -> None:
        from segapp.encoders.ipc import EncodingStopped  # slow to import, and seldom used

        with suppress(ValueError, OSError, MemoryError, EncodingStopped):
            picture, strokes = load_image_with_strokes(task.case.image, task.case.strokes)
            settings = task.settings.settings(strokes.settings)
            self._extractor(settings.encoder).features(picture.rgb)

    def stop(self) -> None:
        for extractor in self._all:
            extractor.stop()

    def close(self) -> None:
        for extractor in self._all:
            extractor.close()

    def _extractor(self, identity: str) -> FeatureExtractor:
        from segapp.encoders.feature_cache import FeatureExtractor

        own: dict[str, FeatureExtractor] = self._own.__dict__
        if identity not in own:
            own[identity] = FeatureExtractor.with_identity(identity)
            self._all.append(own[identity])
        return own[identity]
