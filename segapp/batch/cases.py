"""Cases of a batch: images with their strokes and ground truth."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from segapp.app.workspace import list_images
from segapp.batch.robot_user import IGNORED
from segapp.io.desktop import SAMPLES
from segapp.io.images import load_indices
from segapp.io.project import PROJECT_SUFFIX
from segapp.model.validation import SegappError, sanitize

if TYPE_CHECKING:
    from numpy.typing import NDArray


_IGNORED_GREY = 128  # the band between object (255) and background (0)


class CaseError(SegappError):
    """A folder or truth that is unusable; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Case:
    """An image with its strokes, and its ground truth if that is known."""

    name: str
    image: Path
    strokes: Path
    truth: Path | None


def find_cases(folder: str | Path) -> tuple[Case, ...]:
    """Find the cases in a folder, ordered by name.

    There are two layouts: the Gulshan set's (``images/X.jpg``, ``images-labels/X-anno.png``,
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
    complete = [case for case in cases if case is not None]
    if not complete:
        raise CaseError(
            f"There is no image with strokes in {sanitize(folder)}: wanted X.jpg with "
            f"X-strokes.png or X{PROJECT_SUFFIX}, or the folders images and images-labels of "
            "the Gulshan set."
        )
    named = _with_unique_names(sorted(complete, key=lambda case: case.image.name))
    return tuple(sorted(named, key=lambda case: case.name))


def bundled_cases() -> tuple[Case, ...]:
    """Return the samples that come with the program."""
    return find_cases(SAMPLES)


def load_truth(
    path: Path, size: tuple[int, int], n_classes: int, background: int = 1
) -> NDArray[np.int16]:
    """Read a ground truth as the class of each pixel, -1 where it is to be ignored.

    Grey values: 255 the object (the first class that is not the background), 0 the background,
    128 ignored. With a palette: the class from 0, as in our own exports, and 255 ignored.
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
        table[[255, 0, _IGNORED_GREY]] = int(background == 0), background, IGNORED
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
    candidates = (
        strokes_folder / (image.stem + strokes_end),
        image.with_suffix(PROJECT_SUFFIX),
    )
    strokes = next((path for path in candidates if path.is_file()), None)
    if strokes is None:
        return None
    truth = truth_folder / (image.stem + truth_end)
    return Case(sanitize(image.stem), image, strokes, truth if truth.is_file() else None)


def _with_unique_names(cases: list[Case]) -> list[Case]:
    """Name each case so that no two share a result on any file system.

    The name is that of the image without its suffix; with it, where two would be equal; and with
    a number where even that is not enough.
    """
    names = [case.name for case in cases]
    while True:
        count = Counter(_folded(name) for name in names)
        fuller = [
            sanitize(case.image.name) if count[_folded(name)] > 1 else name
            for case, name in zip(cases, names, strict=True)
        ]
        if fuller == names:
            break
        names = fuller
    taken = {_folded(name) for name in names}
    seen: set[str] = set()
    for index, name in enumerate(names):
        numbered, number = name, 1
        while _folded(numbered) in seen or (number > 1 and _folded(numbered) in taken):
            number += 1
            numbered = f"{name} {number}"
        names[index] = numbered
        seen.add(_folded(numbered))
    return [replace(case, name=name) for case, name in zip(cases, names, strict=True)]


def _folded(name: str) -> str:
    """Return one text for names that some file system takes for the same file."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
