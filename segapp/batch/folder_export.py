"""Export of a folder as a data set, image by image, resumed where it was stopped."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from segapp.app.project_files import find_project
from segapp.app.segmenter import Segmenter
from segapp.app.workspace import list_images
from segapp.io.class_list import find_class_list
from segapp.io.export.datasets import (
    AnnotationScope,
    Categories,
    DatasetItem,
    ExportPlan,
    ItemRecord,
    Journal,
)
from segapp.io.folder_files import PROGRESS_FILE, read_progress
from segapp.io.pages import page_file
from segapp.io.project import ProjectError, load_project
from segapp.model.answer import Answer, NotEnoughStrokes, Report
from segapp.model.settings import SettingsChoice
from segapp.model.validation import SegappError, failure_message, sanitize

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from segapp.io.class_list import ClassList
    from segapp.io.export.datasets import DatasetFormat
    from segapp.model.answer import MakeTrainer


EXPORT_FOLDER = "segapp-export"
"""In the folder of the images, unless another one is chosen."""
_VERSION = 2  # of the files for the same answer; files of another version are written again

_log = logging.getLogger(__name__)


class ExportStatus(Enum):
    """The result of an export for one image."""

    WRITTEN = "written"
    KEPT = "kept"  # written by an earlier run
    SKIPPED = "skipped"  # it has too few strokes
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ImageExported:
    """One image of an export; ``index`` counts from 1 to ``total``."""

    image: Path
    status: ExportStatus
    index: int
    total: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class ExportFinished:
    """The end of an export, with the files of the folder as a whole."""

    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class FolderExport:
    """An export: its images, format and destination.

    Parameters
    ----------
    images
        All images of the folder, in their order.
    project_folder
        Folder of their projects, classes and progress.
    done_only
        Whether images that are not flagged as done are left out.
    choice
        Settings that replace the projects' own.
    relearn
        Whether everything is learnt and written anew, whatever projects and an earlier run hold.
    split
        Whether objects that touch are told apart by cuts at their necks, in all classes.
    """

    images: tuple[Path, ...]
    project_folder: Path
    form: DatasetFormat
    out: Path
    per: AnnotationScope = AnnotationScope.OBJECT
    done_only: bool = False
    choice: SettingsChoice = field(default_factory=lambda: SettingsChoice(None, ()))
    relearn: bool = False
    split: bool = False

    @classmethod
    def of_folder(cls, folder: Path, form: DatasetFormat, out: Path) -> FolderExport:
        """Return the export of all images of a folder with their projects beside them."""
        return cls(tuple(list_images(folder)), folder, form, out)

    def run(
        self, make_trainer: MakeTrainer | None = None
    ) -> Iterator[ImageExported | ExportFinished | Report]:
        """Write image by image; after a stop, the next run continues.

        An image that fails is reported, and the others go on.
        """
        selected = self._selected()
        self._check_links()
        self.out.mkdir(parents=True, exist_ok=True)
        projects = {image: self._project(image) for image in self.images}
        plan = ExportPlan(self.out, self._categories(projects), self.per)
        journal = Journal(self.out / f".{self.form.name}.jsonl")
        stems = _stems(self.images)
        kept: dict[str, ItemRecord] = {}
        for index, image in enumerate(selected, start=1):
            status, message = ExportStatus.SKIPPED, ""
            project = projects[image]
            if project is not None:
                try:
                    key = self._key(plan, image, project)
                    written = None if self.relearn else journal.lookup(image.name, key)
                    status = ExportStatus.KEPT
                    if written is None:
                        item = yield from self._item(image, project, stems[image], make_trainer)
                        written = yield from _reported(self.form.steps(plan, item))
                        status = ExportStatus.WRITTEN
                        journal.add(image.name, key, written)
                    kept[image.name] = written
                except NotEnoughStrokes as reason:
                    status, message = ExportStatus.SKIPPED, str(reason)
                except Exception as error:  # noqa: BLE001 - one image, not the export
                    _log.debug("image %s", image, exc_info=True)
                    status, message = ExportStatus.FAILED, failure_message(error)
            yield ImageExported(image, status, index, len(selected), message)
        yield ExportFinished(self.form.finish(plan, kept))

    def _item(
        self, image: Path, project_path: Path, stem: str, make_trainer: MakeTrainer | None
    ) -> Generator[Report, None, DatasetItem]:
        """Read the stored answer of a project, or learn the one that it does not have."""
        project = load_project(project_path)
        if self.split:
            project = replace(project, document=project.document.with_all_split())
        segmenter = Segmenter(image, project, settings=self.choice, make_trainer=make_trainer)
        answer = None if self.relearn else segmenter.stored_answer()
        if answer is None:
            answer = yield from _learnt(segmenter)
        return DatasetItem(stem, answer.labelling, project.document, segmenter.picture)

    def _check_links(self) -> None:
        """Refuse links to folders in the way of the files: they may lead anywhere.

        Where the user himself has named a link, it is followed.
        """
        out, folder = self.out.absolute(), self.project_folder.absolute()
        inside = [each for each in (out, *out.parents) if folder in each.parents]
        below = (Path(place, name) for place, names, _ in os.walk(out) for name in names)
        link = next((each for each in (*inside, *below) if each.is_symlink()), None)
        if link is not None:
            raise SegappError("{} is a link, and may lead anywhere.", sanitize(link))

    def _project(self, image: Path) -> Path | None:
        found = find_project(image, *dict.fromkeys((self.project_folder, image.parent)))
        return None if found is None else found.location.path

    def _selected(self) -> list[Path]:
        if not self.done_only:
            return list(self.images)
        done = read_progress(self.project_folder / PROGRESS_FILE).done
        return [image for image in self.images if image.name in done]

    def _categories(self, projects: dict[Path, Path | None]) -> Categories:
        """Collect the classes of the folder and of all its images, done or not."""
        listed = find_class_list(self.project_folder)
        if listed is None and self.images:
            listed = find_class_list(self.images[0].parent)
        listing: ClassList | None = listed[1] if listed is not None else None
        others = []
        for project in projects.values():
            if project is not None:
                try:
                    others.append(load_project(project).document.classes)
                except ProjectError:
                    continue  # reported when its turn comes
        return Categories.of(listing, others)

    def _key(self, plan: ExportPlan, image: Path, project: Path) -> str:
        """Return a digest of all inputs of the files; of the image, size and time."""
        stat = page_file(image).stat()
        rows = [
            _VERSION,
            [self.form.name, self.form.choices],
            self.per.value if self.form.per_region else "",
            self.split,
            [[info.name, info.colour] for info in plan.categories.classes],
            [stat.st_size, stat.st_mtime_ns],
            [self.choice.preset, list(self.choice.changes)],
        ]
        rows += [] if self.choice.encoder is None else [self.choice.encoder]
        digest = hashlib.sha256(project.read_bytes())
        digest.update(json.dumps(rows).encode("utf-8"))
        return digest.hexdigest()


def _learnt(segmenter: Segmenter) -> Generator[Report, None, Answer]:
    segmenter.read_features(segmenter.settings)
    for item in segmenter.updates():
        if isinstance(item, Answer):
            return item
        if isinstance(item, NotEnoughStrokes):
            raise item
        if isinstance(item, Report):
            yield item
    raise RuntimeError(f"there is no answer for {sanitize(segmenter.picture.path.name)}")


def _reported(work: Generator[float, None, ItemRecord]) -> Generator[Report, None, ItemRecord]:
    """Turn shares of the work into reports, between which it can be stopped."""
    while True:
        try:
            share = next(work)
        except StopIteration as end:
            written: ItemRecord = end.value
            return written
        yield Report("Writing", share)


def _stems(images: tuple[Path, ...]) -> dict[Path, str]:
    """Return names for the images' files: stems, or whole names where they collide."""
    counts: dict[str, int] = {}
    for image in images:
        counts[image.stem.casefold()] = counts.get(image.stem.casefold(), 0) + 1
    return {
        image: sanitize(image.stem if counts[image.stem.casefold()] == 1 else image.name)
        for image in images
    }
