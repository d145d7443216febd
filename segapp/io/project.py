"""Project files: strokes, classes, settings and the image path."""

from __future__ import annotations

import base64
import errno
import hashlib
import io
import json
import os
import zipfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from segapp.io.control_files import open_regular
from segapp.io.folder_files import display_from_plain, display_to_plain
from segapp.io.marks import (
    PackedMarks,
    bytes_from_plain,
    mark_from_plain,
    marks_from_plain,
    marks_to_plain,
    point_from_plain,
    unpack_marks,
)
from segapp.io.pages import DAMAGE, MAX_PIXELS, page_file
from segapp.model.answer import (
    MAX_BOUNDARY_BYTES,
    MAX_PACKED_LABELS,
    MAX_REGIONS,
    AnswerSnapshot,
    StoredLabels,
)
from segapp.model.classes import MAX_CLASSES, ClassInfo, ObjectInfo
from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.document import NO_MARKS, Document, Stroke
from segapp.model.labelling import InitialLabels
from segapp.model.settings import FeatureGroup, from_plain, to_plain
from segapp.model.validation import (
    SegappError,
    from_json,
    load_file_name,
    reason,
    require_field,
    require_int,
    require_list,
    require_object,
    require_text,
    sanitize,
    short_repr,
    store_file_name,
)
from shlcore.atomic_file import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segapp.model.classes import Key
    from segapp.model.document import Mark
    from segapp.model.settings import Settings


MAX_NAME_LENGTH = 1000


def classes_to_plain(classes: tuple[ClassInfo, ...]) -> list[dict[str, Any]]:
    """Return classes as JSON values."""
    return [_class_to_plain(info) for info in classes]


def classes_from_plain(plain: object) -> tuple[ClassInfo, ...]:
    """Make the classes of a document."""
    return tuple(_class(info) for info in require_list(plain, "classes", 2, MAX_CLASSES))


def start_to_plain(start: InitialLabels) -> dict[str, Any]:
    """Return initial labels as JSON values."""
    plain: dict[str, Any] = {
        "name": start.name,
        "size": [start.height, start.width],
        "classes": start.n_classes,
        "labels": base64.b64encode(start.labels).decode("ascii"),
        "margin": base64.b64encode(start.margin).decode("ascii"),
    }
    return plain | {"propagated": True} if start.propagated else plain


def objects_to_plain(objects: tuple[ObjectInfo, ...]) -> list[dict[str, Any]]:
    """Return names, flags and anchors of objects as JSON values."""
    rows = []
    for info in objects:
        row: dict[str, Any] = {"class": info.label, "number": info.number}
        row |= {"name": info.name} if info.name else {}
        row |= {flag: True for flag in ("crowd", "occluded") if getattr(info, flag)}
        row |= {"anchors": [[x, y] for x, y in info.anchors]} if info.anchors else {}
        rows.append(row)
    return rows


def document_to_plain(document: Document, strokes: PackedMarks) -> dict[str, Any]:
    """Return a document as JSON values, but for its older strokes."""
    plain: dict[str, Any] = {
        "classes": classes_to_plain(document.classes),
        "strokes": strokes.newest,
    }
    if document.initial is not None:
        plain["start"] = start_to_plain(document.initial)
    if document.retouches:
        plain["retouches"] = marks_to_plain(document.retouches)
    if document.display != DEFAULT_DISPLAY:
        plain["showing"] = display_to_plain(document.display)
    if document.objects:
        plain["objects"] = objects_to_plain(document.objects)
    if document.cuts:
        plain["cuts"] = marks_to_plain(document.cuts)
    if document.hair:
        plain["hair"] = marks_to_plain(document.hair)
    return plain


def document_from_plain(content: dict[str, Any], older: Iterable[Mark] = ()) -> Document:
    """Make a document from the JSON values of a project, and its older strokes."""
    start, display = content.get("start"), content.get("showing")
    return Document(
        classes_from_plain(require_field(content, "classes")),
        NO_MARKS.plus(*older, *marks_from_plain(require_field(content, "strokes"), "strokes")),
        None if start is None else _start(require_object(start, "start")),
        marks_from_plain(content.get("retouches", []), "retouches"),
        DEFAULT_DISPLAY if display is None else display_from_plain(display),
        tuple(_object(row) for row in require_list(content.get("objects", []), "objects")),
        tuple(_cut(row) for row in require_list(content.get("cuts", []), "cuts")),
        tuple(marks_from_plain(content.get("hair", []), "hair")),
    )


