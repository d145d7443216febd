"""Reading pictures and projects, beside the window's thread."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QCollator, QCoreApplication, QLocale, Qt

from segapp.files.display_depth import shown_anew
from segapp.files.images import ImageError, load_image
from segapp.files.pages import file_of, page_of
from segapp.files.project_file import PROJECT_SUFFIX, Project, ProjectError, load_project
from segapp.files.project_places import project_names
from segapp.qt.canvas.layers import Layer
from segapp.qt.canvas.shared_pixels import SharedPixels
from segapp.qt.files.pasting import keep_picture
from segapp.qt.language import worded
from segapp.qt.session.picture_state import Content, PictureState
from segapp.values.document import Document
from segapp.values.history import History
from segapp.values.settings import DEFAULT_SETTINGS
from segapp.values.showing import AS_IT_COMES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from PySide6.QtGui import QImage

    from segapp.values.picture import Picture
    from segapp.values.settings import Settings
    from segapp.values.showing import Showing

    Ready = tuple[Picture, Layer]

_BLANK = Document()


@dataclass(frozen=True, slots=True)
class FoundProject:
    """A project as it was on disk; ``digest`` is of the file's bytes."""

    path: Path
    digest: str
    project: Project
    wanted: bool  # whether it was asked for itself, not only found beside its image


@dataclass(frozen=True, slots=True)
class Opened:
    """A picture that is ready to be shown, and the project on disk that belongs to it.

    What becomes of it depends on the strokes that the picture has when it arrives, which may
    be others than when the reading began: `arrived_state` brings the two together.
    """

    picture: Picture
    layer: Layer
    found: FoundProject | None = None
    warning: str = ""


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
    pages = {path: page_of(path) for path in paths}
    return sorted(paths, key=lambda path: (collator.sortKey(pages[path][0].name), pages[path][1]))


def project_beside(image: Path) -> Path:
    """Return where the project of an image is looked for, and saved by default."""
    return image.with_suffix(PROJECT_SUFFIX)


def digest_of(path: Path) -> str:
    """Return a digest of a file's bytes; empty when there is no file, or none to be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def open_pasted(image: QImage, path: Path) -> Iterator[Opened]:
    """Write a picture to a file of its own, and load it as any other."""
    keep_picture(image, path)
    yield from open_image(path)


def open_project(path: Path, image: Path | None = None) -> Iterator[Opened | ImageMissing]:
    """Load a project with its image, or with the one that the user has found instead."""
    found = _load(path, wanted=True)
    image = (image or found.project.image_path).absolute()
    if not file_of(image).is_file():
        yield ImageMissing(path, found.project)
        return
    picture = load_image(image, found.project.document.showing)
    yield Opened(picture, _layer(picture), found)


def open_image(
    path: Path,
    place: Path | None = None,
    ready: Ready | None = None,
    showing: Showing = AS_IT_COMES,
) -> Iterator[Opened]:
    """Load an image with its project; one that is damaged is told, and left alone.

    The project is looked for beside the image, or in another ``place``. What was made ``ready``
    beforehand is not made again. Without a project the image is shown as ``showing`` says.
    """
    ready = ready or prepare(path, showing)
    picture, layer = ready
    for name in reversed(project_names(path)):
        project = (place or path.parent) / name
        if not project.is_file():
            continue
        try:
            found = _load(project, wanted=False)
        except ProjectError as error:
            told = _tr("The strokes of {} are not shown: {} The file is left as it is.")
            yield Opened(picture, layer, None, told.format(path.name, worded(error)))
            return
        if found.project.image_path.absolute() == path.absolute():
            yield Opened(*_shown_as(ready, found.project.document.showing), found)
            return
    yield Opened(*_shown_as(ready, showing))


def prepare(path: Path, showing: Showing = AS_IT_COMES) -> Ready:
    """Load an image and make what the canvas draws."""
    picture = load_image(path, showing)
    return picture, _layer(picture)


def _shown_as(ready: Ready, showing: Showing) -> Ready:
    picture = shown_anew(ready[0], showing)
    return ready if picture is ready[0] else (picture, _layer(picture))


def _load(path: Path, *, wanted: bool) -> FoundProject:
    # The digest first: should the file be replaced in between, the next save asks in vain,
    # which is better than not at all.
    return FoundProject(path, digest_of(path), load_project(path), wanted)


def arrived_state(
    opened: Opened,
    known: PictureState | None,
    settings: Settings = DEFAULT_SETTINGS,
    begun: Document = _BLANK,
) -> PictureState:
    """Return the strokes of a picture that has been read.

    Strokes that are ``known`` stay; a project that was asked for becomes an edit on top of
    them, which undo takes back. ``settings``, and the classes of ``begun``, are for a picture
    without any.
    """
    picture, found = opened.picture, opened.found
    path, sha256 = picture.path.absolute(), picture.sha256
    if known is not None and (not _touched(known) or _outdated(known, found)):
        known = None  # it begins with what is on disk, or with the folder's classes
    if found is None or (known is not None and not found.wanted):
        state = known or PictureState(path, sha256, History(begun), settings=settings, begun=begun)
        return replace(state, sha256=sha256)
    content = Content(found.project.document, found.project.settings)
    state = known or PictureState(path, sha256, History(content.document))
    name = _tr("opening {}").format(found.path.name)
    return replace(state, sha256=sha256).with_project(name, content, found.path, found.digest)


def _outdated(state: PictureState, found: FoundProject | None) -> bool:
    """Tell whether somebody else has saved since all strokes were saved here."""
    if found is None or found.wanted or state.unsaved:
        return False
    return found.path == state.project and found.digest != state.digest


def _touched(state: PictureState) -> bool:
    return state.unsaved or state.saved is not None or bool(state.history.past)


def arrival_notice(opened: Opened, known: PictureState | None, state: PictureState) -> str:
    """Return what is to be said about a picture that has been read, often nothing."""
    picture, found = opened.picture, opened.found
    if known is not None and known.unsaved and known.content != state.content:
        return _tr("Your unsaved strokes are kept: undo brings them back")
    if found is not None and (known is None or found.wanted):
        before = found.project.image_sha256
    else:
        before = known.sha256 if known is not None else ""
    if before and before != picture.sha256:
        told = _tr("{} is not the same file as when the strokes were made")
        return told.format(picture.path.name)
    return worded(picture.note)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Opening", text)


def _layer(picture: Picture) -> Layer:
    try:
        return Layer.over(SharedPixels.of_picture(picture.rgb))
    except MemoryError as error:
        raise ImageError(f"{picture.path.name} does not fit into the memory.") from error
