"""Which files of a folder are images to work on: one rule for the window and the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.files.export import FORMATS
from segapp.files.images import IMAGE_SUFFIXES
from segapp.files.pages import pages_in

if TYPE_CHECKING:
    from pathlib import Path

# Strokes and truths of data sets ("anno" in the Gulshan set), and what our exports add to a name.
_COMPANIONS = ("strokes", "truth", "anno", *FORMATS)
_OF_A_CLASS = "-classes-"


def images_in(folder: Path) -> list[Path]:
    """List the images of a folder, ordered by name.

    Strokes, truths and results that lie beside their image (``cat-mask.png`` by ``cat.jpg``)
    are none to work on, and neither are hidden files. Nor is a class's mask
    (``cat-classes-fur.png``), whose name ends in that of the class. Each page of a file is an
    image: see `segapp.files.pages`.
    """
    found = [
        path
        for path in folder.iterdir()
        if path.suffix.lower() in IMAGE_SUFFIXES
        and not path.name.startswith(".")
        and path.is_file()
    ]
    stems = {path.stem for path in found}
    files = sorted(path for path in found if not _belongs_to(path.stem, stems))
    there = set(found)
    return [page for path in files for page in pages_in(path) if page == path or page not in there]


def _belongs_to(stem: str, others: set[str]) -> bool:
    if any(
        stem.endswith(f"-{word}") and stem.removesuffix(f"-{word}") in others
        for word in _COMPANIONS
    ):
        return True
    parts = stem.split(_OF_A_CLASS)  # which the image's own name, or the class's, may hold too
    return any(_OF_A_CLASS.join(parts[:end]) in others for end in range(1, len(parts)))
