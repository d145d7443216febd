"""Projects: strokes, classes, settings and where the image is, in one file.

The file is a ZIP archive that holds ``project.json`` and, when there is one, the learnt model
as ``model``. Paths are stored relative to the project, so that a folder can be moved.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from segapp.values.document import ClassInfo, Document, Mark, Patch, Stroke
from segapp.values.plain_settings import from_plain, to_plain
from shlcore.atomic_file import replacing

if TYPE_CHECKING:
    from segapp.values.settings import Settings

PROJECT_SUFFIX = ".segapp"
VERSION = 1

_CONTENT, _MODEL = "project.json", "model"
_LARGEST = 1 << 30  # bytes of an unpacked part; more is no project
_DATE = (1980, 1, 1, 0, 0, 0)  # equal projects give equal files


class ProjectError(ValueError):
    """A project cannot be opened; the message is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class Project:
    """All that is needed to go on working, or to get the same answer again.

    ``image_path`` is where the image should be; whether it is there, and still the one with
    ``image_sha256``, is for the caller to see.
    """

    document: Document
    settings: Settings
    image_path: Path
    image_sha256: str
    model: bytes | None = None


def save_project(path: str | Path, project: Project) -> None:
    """Write a project; the file is only ever replaced by a complete one."""
    path = Path(path)
    content = {
        "format": "segapp project",
        "version": VERSION,
        "image": {
            "relative": _relative(project.image_path, path.parent),
            "absolute": str(project.image_path.absolute()),
            "sha256": project.image_sha256,
        },
        "classes": [
            {"name": info.name, "colour": list(info.colour)} for info in project.document.classes
        ],
        "strokes": [_mark_to_plain(mark) for mark in project.document.strokes],
        "settings": to_plain(project.settings),
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8")
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(_CONTENT, _DATE), text, zipfile.ZIP_DEFLATED)
        if project.model is not None:
            archive.writestr(zipfile.ZipInfo(_MODEL, _DATE), project.model, zipfile.ZIP_STORED)


def load_project(path: str | Path) -> Project:
    """Open a project.

    Raises
    ------
    ProjectError
        When the file is missing, no project, damaged, or of a newer version.
    """
    path = Path(path)
    text, model = _unpack(path)
    try:
        content = json.loads(text)
        _check_version(path, content["format"], content["version"])
        return Project(
            document=_document(content),
            settings=from_plain(content.get("settings", {})),
            image_path=_found(content["image"], path.parent),
            image_sha256=str(content["image"].get("sha256", "")),
            model=model,
        )
    except ProjectError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise ProjectError(f"{path.name} is damaged: {_reason(error)}.") from error


def _check_version(path: Path, name: str, version: int) -> None:
    if name != "segapp project":
        raise ProjectError(f"{path.name} is not a project.")
    if version > VERSION:
        raise ProjectError(
            f"{path.name} was made by a newer version (format {version}, this program reads "
            f"up to {VERSION}): update segapp to open it."
        )


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return str(error).rstrip(".")


def _unpack(path: Path) -> tuple[bytes, bytes | None]:
    try:
        with zipfile.ZipFile(path) as archive:
            has_model = _MODEL in archive.namelist()
            return _part(archive, _CONTENT), _part(archive, _MODEL) if has_model else None
    except KeyError as error:
        raise ProjectError(f"{path.name} is not a project.") from error
    except ProjectError:
        raise
    except FileNotFoundError as error:
        raise ProjectError(f"There is no file {path}.") from error
    except IsADirectoryError as error:
        raise ProjectError(f"{path} is a folder: wanted a project file.") from error
    # zipfile raises the last two for compressions it does not know and for encrypted parts.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ProjectError(f"{path.name} is no project or is damaged: {error}.") from error
    except OSError as error:
        raise ProjectError(f"{path} cannot be read: {error.strerror or error}.") from error


def _part(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _LARGEST:
        raise ProjectError(f"{Path(archive.filename or '').name} is no project: it is too large.")
    return archive.read(name)


def _relative(image: Path, folder: Path) -> str | None:
    try:
        relative = os.path.relpath(image.absolute(), folder.absolute())
    except ValueError:  # another drive
        return None
    return Path(relative).as_posix()


def _found(image: dict[str, Any], folder: Path) -> Path:
    """Choose the first of the stored places that holds a file; none: the one by the project."""
    places = [folder / PurePosixPath(image["relative"])] if image.get("relative") else []
    if image.get("absolute"):
        places.append(Path(image["absolute"]))
    if not places:
        raise ProjectError("The project names no image.")
    places.append(folder / places[0].name)
    chosen = next((place for place in places if place.is_file()), places[0])
    return Path(os.path.normpath(chosen))


def _mark_to_plain(mark: Mark) -> dict[str, Any]:
    if isinstance(mark, Patch):
        return {
            "patch": [mark.left, mark.top, mark.width, mark.height],
            "bits": base64.b64encode(mark.bits).decode("ascii"),
            "class": mark.label,
        }
    plain: dict[str, Any] = {
        "points": [list(point) for point in mark.points],
        "radius": mark.radius,
        "class": mark.label,
    }
    if mark.pressures:
        plain["pressures"] = list(mark.pressures)
    return plain


def _mark(plain: dict[str, Any]) -> Mark:
    label = None if plain["class"] is None else int(plain["class"])
    if "patch" in plain:
        left, top, width, height = (int(part) for part in plain["patch"])
        try:
            bits = base64.b64decode(plain["bits"], validate=True)
        except binascii.Error as error:
            raise ValueError(f"a patch's bits: {error}") from error
        return Patch(left, top, width, height, bits, label)
    return Stroke(
        tuple((float(x), float(y)) for x, y in plain["points"]),
        float(plain["radius"]),
        label,
        tuple(float(pressure) for pressure in plain.get("pressures", ())),
    )


def _document(content: dict[str, Any]) -> Document:
    classes = []
    for info in content["classes"]:
        red, green, blue = (int(part) for part in info["colour"])
        if not all(0 <= part <= 255 for part in (red, green, blue)):
            raise ValueError(f"colour: wanted numbers from 0 to 255, got {info['colour']}")
        classes.append(ClassInfo(str(info["name"]), (red, green, blue)))
    if len(classes) < 2:
        raise ValueError(f"classes: wanted at least two, got {len(classes)}")
    document = Document(tuple(classes), tuple(_mark(plain) for plain in content["strokes"]))
    for mark in document.strokes:
        if mark.label is not None and not 0 <= mark.label < len(classes):
            raise ValueError(f"class: wanted 0 to {len(classes) - 1}, got {mark.label}")
    return document