def _object(plain: object) -> ObjectInfo:
    row = require_object(plain, "objects")
    return ObjectInfo(
        require_int(require_field(row, "class"), "class"),
        require_int(require_field(row, "number"), "number"),
        require_text(row.get("name", ""), "name", MAX_NAME_LENGTH),
        row.get("crowd") is True,
        row.get("occluded") is True,
        tuple(
            point_from_plain(point) for point in require_list(row.get("anchors", []), "anchors")
        ),
    )


def _cut(plain: object) -> Stroke:
    mark = mark_from_plain(require_object(plain, "cuts"))
    if not isinstance(mark, Stroke):
        raise SegappError("cuts: wanted lines, got a patch")
    return mark


def _start(plain: dict[str, Any]) -> InitialLabels:
    height, width = (
        require_int(part, "size", 1, MAX_PIXELS)
        for part in require_list(require_field(plain, "size"), "size", 2, 2)
    )
    if height * width > MAX_PIXELS:
        raise SegappError(f"size: wanted at most {MAX_PIXELS} pixels, got {height * width}")
    start = InitialLabels(
        require_text(require_field(plain, "name"), "name", MAX_NAME_LENGTH),
        height,
        width,
        bytes_from_plain(require_field(plain, "labels"), "labels"),
        bytes_from_plain(require_field(plain, "margin"), "margin"),
        require_int(require_field(plain, "classes"), "classes", 1, MAX_CLASSES),
        plain.get("propagated") is True,
    )
    start.labelling(start.n_classes)  # says what is wrong with the bytes
    return start


def _class_to_plain(info: ClassInfo) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": info.name, "colour": list(info.colour)}
    if info.key:
        plain["key"] = info.key
    if info.background:
        plain["background"] = True
    if info.split:
        plain["split"] = True
    return plain


def _class(plain: object) -> ClassInfo:
    info = require_object(plain, "classes")
    red, green, blue = (
        require_int(part, "colour", 0, 255)
        for part in require_list(require_field(info, "colour"), "colour", 3, 3)
    )
    return ClassInfo(
        require_text(require_field(info, "name"), "name", MAX_NAME_LENGTH),
        (red, green, blue),
        require_text(info.get("key", ""), "key", 1),
        info.get("background") is True,
        info.get("split") is True,
    )


_PIECE = 1 << 20
_MOST_MEMBERS = 1000


class TooLargeError(SegappError):
    """A member unpacks to more than it may hold."""


@contextmanager
def open_archive(path: Path, wanted: str, error: type[SegappError]) -> Iterator[zipfile.ZipFile]:
    """Open an archive; turn all exceptions into ``error`` with one sentence.

    ``wanted`` is the expected kind of file, with its article.
    """
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            yield archive
    except error:
        raise
    except FileNotFoundError as cause:
        raise error("There is no file {}.", sanitize(path)) from cause
    except IsADirectoryError as cause:
        raise error("{} is a folder: wanted {}.", sanitize(path), wanted) from cause
    except OSError as cause:
        told = sanitize(cause.strerror) if cause.strerror else reason(cause)
        raise error("{} cannot be read: {}.", sanitize(path), told) from cause
    except MemoryError as cause:
        raise error("{} does not fit into the memory.", sanitize(path.name)) from cause
    except DAMAGE as cause:
        raise error(
            "{} is damaged or not {}: {}.", sanitize(path.name), wanted, reason(cause)
        ) from cause


def read_member(archive: zipfile.ZipFile, name: str, largest: int) -> bytes:
    """Unpack one member, up to ``largest`` bytes whatever size it declares.

    Raises `KeyError` when there is no such part, and whatever `zipfile` finds wrong with it.
    """
    unpacked = io.BytesIO()
    with _opened(archive, archive.getinfo(name)) as part:
        for piece in _pieces(part, name, largest):
            unpacked.write(piece)
    return unpacked.getvalue()


