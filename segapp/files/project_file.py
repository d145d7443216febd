"""Projects: strokes, classes, settings and where the image is, in one file.

The file is a ZIP archive that holds ``project.json`` and, when there is one, the learnt model
as ``model`` and what is carried of an answer as ``answer`` and ``outline``. Paths are stored
relative to the project, so that a folder can be moved. An answer can be made again, strokes
cannot: what is damaged of it is left out, and programs that do not know it open the project too,
so that the version stays.
"""

from __future__ import annotations

import errno
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from segapp.files.archive_parts import opened_archive, read_part
from segapp.files.damage import DAMAGE
from segapp.files.file_names import name_in, with_name
from segapp.files.pages import file_of
from segapp.files.plain_document import (
    classes_to_plain,
    document_from_plain,
    marks_to_plain,
    start_to_plain,
)
from segapp.files.showing_file import showing_to_plain
from segapp.values.carried_answer import LARGEST_OUTLINE, MOST_REGIONS, CarriedAnswer
from segapp.values.checked import field, fields, from_json, text, whole
from segapp.values.document import MOST_CLASSES
from segapp.values.plain_settings import from_plain, to_plain
from segapp.values.settings import FeatureGroup
from segapp.values.showing import AS_IT_COMES
from segapp.values.wording import quoted, reason, shown
from shlcore.atomic_file import replacing

if TYPE_CHECKING:
    from segapp.values.document import Document
    from segapp.values.settings import Settings

PROJECT_SUFFIX = ".segapp"
VERSION = 4
"""The newest there is. 2 has answers of models, and retouches; 3 has how the picture is shown,
and pages; 4 an encoder. What is without them is written for older programs too."""

_CONTENT, _MODEL, _ANSWER, _OUTLINE = "project.json", "model", "answer", "outline"
_FORMAT = "segapp project"
# Bytes of the parts unpacked. A mask of 100 megapixels that came as a picture has 17 million.
_LARGEST_CONTENT, _LARGEST_MODEL = 128 << 20, 128 << 20
_LARGEST_ANSWER = MOST_CLASSES * MOST_REGIONS
_DATE = (1980, 1, 1, 0, 0, 0)  # equal projects give equal files


