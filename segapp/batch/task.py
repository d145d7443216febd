"""One case of a batch: read, segment, let the robot correct, write."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from segapp.batch.case_record import read_record, write_record
from segapp.batch.cases import Case, load_truth
from segapp.batch.robot_user import first_dabs, robot_steps
from segapp.batch.scores import IGNORED
from segapp.files.export import formats, usual_format, write_strokes_png
from segapp.files.images import digest_of
from segapp.files.project_file import PROJECT_SUFFIX, Project, save_project
from segapp.files.showing_file import showing_beside, showing_to_plain
from segapp.files.strokes_file import load_with_strokes
from segapp.learning.sight import let_see
from segapp.values.plain_settings import to_plain
from segapp.values.showing import AS_IT_COMES
from segapp.values.updates import answer_of
from segapp.values.wording import sentence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.values.document import Document
    from segapp.values.export_choices import ExportChoices
    from segapp.values.labelling import Labelling
    from segapp.values.settings import Settings
    from segapp.values.settings_choice import SettingsChoice
    from segapp.values.updates import Answer, MakeSegmenter, Report, Segmenter


def never() -> bool:
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
    usual_format(n_classes).write(task.mask_path, last.labelling, last.document, picture)
    write_strokes_png(task.strokes_path, last.labelling, last.document, picture)
    if task.measures is not None:
        task.measures_path.parent.mkdir(parents=True, exist_ok=True)
        writer = formats(task.measures)["measures"]
        writer.write(task.measures_path, last.labelling, last.document, picture)
    carried = answers.last.carried() if answers.last is not None else None
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
    return replace(first_dabs(truth, document.classes), showing=document.showing)


class _Answers:
    """Answers one document after the other, and keeps the last answer for the project."""

    def __init__(
        self, segmenter: Segmenter, settings: Settings, stopped: Callable[[], bool]
    ) -> None:
        self._segmenter, self._settings, self._stopped = segmenter, settings, stopped
        self.last: Answer | None = None

    def labelling(self, document: Document) -> Labelling:
        """Return the final labelling, unless the user asks to stop."""
        self.last = answer_of(self._segmenter.updates(document, self._settings), self._watch)
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
    showing = showing_beside(task.case.image)
    asked += [showing_to_plain(showing)] if showing != AS_IT_COMES else []
    asked += [repr(task.measures)] if task.measures is not None else []
    digest = hashlib.sha256(json.dumps(asked).encode())
    for path in (task.case.image, task.case.strokes, task.case.truth):
        digest.update(digest_of(path) if path else b"none")
    return digest.hexdigest()


def _reused(task: Task) -> Outcome | None:
    if not (task.resume and task.record_path.is_file()):
        return None
    return read_record(task, _key(task), Outcome(task.case.name))
