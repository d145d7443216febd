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


def encoded_ahead(tasks: Sequence[Task], jobs: int) -> Generator[int, None, None]:
    """Yield how many there are, once for each picture that is read.

    What fails here fails again when its turn comes, and is told then. Closing the iterator ends
    the networks' processes.
    """
    chosen = [task for task in tasks if _wants_encoder(task)]
    if not chosen:
        return
    readers = _Readers()
    pool = ThreadPoolExecutor(jobs)  # of threads that wait: the networks have processes
    try:
        for done in as_completed([pool.submit(readers.read, task) for task in chosen]):
            done.result()
            yield len(chosen)
    finally:
        readers.stop()
        pool.shutdown(wait=True, cancel_futures=True)
        readers.close()


def _wants_encoder(task: Task) -> bool:
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
            own[digest] = Encoding.with_digest(digest)
            self._all.append(own[digest])
        return own[digest]
