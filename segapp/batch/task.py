"""One case of a batch, run here, in processes or on a Dask cluster."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from segapp.batch.cases import Case, load_truth, read_record, write_record
from segapp.batch.robot_user import IGNORED, first_dabs, robot_steps
from segapp.engine.loading import let_see
from segapp.io.export.formats import default_format, formats
from segapp.io.export.rasters import write_strokes_png
from segapp.io.folder_files import display_to_plain, folder_display
from segapp.io.images import digest_of
from segapp.io.project import PROJECT_SUFFIX, Project, is_project, load_project, save_project
from segapp.io.strokes import load_with_strokes
from segapp.model.answer import final_answer
from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.settings import FeatureGroup, to_plain
from segapp.model.validation import sentence
from shlcore.cluster import ClusterError, as_they_come, connected
from shlcore.process_pool import ProcessDied, in_processes
from shlcore.threads import limited_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.encoders.feature_cache import FeatureExtractor
    from segapp.io.export.formats import ExportChoices
    from segapp.model.answer import Answer, MakeSegmenter, Report, Segmenter
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.settings import Settings, SettingsChoice


def not_cancelled() -> bool:
    """Nobody asks to stop."""
    return False


class Stopped(Exception):  # noqa: N818 - the user's wish is no error
    """The user asked to stop."""


@dataclass(frozen=True, slots=True)
class Task:
    """A case and what to do with it.

    Parameters
    ----------
    robot
        Number of the robot's strokes, or ``None`` for no robot.
    dabs
        Whether to begin with one dab for each class instead of the given strokes; needs a truth.
    resume
        Whether an earlier result of exactly the same task is taken as it is.
    measures
        How parts are measured, or ``None`` for no measures.
    """

    case: Case
    out: Path
    settings: SettingsChoice
    robot: int | None = None
    resume: bool = False
    dabs: bool = False
    measures: ExportChoices | None = None

    @property
    def mask_path(self) -> Path:
        """Where the mask goes."""
        return self.out / "masks" / f"{self.case.name}.png"

    @property
    def strokes_path(self) -> Path:
        """Where the strokes that led to the mask go."""
        return self.out / "strokes" / f"{self.case.name}.png"

    @property
    def project_path(self) -> Path:
        """Where the strokes go in their order, which a picture of them does not hold."""
        return self.out / "projects" / f"{self.case.name}{PROJECT_SUFFIX}"

    @property
    def measures_path(self) -> Path:
        """Where the measures go, if they are wanted."""
        return self.out / "measures" / f"{self.case.name}.csv"

    @property
    def record_path(self) -> Path:
        """Where the outcome goes, for those who resume."""
        return self.out / "cases" / f"{self.case.name}.json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case.

    Parameters
    ----------
    ious
        The score from the given strokes and after each of the robot's; empty without a truth.
    seconds
        Time of each update, in the same order, once the image was prepared.
    error
        One sentence when the case failed, else empty.
    encoder
        SHA-256 of the network that took part, else empty.
    """

    name: str
    width: int = 0
    height: int = 0
    classes: int = 0
    ious: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    error: str = ""
    reused: bool = False
    encoder: str = ""


def run_case(task: Task, make_segmenter: MakeSegmenter, stopped: Callable[[], bool]) -> Outcome:
    """Do a task; whatever goes wrong with it becomes an outcome, so that others go on."""
    try:
        return _reused(task) or _run(task, make_segmenter, stopped)
    except Stopped:
        raise
    except (ValueError, OSError, MemoryError) as error:
        return Outcome(task.case.name, error=sentence(error))
    except Exception as error:  # the edge of a process: one image, not the run
        logging.getLogger(__name__).debug("case %s", task.case.name, exc_info=True)
        return Outcome(task.case.name, error=f"{type(error).__name__}: {sentence(error)}")


def _run(task: Task, make_segmenter: MakeSegmenter, stopped: Callable[[], bool]) -> Outcome:
    picture, strokes = load_with_strokes(task.case.image, task.case.strokes)
    document, settings = strokes.document, task.settings.settings(strokes.settings)
    n_classes = len(document.classes)
    segmenter = make_segmenter(picture.rgb, picture.channels)
    let_see(segmenter, picture.rgb, settings)
    segmenter.prepare(settings)
    if strokes.answer is not None:
        segmenter.recall(strokes.answer)
    answers = _Answers(segmenter, settings, stopped)
    if task.case.truth is None:
        truth = np.full(picture.size, IGNORED, np.int16)  # judges nothing: no scores, no robot
    else:
        truth = load_truth(task.case.truth, picture.size, n_classes, document.background)
    if task.dabs:
        document = _dabs(task, truth, document)
    steps = robot_steps(answers.labelling, document, truth, task.robot or 0)
    last = next(steps)
    ious, seconds = [last.iou], [last.seconds]
    for last in steps:
        ious.append(last.iou)
        seconds.append(last.seconds)
    for path in (task.mask_path, task.strokes_path, task.project_path, task.record_path):
        path.parent.mkdir(parents=True, exist_ok=True)
    default_format(n_classes).write(task.mask_path, last.labelling, last.document, picture)
    write_strokes_png(task.strokes_path, last.labelling, last.document, picture)
    if task.measures is not None:
        task.measures_path.parent.mkdir(parents=True, exist_ok=True)
        writer = formats(task.measures)["measures"]
        writer.write(task.measures_path, last.labelling, last.document, picture)
    carried = answers.last.snapshot() if answers.last is not None else None
    project = Project(last.document, settings, task.case.image, picture.sha256, answer=carried)
    save_project(task.project_path, project)
    height, width = picture.size
    outcome = Outcome(
        task.case.name,
        width,
        height,
        n_classes,
        _padded(ious, task.robot) if task.case.truth else (),
        tuple(seconds),
        encoder=settings.encoder,
    )
    write_record(task, _key(task), outcome)
    return outcome


