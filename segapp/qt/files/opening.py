"""Reading images and projects off the window's thread."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCollator, QCoreApplication, QLocale, QObject, Qt
from PySide6.QtGui import QImage

from segapp.app.project_files import find_project, read_project
from segapp.app.project_store import pasted_folder
from segapp.app.segmenter import Segmenter
from segapp.app.state import Content, History, PictureState
from segapp.app.workspace import FolderWorkspace, iter_images
from segapp.io.deep_images import rerender
from segapp.io.images import load_image
from segapp.io.pages import ImageError, page_file, parse_page
from segapp.model.answer import Preview
from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.document import Document
from segapp.model.settings import DEFAULT_SETTINGS
from segapp.model.validation import sanitize
from segapp.qt.canvas.layers import Layer, ZeroCopyImage
from segapp.qt.i18n import translate
from segapp.qt.session.jobs import Jobs, unexpected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtCore import QMimeData

    from segapp.app.project_files import FoundProject
    from segapp.app.project_store import ProjectLocationPolicy
    from segapp.app.state import StoredResult
    from segapp.io.project import Project
    from segapp.model.answer import MakeTrainer
    from segapp.model.display import DisplaySettings
    from segapp.model.picture import Picture
    from segapp.model.settings import Settings


_IMAGES_AT_ONCE = 50  # that are listed before one can stop
_PNG_QUALITY = 90  # PNG is lossless at any; this one is twice as fast as the default


def pasted_files(data: QMimeData | None) -> list[Path]:
    """Return pasted or dropped files; an empty clipboard may have no data."""
    if data is None:
        return []
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]


def pasted_picture(data: QMimeData | None) -> QImage | None:
    """Return a pasted or dropped picture that is not a file; None without one."""
    if data is None or not data.hasImage():
        return None
    image = QImage(data.imageData())
    return None if image.isNull() else image


def pasted_path() -> Path:
    """Return the file of the next pasted picture, named by the time."""
    name = datetime.now().astimezone().strftime("pasted %Y-%m-%d %H.%M.%S")
    path = pasted_folder() / f"{name}.png"
    number = 2
    while path.exists():
        path = path.with_name(f"{name} ({number}).png")
        number += 1
    return path


def save_pasted(image: QImage, path: Path) -> None:
    """Write a picture to its file, fast rather than small."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not image.save(str(path), None, _PNG_QUALITY):
        raise OSError(
            QCoreApplication.translate(
                "Pasting", "The pasted image cannot be written to {}."
            ).format(path)
        )


if TYPE_CHECKING:
    Ready = tuple[Picture, Layer]

_BLANK = Document()


@dataclass(frozen=True, slots=True)
class Opened:
    """A picture that is ready to be shown, and the project on disk that belongs to it.

    The strokes may have changed since the reading began: `arrived_state` merges both.
    ``requested`` means that the user has opened the project itself, and not its image.
    """

    picture: Picture
    layer: Layer
    found: FoundProject | None = None
    requested: bool = False
    warning: str = ""
    stored: StoredResult | None = None


@dataclass(frozen=True, slots=True)
class ImageMissing:
    """A project whose image is not where it should be."""

    project_path: Path
    project: Project


def natural_sorted(paths: list[Path]) -> list[Path]:
    """Sort files by name in natural order: 2 before 10, and case-insensitively."""
    locale = QLocale()
    if locale.language() is QLocale.Language.C:  # which sorts by code and knows no numbers
        locale = QLocale(QLocale.Language.English)
    collator = QCollator(locale)
    collator.setNumericMode(True)
    collator.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
    pages = {path: parse_page(path) for path in paths}
    return sorted(paths, key=lambda path: (collator.sortKey(pages[path][0].name), pages[path][1]))


def read_folder(folder: Path, policy: ProjectLocationPolicy) -> Iterator[FolderWorkspace | None]:
    """Yield a folder's workspace last, and None before, so that it can be stopped."""
    images = []
    for image in iter_images(folder):
        images.append(image)
        if len(images) % _IMAGES_AT_ONCE == 0:
            yield None
    yield FolderWorkspace(natural_sorted(images), folder, policy)


def open_pasted(image: QImage, path: Path) -> Iterator[Opened]:
    """Write a pasted picture to a file of its own, and load it as any other."""
    save_pasted(image, path)
    yield from open_image(path)


def open_project(path: Path, image: Path | None = None) -> Iterator[Opened | ImageMissing]:
    """Load a project with its image, or with the one that the user has found instead."""
    found = read_project(path)
    project = found.require()
    image = (image or project.image_path).absolute()
    if not page_file(image).exists():
        yield ImageMissing(path, project)
        return
    picture = load_image(image, project.document.display)
    yield Opened(picture, _layer(picture), found, requested=True)


def open_image(
    path: Path,
    folders: tuple[Path, ...] = (),
    ready: Ready | None = None,
    display: DisplaySettings = DEFAULT_DISPLAY,
) -> Iterator[Opened]:
    """Load an image with its project, which is searched for in some folders.

    Of a project that cannot be read the user is warned. A picture that was prepared is not
    loaded again. Without a project the image is shown as ``display`` says.
    """
    ready = ready or prepare(path, display)
    found = find_project(path, *folders)
    if found is None:
        yield Opened(*_shown_as(ready, display))
    elif found.error is not None:
        text = _tr("The strokes of {} are not shown: {} The file is left as it is.")
        yield Opened(*ready, warning=text.format(sanitize(path.name), translate(found.error)))
    else:
        yield Opened(*_shown_as(ready, found.require().document.display), found)


