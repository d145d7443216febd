"""Tasks of a batch: one case segmented and scored, its files, and its record."""

from __future__ import annotations

import hashlib
import json
import logging
import traceback
import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.app.segmenter import Segmenter
from segapp.app.state import Content, project_of
from segapp.batch.cases import Case, CaseError, load_truth
from segapp.batch.robot_user import EXACT, IGNORED, Hand, NoisyHand, Start, begin, robot_steps
from segapp.io.export.formats import default_format, formats
from segapp.io.export.rasters import write_strokes_png
from segapp.io.folder_files import display_to_plain, folder_display
from segapp.io.images import content_digest, load_indices
from segapp.io.project import PROJECT_SUFFIX, save_project
from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.settings import to_plain
from segapp.model.validation import (
    failure_message,
    from_json,
    require_field,
    require_int,
    require_list,
    require_number,
    require_object,
    require_text,
)
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segapp.io.export.formats import ExportChoices
    from segapp.model.answer import Answer, MakeTrainer, Report
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.settings import SettingsChoice


_MAX_RECORD_BYTES = 16 << 20  # the robot's two thousand strokes take a hundred thousand
_MAX_SIDE = 10**9

_log = logging.getLogger(__name__)


class Cancelled(Exception):  # noqa: N818 - a request of the user is no error
    """The user asked to stop."""


@dataclass(frozen=True, slots=True)
class Task:
    """A case with the settings and options to run it.

    Parameters
    ----------
    robot
        Number of the robot's strokes, or ``None`` for no robot.
    resume
        Whether an earlier result of exactly the same task is taken as it is.
    start
        The strokes to begin with; those that the robot makes need a truth.
    noise
        Seed of a robot's noisy hand, or ``None`` for an exact one.
    measures
        Scale of measures, or ``None`` for no measures.
    split
        Whether objects that touch are told apart by cuts at their necks.
    beside
        Names of presets whose results are written beside, from the same strokes.
    """

    case: Case
    out: Path
    settings: SettingsChoice
    robot: int | None = None
    resume: bool = False
    start: Start = Start.STROKES
    noise: int | None = None
    measures: ExportChoices | None = None
    split: bool = False

    beside: tuple[str, ...] = ()

    @property
    def mask_path(self) -> Path:
        """File of the mask."""
        return self.out / "masks" / f"{self.case.name}.png"

    def beside_path(self, preset: str) -> Path:
        """Return the file of the mask by another preset."""
        return self.out / "masks" / preset / f"{self.case.name}.png"

    @property
    def strokes_path(self) -> Path:
        """File of the strokes that led to the mask, as an image."""
        return self.out / "strokes" / f"{self.case.name}.png"

    @property
    def project_path(self) -> Path:
        """Project with the strokes in their order."""
        return self.out / "projects" / f"{self.case.name}{PROJECT_SUFFIX}"

    @property
    def measures_path(self) -> Path:
        """File of the measures, if there are any."""
        return self.out / "measures" / f"{self.case.name}.csv"

    @property
    def record_path(self) -> Path:
        """File of the outcome, read when a batch is resumed."""
        return self.out / "cases" / f"{self.case.name}.json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a task.

    Parameters
    ----------
    ious
        The score from the given strokes and after each of the robot's; empty without a truth.
    seconds
        Time of each update, in the same order, without the preparation of the image.
    error
        One sentence when the case failed, else empty.
    reused
        Whether it was read from the record of an earlier run.
    encoder
        Identity of the encoder that took part, else empty.
    traceback
        Of the error, else empty.
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
    traceback: str = ""


def run_case(task: Task, make_trainer: MakeTrainer, cancelled: Callable[[], bool]) -> Outcome:
    """Run a task; any error becomes an outcome, so that the other tasks go on."""
    try:
        return _reused(task) or _run(task, make_trainer, cancelled)
    except Cancelled:
        raise
    except Exception as error:  # noqa: BLE001 - the edge of a process: one image, not the run
        message = failure_message(error)
        return Outcome(task.case.name, error=message, traceback=traceback.format_exc())


def _run(task: Task, make_trainer: MakeTrainer, cancelled: Callable[[], bool]) -> Outcome:
    segmenter = Segmenter(
        task.case.image, task.case.strokes, settings=task.settings, make_trainer=make_trainer
    )
    segmenter.prepare()
    picture, document, settings = segmenter.picture, segmenter.document, segmenter.settings
    document = document.with_all_split() if task.split else document
    n_classes = len(document.classes)
    answers = _Answers(segmenter, cancelled)
    if task.case.truth is None:
        truth = np.full(picture.size, IGNORED, np.int16)  # neither scores nor strokes of the robot
    else:
        truth = load_truth(task.case.truth, picture.size, n_classes, document.background)
    hand = _hand(task)
    if task.start in (Start.DABS, Start.CLASSES) and task.case.truth is None:
        raise CaseError("--start: wanted a truth that shows where the classes are, got none.")
    document, planned = begin(task.start, document, truth, hand)
    steps = robot_steps(answers.labelling, document, truth, task.robot or 0, hand, planned)
    last = next(steps)
    ious, seconds = [last.iou], [last.seconds]
    for last in steps:
        ious.append(last.iou)
        seconds.append(last.seconds)
    for path in (task.mask_path, task.strokes_path, task.project_path, task.record_path):
        path.parent.mkdir(parents=True, exist_ok=True)
    default_format(n_classes).write(task.mask_path, last.labelling, last.document, picture)
    for preset in task.beside:
        path = task.beside_path(preset)
        path.parent.mkdir(parents=True, exist_ok=True)
        other = Segmenter(picture, last.document, preset=preset, make_trainer=make_trainer)
        labelling = _Answers(other, cancelled).labelling(last.document)
        default_format(n_classes).write(path, labelling, last.document, picture)
    write_strokes_png(task.strokes_path, last.labelling, last.document, picture)
    if task.measures is not None:
        task.measures_path.parent.mkdir(parents=True, exist_ok=True)
        writer = formats(task.measures)["measures"]
        writer.write(task.measures_path, last.labelling, last.document, picture)
    content = Content(last.document, settings)
    project = project_of(task.case.image, picture.sha256, content, answers.of(last.labelling))
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
    _log.info("%s: %d updates in %.2f s", task.case.name, len(seconds), sum(seconds))
    return outcome