def _dabs(task: Task, truth: NDArray[np.int16], document: Document) -> Document:
    if task.case.truth is None:
        raise ValueError(
            "--start dabs: wanted a truth that shows where the classes are, got none."
        )
    return replace(first_dabs(truth, document.classes), display=document.display)


class _Answers:
    """Answers one document after the other, and keeps the last answer for the project."""

    def __init__(
        self, segmenter: Segmenter, settings: Settings, stopped: Callable[[], bool]
    ) -> None:
        self._segmenter, self._settings, self._stopped = segmenter, settings, stopped
        self.last: Answer | None = None

    def labelling(self, document: Document) -> Labelling:
        """Return the final labelling, unless the user asks to stop."""
        self.last = final_answer(self._segmenter.updates(document, self._settings), self._watch)
        return self.last.labelling

    def _watch(self, _: Report) -> None:
        if self._stopped():
            raise Stopped


def _padded(ious: list[float], robot: int | None) -> tuple[float, ...]:
    """Repeat the last value for strokes that were not needed any more."""
    return (*ious, *ious[-1:] * ((robot or 0) + 1 - len(ious)))


def _key(task: Task) -> str:
    """Tell tasks apart that would give different results."""
    choice = task.settings
    asked: list[object] = [choice.preset, choice.changes, to_plain(choice.settings(None))]
    asked += [task.robot, task.dabs]
    display = folder_display(task.case.image)
    asked += [display_to_plain(display)] if display != DEFAULT_DISPLAY else []
    asked += [repr(task.measures)] if task.measures is not None else []
    digest = hashlib.sha256(json.dumps(asked).encode())
    for path in (task.case.image, task.case.strokes, task.case.truth):
        digest.update(digest_of(path) if path else b"none")
    return digest.hexdigest()


def _reused(task: Task) -> Outcome | None:
    if not (task.resume and task.record_path.is_file()):
        return None
    return read_record(task, _key(task), Outcome(task.case.name))


def outcomes(
    tasks: Sequence[Task], make_segmenter: MakeSegmenter, jobs: int = 1
) -> Generator[Outcome, None, None]:
    """Do all tasks and yield each outcome when it is there.

    Each process computes with one thread: sums in another order would be other sums, and masks
    must not depend on ``jobs``. Closing the iterator, or Ctrl-C, stops the processes between
    two steps of their work.
    """
    if jobs == 1 or len(tasks) <= 1:
        with limited_threads(1):
            for task in tasks:
                yield run_case(task, make_segmenter, not_cancelled)
        return
    for task, found in in_processes(partial(_run_in_process, make_segmenter), tasks, jobs):
        if isinstance(found, ProcessDied):
            yield Outcome(task.case.name, error=str(found))
        else:
            yield found


def _run_in_process(
    make_segmenter: MakeSegmenter, task: Task, stopped: Callable[[], bool]
) -> Outcome:
    try:
        return run_case(task, make_segmenter, stopped)
    except Stopped:
        return Outcome(task.case.name, error="Stopped.")


def remote_outcomes(
    tasks: Sequence[Task], make_segmenter: MakeSegmenter, address: str
) -> Generator[Outcome, None, None]:
    """Do all tasks on a scheduler's workers and yield each outcome when it is there.

    An image whose worker dies is done by another. Closing the iterator takes back what has
    not begun.
    """
    rooted = [_rooted(task) for task in tasks]
    with connected(address) as client:
        for task, found in as_they_come(client, partial(_run_on_worker, make_segmenter), rooted):
            lost = isinstance(found, ClusterError)
            yield Outcome(task.case.name, error=str(found)) if lost else found


def _rooted(task: Task) -> Task:
    """Name files from the root: a worker has a working directory of its own."""
    case = task.case
    truth = None if case.truth is None else case.truth.absolute()
    case = replace(case, image=case.image.absolute(), strokes=case.strokes.absolute(), truth=truth)
    return replace(task, case=case, out=task.out.absolute())


def _run_on_worker(make_segmenter: MakeSegmenter, task: Task) -> Outcome:
    # One thread, as everywhere: masks must not depend on where they are made.
    with limited_threads(1):
        return run_case(task, make_segmenter, not_cancelled)


def precompute_features(tasks: Sequence[Task], jobs: int) -> Generator[Task, None, None]:
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
        self._all: list[FeatureExtractor] = []

    def read(self, task: Task) -> None:
        from segapp.encoders.ipc import EncodingStopped  # loaded by nobody else

        with suppress(ValueError, OSError, MemoryError, EncodingStopped):
            picture, strokes = load_with_strokes(task.case.image, task.case.strokes)
            settings = task.settings.settings(strokes.settings)
            self._extractor(settings.encoder).features(picture.rgb)

    def stop(self) -> None:
        for extractor in self._all:
            extractor.stop()

    def close(self) -> None:
        for extractor in self._all:
            extractor.close()

    def _extractor(self, digest: str) -> FeatureExtractor:
        from segapp.encoders.feature_cache import FeatureExtractor

        own: dict[str, FeatureExtractor] = self._own.__dict__
        if digest not in own:
            own[digest] = FeatureExtractor.with_identity(digest)
            self._all.append(own[digest])
        return own[digest]