def with_stored_result(opened: Opened, make_trainer: MakeTrainer) -> Opened:
    """Add the result that the project holds."""
    if opened.found is None:
        return opened
    segmenter = Segmenter(opened.picture, opened.found.require(), make_trainer=make_trainer)
    return replace(opened, stored=segmenter.stored_result())


def prepare(path: Path, display: DisplaySettings = DEFAULT_DISPLAY) -> Ready:
    """Load an image with the layer that the canvas draws."""
    picture = load_image(path, display)
    return picture, _layer(picture)


def _shown_as(ready: Ready, display: DisplaySettings) -> Ready:
    picture = rerender(ready[0], display)
    return ready if picture is ready[0] else (picture, _layer(picture))


def arrived_state(
    opened: Opened,
    known: PictureState | None,
    settings: Settings = DEFAULT_SETTINGS,
    begun: Document = _BLANK,
) -> PictureState:
    """Return the state of a picture that has been read.

    Strokes that are ``known`` stay; a project that was requested becomes an edit on top of
    them, which undo takes back. A picture without a project begins with ``settings`` and
    ``begun``.
    """
    picture, found = opened.picture, opened.found
    path, sha256 = picture.path.absolute(), picture.sha256
    if known is not None and (not _touched(known) or _is_outdated(known, opened)):
        known = None  # it begins with what is on disk, or with the folder's classes
    if found is None or (known is not None and not opened.requested):
        state = known or PictureState(path, sha256, History(Content(begun, settings)), begun=begun)
        return replace(state, sha256=sha256)
    project = found.require()
    content = Content(project.document, project.settings)
    state = known or PictureState(path, sha256, History(content))
    state = replace(state, revision=max(state.revision, project.revision.number))
    name = _tr("opening {}").format(found.location.path.name)
    return replace(state, sha256=sha256).with_project(name, content, found.location)


def _is_outdated(state: PictureState, opened: Opened) -> bool:
    """Return whether another process has saved the project since this window has."""
    if opened.found is None or opened.requested or state.unsaved or state.location is None:
        return False
    found = opened.found.location
    return found.path == state.location.path and found.digest != state.location.digest


def _touched(state: PictureState) -> bool:
    return state.unsaved or state.saved is not None or state.history.past is not None


def arrival_notice(opened: Opened, known: PictureState | None, state: PictureState) -> str:
    """Return a notice about a picture that has been read, often an empty one."""
    picture, found = opened.picture, opened.found
    if known is not None and known.unsaved and known.content != state.content:
        return _tr("Your unsaved strokes are kept: undo brings them back")
    if found is not None and (known is None or opened.requested):
        before = found.require().image_sha256
    else:
        before = known.sha256 if known is not None else ""
    if before and before != picture.sha256:
        text = _tr("{} is not the same file as when the strokes were made")
        return text.format(picture.path.name)
    if opened.stored is not None and isinstance(opened.stored.found, Preview):
        return _tr("The stored result is not of this version: it is learnt again")
    return translate(picture.note)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Opening", text)


def _layer(picture: Picture) -> Layer:
    try:
        return Layer.over(ZeroCopyImage.of_picture(picture.rgb))
    except MemoryError as error:
        raise ImageError(f"{picture.path.name} does not fit into the memory.") from error


# Pixels of all pictures that are kept, at some 9 bytes each: three of 12 megapixels, which are
# the open one and its neighbours.
_MOST_PIXELS, _BYTES = 37_000_000, 9

_Stamp = tuple[int, int]


class Prefetch(QObject):
    """Keeps a few decoded pictures; a file that has changed since counts as absent."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: OrderedDict[Path, tuple[_Stamp, Ready]] = OrderedDict()
        self._lock = threading.Lock()
        self._jobs = Jobs("prefetch", self)

    def take(self, path: Path) -> Ready | None:
        """Return a picture that is ready; any thread may ask."""
        with self._lock:
            kept = self._kept.get(path)
            if kept is None or kept[0] != _stamp(path):
                return None
            self._kept.move_to_end(path)
            return kept[1]

    def add(self, path: Path, ready: Ready) -> None:
        """Keep a picture that was read otherwise."""
        stamp = _stamp(path)
        if stamp is None:
            return
        with self._lock:
            self._kept[path] = stamp, ready
            self._kept.move_to_end(path)
            while len(self._kept) > 1 and self._pixels() > _MOST_PIXELS:
                self._kept.popitem(last=False)

    def _pixels(self) -> int:
        return sum(_pixels_of(ready[0]) for _, ready in self._kept.values())

    def look_ahead(self, paths: list[Path], display: DisplaySettings) -> None:
        """Read these pictures, in this order, instead of those of an earlier call."""

        def work() -> Iterator[None]:
            for path in paths:
                if self.take(path) is None:
                    with suppress(ImageError, MemoryError):  # reported when it is opened
                        self.add(path, prepare(path, display))
                yield

        self._jobs.run(work, lambda _: None, unexpected)

    def clear(self) -> None:
        """Forget all pictures: another folder is worked through."""
        self._jobs.cancel()
        with self._lock:
            self._kept.clear()

    def close(self, timeout: float | None = None) -> bool:
        """Stop reading and wait for the thread; return whether it has ended."""
        return self._jobs.close(timeout)


def _pixels_of(picture: Picture) -> int:
    """Return the number of a picture's pixels; raw values count as more of them."""
    measured = 0 if picture.raw is None else picture.raw.values.nbytes
    return picture.rgb[..., 0].size + measured // _BYTES


def _stamp(path: Path) -> _Stamp | None:
    try:
        seen = page_file(path).stat()
    except OSError:
        return None
    return seen.st_size, seen.st_mtime_ns