def _hand(task: Task) -> Hand:
    """Return the robot's hand; each image has noise of its own, equal in each run."""
    if task.noise is None:
        return EXACT
    return NoisyHand((task.noise, zlib.crc32(task.case.name.encode())))


class _Answers:
    """The answers for one document after the other, of which the last is kept."""

    def __init__(self, segmenter: Segmenter, cancelled: Callable[[], bool]) -> None:
        self._segmenter, self._cancelled = segmenter, cancelled
        self.last: Answer | None = None

    def labelling(self, document: Document) -> Labelling:
        """Return the final labelling, unless the user asks to stop."""
        content = Content(document, self._segmenter.settings)
        self.last = self._segmenter.answer(self._watch, content)
        return self.last.labelling

    def of(self, labelling: Labelling) -> Answer | None:
        """Return the last answer if it is the one with a labelling."""
        return self.last if self.last and self.last.labelling is labelling else None

    def _watch(self, _: Report) -> None:
        if self._cancelled():
            raise Cancelled


def _padded(ious: list[float], robot: int | None) -> tuple[float, ...]:
    """Repeat the last value for strokes that were not needed any more."""
    return (*ious, *ious[-1:] * ((robot or 0) + 1 - len(ious)))


# A resumed batch takes the outcome of an earlier run only where nothing has changed: neither the
# options and input files, which the key stands for, nor the files that were written.


def _key(task: Task) -> str:
    """Return a digest of everything that the result depends on."""
    choice = task.settings
    options: list[object] = [choice.preset, choice.changes, to_plain(choice.settings(None))]
    options += [task.robot, task.start, task.noise]
    display = folder_display(task.case.image)
    options += [display_to_plain(display)] if display != DEFAULT_DISPLAY else []
    options += [repr(task.measures)] if task.measures is not None else []
    options += ["split"] if task.split else []
    options += [list(task.beside)] if task.beside else []
    digest = hashlib.sha256(json.dumps(options).encode())
    for path in (task.case.image, task.case.strokes, task.case.truth):
        digest.update(bytes.fromhex(content_digest(path)) if path else b"none")
    return digest.hexdigest()


def _reused(task: Task) -> Outcome | None:
    if not (task.resume and task.record_path.is_file()):
        return None
    return read_record(task, _key(task))


def write_record(task: Task, key: str, outcome: Outcome) -> None:
    """Write the record of an outcome whose mask and strokes are written."""
    digests = {name: content_digest(path) for name, path in _files(task).items()}
    content = {"key": key, "digests": digests, **asdict(outcome)}
    write_text(task.record_path, json.dumps(content))


def read_record(task: Task, key: str) -> Outcome | None:
    """Return the outcome of exactly this task, if its files are unchanged.

    A record that is missing, damaged or of another task is ignored, and the work done again.
    """
    try:
        with task.record_path.open("rb") as file:
            content = file.read(_MAX_RECORD_BYTES + 1)
        if len(content) > _MAX_RECORD_BYTES:
            return None
        record = require_object(from_json(content, task.record_path.name), "record")
        if record.get("key") != key or record.get("name") != task.case.name or record.get("error"):
            return None
        outcome = _outcome(record, task)
        digests = require_object(require_field(record, "digests"), "digests")
        for name, path in _files(task).items():
            if content_digest(path) != require_field(digests, name):
                return None
            if path.suffix == ".png" and not _has_size(path, outcome):
                return None
    except (OSError, ValueError):
        return None
    return outcome


def _outcome(record: dict[str, Any], task: Task) -> Outcome:
    steps = (task.robot or 0) + 1
    ious = require_list(require_field(record, "ious"), "ious", 0, steps)
    if len(ious) not in (0, steps):
        raise ValueError(f"ious: wanted none or {steps}, got {len(ious)}")
    seconds = require_list(require_field(record, "seconds"), "seconds", 1, steps)
    return Outcome(
        task.case.name,
        width=require_int(require_field(record, "width"), "width", 1, _MAX_SIDE),
        height=require_int(require_field(record, "height"), "height", 1, _MAX_SIDE),
        classes=require_int(require_field(record, "classes"), "classes", 2, 255),
        ious=tuple(require_number(value, "ious", 0, 1) for value in ious),
        seconds=tuple(require_number(value, "seconds", 0) for value in seconds),
        reused=True,
        encoder=require_text(record.get("encoder", ""), "encoder"),
    )


def _has_size(path: Path, outcome: Outcome) -> bool:
    return load_indices(path).values.shape == (outcome.height, outcome.width)


def _files(task: Task) -> dict[str, Path]:
    files = {"mask": task.mask_path, "strokes": task.strokes_path}
    files |= {f"mask {preset}": task.beside_path(preset) for preset in task.beside}
    return files if task.measures is None else files | {"measures": task.measures_path}
