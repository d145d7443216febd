"""Pictures of a batch read by their encoder before anything is learnt, each once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from typing import TYPE_CHECKING

from segapp.files.project_file import is_project, load_project
from segapp.files.strokes_file import load_with_strokes
from segapp.values.settings import FeatureGroup

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from segapp.batch.task import Task
    from segapp.encoders.encoding import Encoding


def encoded_ahead(tasks: Sequence[Task], jobs: int) -> Generator[Task, None, None]:
    """Yield each task of `wants_encoder` whose picture is read.

    What fails here fails again when its turn comes, and is told then. Closing the iterator ends
    the networks' processes.
    """
    readers = _Readers()
    pool = ThreadPoolExecutor(jobs)  # of threads that wait: the networks have processes
    try:
        waiting = {pool.submit(readers.read, task): task for task in tasks}
        for done in as_completed(waiting):
            done.result()
            yield waiting[done]
    finally:
        readers.stop()
        pool.shutdown(wait=True, cancel_futures=True)
        readers.close()


def wants_encoder(task: Task) -> bool:
    """Tell whether a network is to read a task's picture."""
    if task.resume and task.record_path.is_file():
        return False  # nothing is learnt from it, most likely
    choice, strokes = task.settings, task.case.strokes
    own = None
    if choice.preset is None and choice.encoder is None and is_project(strokes):
        with suppress(ValueError, OSError, MemoryError):  # told when its turn comes
            own = load_project(strokes).settings
    return FeatureGroup.ENCODER in choice.settings(own).features


class _Readers:
    """A network's process for each thread and encoder."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._all: list[Encoding] = []

    def read(self, task: Task) -> None:
        from segapp.encoders.running import EncodingStopped  # loaded by nobody else

        with suppress(ValueError, OSError, MemoryError, EncodingStopped):
            picture, strokes = load_with_strokes(task.case.image, task.case.strokes)
            settings = task.settings.settings(strokes.settings)
            self._encoding(settings.encoder).of(picture.rgb)

    def stop(self) -> None:
        for encoding in self._all:
            encoding.stop()

    def close(self) -> None:
        for encoding in self._all:
            encoding.close()

    def _encoding(self, digest: str) -> Encoding:
        from segapp.encoders.encoding import Encoding

        own: dict[str, Encoding] = self._own.__dict__
        if digest not in own:
            own[digest] = Encoding.with_identity(digest)
            self._all.append(own[digest])
        return own[digest]
