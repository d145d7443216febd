"""Cases of a batch: images, strokes and ground truth, and their records."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.batch.robot_user import IGNORED
from segapp.io.desktop import SAMPLES
from segapp.io.images import digest_of, list_images, load_indices
from segapp.io.project import PROJECT_SUFFIX
from segapp.model.validation import (
    SegappError,
    from_json,
    require_field,
    require_int,
    require_list,
    require_number,
    require_object,
    require_text,
    sanitize,
)
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.batch.task import Outcome, Task


_BAND = 128  # between object (255) and ground (0)


class CaseError(SegappError):
    """A folder holds nothing to work on; the message is one sentence that says what was wanted."""


@dataclass(frozen=True, slots=True)
class Case:
    """An image, its strokes, and its truth if that is known."""

    name: str
    image: Path
    strokes: Path
    truth: Path | None


def find_cases(folder: str | Path) -> tuple[Case, ...]:
    """Find the cases in a folder, ordered by name.

    Two layouts are known: the Gulshan set's (``images/X.jpg``, ``images-labels/X-anno.png``,
    ``images-gt/X.png``), and a plain folder of ``X.jpg`` with ``X-strokes.png`` or the project
    ``X.segapp``, and ``X-truth.png``.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise CaseError(f"There is no folder {sanitize(folder)}.")
    if (folder / "images").is_dir() and (folder / "images-labels").is_dir():
        cases = [
            _case(image, folder / "images-labels", "-anno.png", folder / "images-gt", ".png")
            for image in list_images(folder / "images")
        ]
    else:
        cases = [
            _case(image, folder, "-strokes.png", folder, "-truth.png")
            for image in list_images(folder)
        ]
    found = [case for case in cases if case is not None]
    if not found:
        raise CaseError(
            f"There is no image with strokes in {sanitize(folder)}: wanted X.jpg with "
            f"X-strokes.png or X{PROJECT_SUFFIX}, or the folders images and images-labels of "
            "the Gulshan set."
        )
    named = _with_different_names(sorted(found, key=lambda case: case.image.name))
    return tuple(sorted(named, key=lambda case: case.name))


def bundled_cases() -> tuple[Case, ...]:
    """Return the samples that come with the program."""
    return find_cases(SAMPLES)


def load_truth(
    path: Path, size: tuple[int, int], n_classes: int, background: int = 1
) -> NDArray[np.int16]:
    """Read a truth as the class of each pixel, -1 where it does not judge.

    Grey values: 255 the object (the first class that is not the background), 0 the background,
    128 not judged. With a palette: the class from 0, as in our own exports, and 255 not judged.
    """
    indices = load_indices(path)
    values = indices.values
    if values.shape != size:
        raise CaseError(
            f"{sanitize(path.name)} has {values.shape[1]} x {values.shape[0]} pixels: "
            f"wanted the image's {size[1]} x {size[0]}."
        )
    if indices.palette is not None:
        table = np.arange(256, dtype=np.int16)
        table[255] = IGNORED
        truth = table[values]
    else:
        table = np.full(256, n_classes, dtype=np.int16)
        table[[255, 0, _BAND]] = int(background == 0), background, IGNORED
        truth = table[values]
    if truth.max() >= n_classes:
        worst = int(values[truth >= n_classes].max())
        wanted = (
            f"classes from 0 to {n_classes - 1}"
            if indices.palette is not None
            else ("grey values of 0, 128 and 255")
        )
        raise CaseError(f"{sanitize(path.name)}: wanted {wanted}, got {worst}.")
    return truth


def _case(
    image: Path, strokes_folder: Path, strokes_end: str, truth_folder: Path, truth_end: str
) -> Case | None:
    places = (
        strokes_folder / (image.stem + strokes_end),
        image.with_suffix(PROJECT_SUFFIX),
    )
    strokes = next((place for place in places if place.is_file()), None)
    if strokes is None:
        return None
    truth = truth_folder / (image.stem + truth_end)
    return Case(image.stem, image, strokes, truth if truth.is_file() else None)


def _with_different_names(cases: list[Case]) -> list[Case]:
    """Name each case so that no two share a result, also where systems ignore case.

    The name is that of the image without its suffix; with it, where others would have the same
    name; and with a number where even that is not enough.
    """
    names = [case.name for case in cases]
    while True:
        count = Counter(_folded(name) for name in names)
        fuller = [
            case.image.name if count[_folded(name)] > 1 else name
            for case, name in zip(cases, names, strict=True)
        ]
        if fuller == names:
            break
        names = fuller
    taken = {_folded(name) for name in names}
    seen: set[str] = set()
    for place, name in enumerate(names):
        numbered, number = name, 1
        while _folded(numbered) in seen or (number > 1 and _folded(numbered) in taken):
            number += 1
            numbered = f"{name} {number}"
        names[place] = numbered
        seen.add(_folded(numbered))
    return [replace(case, name=name) for case, name in zip(cases, names, strict=True)]


def _folded(name: str) -> str:
    """Make names equal that some system takes for one file."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


_LARGEST = 16 << 20  # bytes; the robot's two thousand strokes have a hundred thousand
_LONGEST_SIDE = 10**9


def write_record(task: Task, key: str, outcome: Outcome) -> None:
    """Keep an outcome whose mask and strokes are written."""
    digests = {name: digest_of(path).hex() for name, path in _files(task).items()}
    content = {"key": key, "digests": digests, **asdict(outcome)}
    write_text(task.record_path, json.dumps(content))


def read_record(task: Task, key: str, empty: Outcome) -> Outcome | None:
    """Return the outcome of exactly this task, if its files are still what it wrote.

    ``empty`` carries the case's name. Anything that is missing, damaged or does not fit is no
    record, and the work is done again.
    """
    try:
        with task.record_path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            return None
        record = require_object(from_json(content, task.record_path.name), "record")
        if record.get("key") != key or record.get("name") != empty.name or record.get("error"):
            return None
        outcome = _outcome(record, task, empty)
        digests = require_object(require_field(record, "digests"), "digests")
        for name, path in _files(task).items():
            if digest_of(path).hex() != require_field(digests, name):
                return None
            if path.suffix == ".png" and not _has_size(path, outcome):
                return None
    except (OSError, ValueError):
        return None
    return outcome


def _outcome(record: dict[str, Any], task: Task, empty: Outcome) -> Outcome:
    steps = (task.robot or 0) + 1
    ious = require_list(require_field(record, "ious"), "ious", 0, steps)
    if len(ious) not in (0, steps):
        raise ValueError(f"ious: wanted none or {steps}, got {len(ious)}")
    seconds = require_list(require_field(record, "seconds"), "seconds", 1, steps)
    return replace(
        empty,
        width=require_int(require_field(record, "width"), "width", 1, _LONGEST_SIDE),
        height=require_int(require_field(record, "height"), "height", 1, _LONGEST_SIDE),
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
    return files if task.measures is None else files | {"measures": task.measures_path}
