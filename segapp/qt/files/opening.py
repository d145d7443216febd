"""Reading pictures and projects, beside the window's thread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cmp_to_key
from typing import TYPE_CHECKING

from PySide6.QtCore import QCollator, QCoreApplication, QLocale, Qt

from segapp.files.images import ImageError, load_image
from segapp.files.project_file import PROJECT_SUFFIX, Project, load_project
from segapp.qt.canvas.layers import Layer, opaque
from segapp.qt.session.picture_state import Content, PictureState
from segapp.values.history import History
from segapp.values.settings import DEFAULT_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segapp.values.picture import Picture
    from segapp.values.settings import Settings


@dataclass(frozen=True, slots=True)
class Opened:
    """A picture that is ready to be shown, with the strokes that belong to it."""

    picture: Picture
    layer: Layer
    state: PictureState
    notice: str = ""


@dataclass(frozen=True, slots=True)
class ImageMissing:
    """A project whose image is not where it should be."""

    project_path: Path
    project: Project


def as_people_count(paths: list[Path]) -> list[Path]:
    """Sort files by their names as people do: 2 before 10, and small letters as large ones."""
    locale = QLocale()
    if locale.language() is QLocale.Language.C:  # which sorts by code and knows no numbers
        locale = QLocale(QLocale.Language.English)
    collator = QCollator(locale)
    collator.setNumericMode(True)
    collator.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
    by_name = cmp_to_key(collator.compare)
    return sorted(paths, key=lambda path: by_name(path.name))


def is_project(path: Path) -> bool:
    """Tell a project from an image by its name."""
    return path.suffix.lower() == PROJECT_SUFFIX


def project_beside(image: Path) -> Path:
    """Return where the project of an image is looked for, and saved by default."""
    return image.with_suffix(PROJECT_SUFFIX)


def open_project(path: Path, image: Path | None = None) -> Iterator[Opened | ImageMissing]:
    """Load a project with its image, or with the one that the user has found instead."""
    project = load_project(path)
    image = (image or project.image_path).absolute()
    if not image.is_file():
        yield ImageMissing(path, project)
        return
    picture = load_image(image)
    yield _with_project(picture, path, project)


def open_image(
    path: Path, known: PictureState | None, settings: Settings = DEFAULT_SETTINGS
) -> Iterator[Opened]:
    """Load an image with the strokes it had: in this session, or in the project beside it."""
    picture = load_image(path)
    if known is not None:
        notice = _notice(picture, known.sha256)
        yield Opened(picture, _layer(picture), replace(known, sha256=picture.sha256), notice)
        return
    beside = project_beside(path)
    if beside.is_file():
        project = load_project(beside)
        if project.image_path.absolute() == path.absolute():
            yield _with_project(picture, beside, project)
            return
    state = PictureState(path, picture.sha256, settings=settings)
    yield Opened(picture, _layer(picture), state, picture.note)


def _with_project(picture: Picture, path: Path, project: Project) -> Opened:
    content = Content(project.document, project.settings)
    state = PictureState(
        picture.path.absolute(),
        picture.sha256,
        History(project.document),
        project.settings,
        content,
        path,
    )
    return Opened(picture, _layer(picture), state, _notice(picture, project.image_sha256))


def _notice(picture: Picture, sha256: str) -> str:
    if sha256 and sha256 != picture.sha256:
        told = QCoreApplication.translate(
            "Opening", "{} is not the same file as when the strokes were made"
        )
        return told.format(picture.path.name)
    return picture.note


def _layer(picture: Picture) -> Layer:
    try:
        return Layer(opaque(picture.rgb))
    except MemoryError as error:
        raise ImageError(f"{picture.path.name} does not fit into the memory.") from error