def check_members(archive: zipfile.ZipFile, largest: int) -> None:
    """Unpack all members, keeping none, to check their size together."""
    members = archive.infolist()
    if len(members) > _MOST_MEMBERS:
        raise TooLargeError(f"wanted at most {_MOST_MEMBERS} parts, got {len(members)}")
    rest = largest
    for member in members:
        with _opened(archive, member) as part:
            for piece in _pieces(part, member.filename, rest):
                rest -= len(piece)


def _opened(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    # The others are unpacked in pieces of any size.
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile(f"{sanitize(member.filename)} is packed in an unknown way")
    return archive.open(member)


def _pieces(part: IO[bytes], name: str, largest: int) -> Iterator[bytes]:
    total = 0
    while piece := part.read(_PIECE):
        total += len(piece)
        if total > largest:
            raise TooLargeError(
                f"{sanitize(name)} unpacks to more than the {largest >> 20} MB it may hold"
            )
        yield piece


# The file is a ZIP archive that holds ``project.json`` and, when there is one, the learnt model
# as ``model`` and what is carried of an answer as ``answer`` and ``outline``. Paths are stored
# relative to the project, so that a folder can be moved. An answer can be made again, strokes
# cannot: what is damaged of it is left out, and programs that do not know it open the project too,
# so that the version stays.

PROJECT_SUFFIX, UNFINISHED_SUFFIX = ".segapp", ".unfinished"
_LONGEST_NAME = 200  # bytes; file systems allow 255
VERSION = 6
"""The newest there is. 2 has answers of models, and retouches; 3 has how the picture is shown,
and pages; 4 an encoder; 5 objects and hair; 6 packed strokes. What is without them is
written for older programs too."""

_CONTENT, _STROKES, _MODEL = "project.json", "strokes", "model"
_ANSWER, _OUTLINE, _LABELS, _OBJECTS = "answer", "outline", "labels", "objects"
_FORMAT = "segapp project"
# Bytes of the parts unpacked. A mask of 100 megapixels that came as a picture has 17 million.
_LARGEST_CONTENT, _LARGEST_MODEL = 128 << 20, 128 << 20
_LARGEST_ANSWER = MAX_CLASSES * MAX_REGIONS
_DATE = (1980, 1, 1, 0, 0, 0)  # equal projects give equal files


class ProjectError(SegappError):
    """A project cannot be opened; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class ProjectLocation:
    """A project's file, and the digest of the bytes there that a save may replace."""

    path: Path
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Revision:
    """The number of edits of an image's work, as counted by a ``writer``.

    Of one writer, the higher number is the newer work; those of two can not be compared.
    """

    number: int = 0
    writer: str = ""

    def is_newer_than(self, other: Revision) -> bool:
        """Return whether it is certainly newer than another one."""
        return self.writer == other.writer != "" and self.number > other.number


_NO_REVISION = Revision()


@dataclass(frozen=True, slots=True)
class Project:
    """The content of a project file.

    ``image_path`` is where the image should be; whether it is there, and still the one with
    ``image_sha256``, is for the caller to see. ``answer`` changes nothing but how long the first
    update takes, and ``labels`` whether there has to be one. ``base`` is the saved project that a
    recovery copy continues. Revisions are ordered, whatever the clocks say.
    """

    document: Document
    settings: Settings
    image_path: Path
    image_sha256: str
    model: bytes | None = None
    answer: AnswerSnapshot | None = None
    labels: StoredLabels | None = None
    base: ProjectLocation | None = None
    revision: Revision = _NO_REVISION


def save_project(path: str | Path, project: Project) -> None:
    """Write a project; a reader never sees a part of it."""
    path = Path(path)
    image: dict[str, Any] = {"sha256": project.image_sha256}
    store_file_name(image, "relative", _relative(project.image_path, path.parent))
    store_file_name(image, "absolute", str(project.image_path.absolute()))
    strokes = PackedMarks.of(project.document.strokes)
    content = {
        "format": _FORMAT,
        "version": _version_of(project, strokes),
        "image": image,
        **document_to_plain(project.document, strokes),
        "settings": to_plain(project.settings),
    }
    answer = project.answer
    if answer is not None:
        content["answer"] = {"digest": answer.digest, "classes": answer.n_classes}
    labels = project.labels
    if labels is not None:
        content["labels"] = {"digest": labels.digest, "objects": labels.keys}
    content |= _origin_to_plain(project)
    packed = json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8")
    size = strokes.size + len(packed)
    if size > _LARGEST_CONTENT or len(project.model or b"") > _LARGEST_MODEL:
        raise OSError(
            errno.EFBIG,
            f"the strokes have {size >> 20} MB, and a project of more than "
            f"{_LARGEST_CONTENT >> 20} MB could not be opened again",
            str(path),
        )
    with (
        atomic_write(path, beside=unfinished(path)) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        archive.writestr(zipfile.ZipInfo(_CONTENT, _DATE), packed, zipfile.ZIP_DEFLATED)
        if strokes.older:
            archive.writestr(zipfile.ZipInfo(_STROKES, _DATE), strokes.older, zipfile.ZIP_STORED)
        if project.model is not None:
            archive.writestr(zipfile.ZipInfo(_MODEL, _DATE), project.model, zipfile.ZIP_STORED)
        if answer is not None:
            archive.writestr(zipfile.ZipInfo(_ANSWER, _DATE), answer.shares, zipfile.ZIP_DEFLATED)
            archive.writestr(zipfile.ZipInfo(_OUTLINE, _DATE), answer.boundary, zipfile.ZIP_STORED)
        if labels is not None:
            archive.writestr(zipfile.ZipInfo(_LABELS, _DATE), labels.labels, zipfile.ZIP_DEFLATED)
        if labels is not None and labels.objects:
            archive.writestr(zipfile.ZipInfo(_OBJECTS, _DATE), labels.objects)


def unfinished(path: Path) -> Path:
    """Return the file that becomes a project when it is written; see `load_project`."""
    name = path.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return path.with_name(f".{name}{UNFINISHED_SUFFIX}")


def is_project(path: Path) -> bool:
    """Tell a project from an image by its name."""
    return path.suffix.lower() == PROJECT_SUFFIX


def load_project(path: str | Path) -> Project:
    """Open a project.

    Where a program, or the whole machine, was stopped between writing a project and moving it
    into place, the complete file that is left is the project.

    Raises
    ------
    ProjectError
        When the file is missing, no project, damaged, or of a newer version.
    """
    path = Path(path)
    left = unfinished(path)
    if left.is_file():
        with suppress(ProjectError), open_archive(left, "a project", ProjectError) as archive:
            return _read(archive, path)
    with open_archive(path, "a project", ProjectError) as archive:
        return _read(archive, path)


def _read(archive: zipfile.ZipFile, path: Path) -> Project:
    names = archive.namelist()
    if _CONTENT not in names:
        raise ProjectError("{} is not a project.", sanitize(path.name))
    packed = read_member(archive, _CONTENT, _LARGEST_CONTENT)
    older = read_member(archive, _STROKES, _LARGEST_CONTENT) if _STROKES in names else b""
    model = read_member(archive, _MODEL, _LARGEST_MODEL) if _MODEL in names else None
    try:
        content = require_object(from_json(packed, _CONTENT), _CONTENT)
        _check_version(path, require_field(content, "format"), require_field(content, "version"))
        image = require_object(require_field(content, "image"), "image")
        return Project(
            document=document_from_plain(content, unpack_marks(older, _LARGEST_CONTENT)),
            settings=from_plain(content.get("settings", {})),
            image_path=_found(image, path.parent),
            image_sha256=require_text(image.get("sha256", ""), "sha256"),
            model=model,
            answer=_answer(archive, content.get("answer")),
            labels=_labels(archive, content.get("labels")),
            base=_base(content.get("base")),
            revision=_revision(content.get("revision", {})),
        )
    except ProjectError:
        raise
    except SegappError as error:
        raise ProjectError("{} is damaged: {}.", sanitize(path.name), reason(error)) from error


def _answer(archive: zipfile.ZipFile, plain: object) -> AnswerSnapshot | None:
    """Return the snapshot of an answer, if it is complete."""
    if plain is None or not {_ANSWER, _OUTLINE}.issubset(archive.namelist()):
        return None
    try:
        told = require_object(plain, _ANSWER)
        return AnswerSnapshot(
            require_text(require_field(told, "digest"), "digest"),
            require_int(require_field(told, "classes"), "classes", 2, MAX_CLASSES),
            read_member(archive, _ANSWER, _LARGEST_ANSWER),
            read_member(archive, _OUTLINE, MAX_BOUNDARY_BYTES),
        )
    except DAMAGE:
        return None


def _labels(archive: zipfile.ZipFile, plain: object) -> StoredLabels | None:
    """Return the labels of an answer, if they are complete."""
    if plain is None or _LABELS not in archive.namelist():
        return None
    try:
        told = require_object(plain, _LABELS)
        rows = require_list(told.get("objects", []), "objects")
        return StoredLabels(
            require_text(require_field(told, "digest"), "digest"),
            read_member(archive, _LABELS, MAX_PACKED_LABELS),
            read_member(archive, _OBJECTS, MAX_PACKED_LABELS) if rows else b"",
            tuple(_key(row) for row in rows),
        )
    except DAMAGE:
        return None


def _key(plain: object) -> Key:
    label, number = require_list(plain, "objects", 2, 2)
    return require_int(label, "objects", 0, MAX_CLASSES), require_int(number, "objects", 0)


def _base(plain: object) -> ProjectLocation | None:
    values = require_object(plain, "base") if plain is not None else {}
    path = load_file_name(values, "path")
    if path is None:
        return None
    return ProjectLocation(Path(path), require_text(require_field(values, "digest"), "digest"))


def _origin_to_plain(project: Project) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    if project.base is not None:
        plain["base"] = {"digest": project.base.digest}
        store_file_name(plain["base"], "path", str(project.base.path.absolute()))
    if project.revision != _NO_REVISION:
        number, writer = project.revision.number, project.revision.writer
        plain["revision"] = {"number": number, "writer": writer}
    return plain


def _revision(plain: object) -> Revision:
    values = require_object(plain, "revision")
    return Revision(
        require_int(values.get("number", 0), "revision", 0),
        require_text(values.get("writer", ""), "writer"),
    )


def _version_of(project: Project, strokes: PackedMarks) -> int:
    """Return the oldest version whose readers lose nothing silently."""
    document, path = project.document, project.image_path
    if strokes.older:
        return 6
    if document.divides_objects or document.hair:
        return 5
    if FeatureGroup.ENCODER in project.settings.features:
        return 4
    if document.display != DEFAULT_DISPLAY or page_file(path) != path:
        return 3
    return 2 if document.initial is not None or document.retouches else 1


def _check_version(path: Path, name: object, version: object) -> None:
    if name != _FORMAT:
        raise ProjectError("{} is not a project.", sanitize(path.name))
    if require_int(version, "version", 1) > VERSION:
        raise ProjectError(
            "{} was made by a newer version (format {}, this program reads up to {}): "
            "update segapp to open it.",
            sanitize(path.name),
            short_repr(version),
            VERSION,
        )


def _relative(image: Path, folder: Path) -> str | None:
    try:
        relative = os.path.relpath(image.absolute(), folder.absolute())
    except ValueError:  # another drive
        return None
    return Path(relative).as_posix()


def _found(image: dict[str, Any], folder: Path) -> Path:
    """Return the first stored path that holds a file, or else the first of all."""
    relative, absolute = load_file_name(image, "relative"), load_file_name(image, "absolute")
    places = [folder / PurePosixPath(relative)] if relative else []
    if absolute:
        places.append(Path(absolute))
    if not places:
        raise SegappError("it names no image")
    places.append(folder / places[0].name)
    chosen = next((place for place in places if os.path.isfile(page_file(place))), places[0])
    return Path(os.path.normpath(chosen))