class ProjectError(ValueError):
    """A project cannot be opened; the message is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class Project:
    """All that is needed to go on working, or to get the same answer again.

    ``image_path`` is where the image should be; whether it is there, and still the one with
    ``image_sha256``, is for the caller to see. ``answer`` changes nothing but how long the first
    update takes.
    """

    document: Document
    settings: Settings
    image_path: Path
    image_sha256: str
    model: bytes | None = None
    answer: CarriedAnswer | None = None


def save_project(path: str | Path, project: Project) -> None:
    """Write a project; the file is only ever replaced by a complete one."""
    path = Path(path)
    image: dict[str, Any] = {"sha256": project.image_sha256}
    with_name(image, "relative", _relative(project.image_path, path.parent))
    with_name(image, "absolute", str(project.image_path.absolute()))
    content = {
        "format": _FORMAT,
        "version": _version_of(project),
        "image": image,
        "classes": classes_to_plain(project.document.classes),
        "strokes": marks_to_plain(project.document.strokes),
        "settings": to_plain(project.settings),
    }
    answer = project.answer
    if answer is not None:
        content["answer"] = {"digest": answer.digest, "classes": answer.n_classes}
    if project.document.start is not None:
        content["start"] = start_to_plain(project.document.start)
    if project.document.retouches:
        content["retouches"] = marks_to_plain(project.document.retouches)
    if project.document.showing != AS_IT_COMES:
        content["showing"] = showing_to_plain(project.document.showing)
    packed = json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8")
    if len(packed) > _LARGEST_CONTENT or len(project.model or b"") > _LARGEST_MODEL:
        raise OSError(
            errno.EFBIG,
            f"the strokes have {len(packed) >> 20} MB, and a project of more than "
            f"{_LARGEST_CONTENT >> 20} MB could not be opened again",
            str(path),
        )
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(_CONTENT, _DATE), packed, zipfile.ZIP_DEFLATED)
        if project.model is not None:
            archive.writestr(zipfile.ZipInfo(_MODEL, _DATE), project.model, zipfile.ZIP_STORED)
        if answer is not None:
            archive.writestr(zipfile.ZipInfo(_ANSWER, _DATE), answer.shares, zipfile.ZIP_DEFLATED)
            archive.writestr(zipfile.ZipInfo(_OUTLINE, _DATE), answer.outline, zipfile.ZIP_STORED)


def is_project(path: Path) -> bool:
    """Tell a project from an image by its name."""
    return path.suffix.lower() == PROJECT_SUFFIX


def load_project(path: str | Path) -> Project:
    """Open a project.

    Raises
    ------
    ProjectError
        When the file is missing, no project, damaged, or of a newer version.
    """
    path = Path(path)
    with opened_archive(path, "a project", ProjectError) as archive:
        return _read(archive, path)


def _read(archive: zipfile.ZipFile, path: Path) -> Project:
    names = archive.namelist()
    if _CONTENT not in names:
        raise ProjectError(f"{shown(path.name)} is not a project.")
    packed = read_part(archive, _CONTENT, _LARGEST_CONTENT)
    model = read_part(archive, _MODEL, _LARGEST_MODEL) if _MODEL in names else None
    try:
        content = fields(from_json(packed, _CONTENT), _CONTENT)
        _check_version(path, field(content, "format"), field(content, "version"))
        image = fields(field(content, "image"), "image")
        return Project(
            document=document_from_plain(
                field(content, "classes"),
                field(content, "strokes"),
                content.get("start"),
                content.get("retouches", []),
                content.get("showing"),
            ),
            settings=from_plain(content.get("settings", {})),
            image_path=_found(image, path.parent),
            image_sha256=text(image.get("sha256", ""), "sha256"),
            model=model,
            answer=_answer(archive, content.get("answer")),
        )
    except ProjectError:
        raise
    except ValueError as error:
        raise ProjectError(f"{shown(path.name)} is damaged: {reason(error)}.") from error


def _answer(archive: zipfile.ZipFile, plain: object) -> CarriedAnswer | None:
    """Return what is carried of an answer, if it is whole."""
    if plain is None or not {_ANSWER, _OUTLINE}.issubset(archive.namelist()):
        return None
    try:
        told = fields(plain, _ANSWER)
        return CarriedAnswer(
            text(field(told, "digest"), "digest"),
            whole(field(told, "classes"), "classes", 2, MOST_CLASSES),
            read_part(archive, _ANSWER, _LARGEST_ANSWER),
            read_part(archive, _OUTLINE, LARGEST_OUTLINE),
        )
    except DAMAGE:
        return None


def _version_of(project: Project) -> int:
    """Return the oldest version that would not drop something without a word."""
    document, path = project.document, project.image_path
    if FeatureGroup.ENCODER in project.settings.features:
        return 4
    if document.showing != AS_IT_COMES or file_of(path) != path:
        return 3
    return 2 if document.start is not None or document.retouches else 1


def _check_version(path: Path, name: object, version: object) -> None:
    if name != _FORMAT:
        raise ProjectError(f"{shown(path.name)} is not a project.")
    if whole(version, "version", 1) > VERSION:
        raise ProjectError(
            f"{shown(path.name)} was made by a newer version (format {quoted(version)}, this "
            f"program reads up to {VERSION}): update segapp to open it."
        )


def _relative(image: Path, folder: Path) -> str | None:
    try:
        relative = os.path.relpath(image.absolute(), folder.absolute())
    except ValueError:  # another drive
        return None
    return Path(relative).as_posix()


def _found(image: dict[str, Any], folder: Path) -> Path:
    """Choose the first of the stored places that holds a file; none: the one by the project."""
    relative, absolute = name_in(image, "relative"), name_in(image, "absolute")
    places = [folder / PurePosixPath(relative)] if relative else []
    if absolute:
        places.append(Path(absolute))
    if not places:
        raise ValueError("it names no image")
    places.append(folder / places[0].name)
    chosen = next((place for place in places if os.path.isfile(file_of(place))), places[0])
    return Path(os.path.normpath(chosen))
