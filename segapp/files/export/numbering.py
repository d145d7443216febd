"""Numbers that COCO files give: whoever had one keeps it, even where a run leaves it out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from segapp.values.checked import fields, from_json, listed
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_FILE = ".coco-numbers"  # no ending: whoever looks for JSON here wants annotations


class Numbering:
    """Remembers the numbers of pictures, categories and annotations in a file beside theirs.

    A data set of the pictures that are done leaves out others, which have their old numbers
    when they come back. The annotations' own file may be too large to be read for it; only where
    there is no other memory it is looked at.
    """

    def __init__(self, folder: Path, annotations_name: str) -> None:
        self._path = folder / _FILE
        self._images: dict[str, int] = {}
        self._categories: dict[str, int] = {}
        self._annotations: dict[str, dict[str, int]] = {}  # of an image: number by description
        if not self._recall():
            self._read(folder / annotations_name)
        self._next_image = 1 + max(self._images.values(), default=0)
        given = (each for known in self._annotations.values() for each in known.values())
        self._next_annotation = 1 + max(given, default=0)

    def image(self, name: str) -> int:
        """Return the number of a picture."""
        if name not in self._images:
            self._images[name], self._next_image = self._next_image, self._next_image + 1
        return self._images[name]

    def categories(self, names: list[str], ids: tuple[int, ...], n_listed: int) -> dict[str, int]:
        """Return the numbers of categories; those of the folder's list come first and are kept."""
        numbers = dict(zip(names[:n_listed], ids[:n_listed], strict=True))
        for name in names[n_listed:]:
            taken = {*numbers.values(), *self._categories.values()}
            known = self._categories.get(name, 0)
            free = known and known not in numbers.values()
            numbers[name] = known if free else 1 + max(taken, default=0)
        self._categories |= numbers
        return numbers

    def annotations(self, image: str, descriptions: Iterable[str]) -> list[int]:
        """Return the numbers of a picture's annotations.

        One that is described as before has the number that it had. Others take those of what
        has gone, in their order, so that a part that was only touched up keeps its number.
        """
        wanted = list(descriptions)
        known = self._annotations.get(image, {})
        left = [number for text, number in known.items() if text not in set(wanted)]
        found: dict[str, int] = {}
        for text in wanted:
            if text in known:
                found[text] = known[text]
            elif left:
                found[text] = left.pop(0)
            else:
                found[text], self._next_annotation = (
                    self._next_annotation,
                    self._next_annotation + 1,
                )
        # Numbers of parts that are gone wait for the next that come.
        self._annotations[image] = found | {f"-{number}": number for number in left}
        return [found[text] for text in wanted]

    def keep(self) -> None:
        """Write the memory."""
        rows = {
            image: [f"{number} {text}" for text, number in known.items()]
            for image, known in self._annotations.items()
        }
        content = {"images": self._images, "categories": self._categories, "annotations": rows}
        write_text(self._path, json.dumps(content))

    def _recall(self) -> bool:
        try:
            content = fields(from_json(self._path.read_bytes(), _FILE), _FILE)
            images, categories = (
                {name: int(number) for name, number in fields(content[kind], kind).items()}
                for kind in ("images", "categories")
            )
            annotations = {}
            for image, rows in fields(content["annotations"], "annotations").items():
                pairs = (str(row).split(" ", 1) for row in listed(rows, "annotations"))
                annotations[image] = {text: int(number) for number, text in pairs}
        except (OSError, ValueError, KeyError, TypeError):
            return False
        self._images, self._categories, self._annotations = images, categories, annotations
        return True

    def _read(self, path: Path) -> None:
        """Take the numbers that a file has given, if it is there and one of ours."""
        names: dict[int, str] = {}
        try:
            content = fields(from_json(path.read_bytes(), path.name), path.name)
            for image in listed(content.get("images", []), "images"):
                names[int(image["id"])] = str(image["file_name"])
            for category in listed(content.get("categories", []), "categories"):
                self._categories[str(category["name"])] = int(category["id"])
            for row in listed(content.get("annotations", []), "annotations"):
                known = self._annotations.setdefault(names[int(row["image_id"])], {})
                known[described(row, int(row["category_id"]))] = int(row["id"])
        except (OSError, ValueError, KeyError, TypeError):
            self._categories, self._annotations = {}, {}  # it is replaced, and all begins at 1
            return
        self._images = {name: number for number, name in names.items()}


def described(annotation: dict[str, Any], category: int) -> str:
    """Describe an annotation by category and box.

    No two parts of a class have the same box: each would join its left to its right and its top
    to its bottom, and so they would meet.
    """
    return " ".join(map(str, (category, *annotation["bbox"])))
