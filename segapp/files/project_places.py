"""Where the project of an image is looked for, and where a new one goes."""

from __future__ import annotations

from pathlib import Path

from segapp.files.project_file import PROJECT_SUFFIX, ProjectError, load_project


def project_names(image: Path) -> tuple[str, str]:
    """Return what the project of an image may be called.

    ``cat.segapp`` for ``cat.jpg``; where that belongs to ``cat.png``, ``cat.jpg.segapp``.
    """
    return f"{image.stem}{PROJECT_SUFFIX}", f"{image.name}{PROJECT_SUFFIX}"


def project_of(image: Path, folder: Path | None = None) -> Path | None:
    """Return the project of an image, beside it or in another folder, or ``None``.

    A project that cannot be read is taken for the image's own: nobody may write over it, and
    whoever opens it is told.
    """
    short, full = ((folder or image.parent) / name for name in project_names(image))
    if full.is_file():
        return full
    return short if short.is_file() and belongs_to(short, image) else None


def new_project(image: Path, folder: Path | None = None) -> Path:
    """Return where the project of an image goes that has none yet."""
    short, full = ((folder or image.parent) / name for name in project_names(image))
    return full if short.exists() else short


def belongs_to(project: Path, image: Path) -> bool:
    """Tell whether a project is of this image, by the name that it has stored."""
    try:
        return load_project(project).image_path.name == image.name
    except ProjectError:
        return True


def marked_images(images: list[Path], folder: Path | None = None) -> set[Path]:
    """Return the images that have a project, after one look at the folder.

    Only where several images have a stem in common, their projects are opened.
    """
    place = folder or (images[0].parent if images else Path())
    try:
        there = {path.name for path in place.iterdir() if path.suffix == PROJECT_SUFFIX}
    except OSError:
        return set()
    stems: dict[str, int] = {}
    for image in images:
        stems[image.stem] = stems.get(image.stem, 0) + 1
    found = set()
    for image in images:
        short, full = project_names(image)
        if full in there or (
            short in there and (stems[image.stem] == 1 or belongs_to(place / short, image))
        ):
            found.add(image)
    return found
