"""A whole folder as a data set: picture by picture, to be left and gone on with."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from segapp.app.project_store import find_project
from segapp.engine.loading import let_see, trainer_of
from segapp.io.class_list import find_class_list
from segapp.io.export.datasets import (
    AnnotationScope,
    Categories,
    DatasetItem,
    ExportPlan,
    ItemRecord,
    Journal,
)
from segapp.io.folder_files import PROGRESS_FILE, Status, read_progress
from segapp.io.images import list_images, load_image
from segapp.io.pages import page_file
from segapp.io.project import ProjectError, load_project
from segapp.model.answer import Answer, NotEnoughStrokes, Report
from segapp.model.settings import SettingsChoice
from segapp.model.validation import sanitize, sentence

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from segapp.io.class_list import ClassList
    from segapp.io.export.datasets import DatasetFormat
    from segapp.io.project import Project
    from segapp.model.answer import MakeSegmenter


EXPORT_FOLDER = "segapp-export"
_VERSION = 1  # of what is written for the same answer; another one writes everything anew


class ExportStatus(Enum):
    """What an export has done with a picture."""

    WRITTEN = "written"
    KEPT = "kept"  # as an earlier run had written it
    SKIPPED = "skipped"  # nothing is marked on it, or too little
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ImageExported:
    """One picture of an export; ``place`` counts from 1 to ``total``."""

    image: Path
    status: ExportStatus
    place: int
    total: int
    told: str = ""


@dataclass(frozen=True, slots=True)
class ExportFinished:
    """The end of an export: the files of the whole."""

    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class FolderExport:
    """What is exported, how and where.

    Parameters
    ----------
    images
        All pictures of the folder, in their order.
    place
        Where their projects, classes and progress are: the folder, or another one.
    done_only
        Leave out all pictures that nobody has called done.
    choice
        Settings that the user wants instead of the projects' own.
    """

    images: tuple[Path, ...]
    place: Path
    form: DatasetFormat
    out: Path
    per: AnnotationScope = AnnotationScope.PART
    done_only: bool = False
    choice: SettingsChoice = field(default_factory=lambda: SettingsChoice(None, ()))

    @classmethod
    def of_folder(cls, folder: Path, form: DatasetFormat, out: Path) -> FolderExport:
        """Export all pictures of a folder whose projects lie beside them."""
        return cls(tuple(list_images(folder)), folder, form, out)

    def run(
        self, make_segmenter: MakeSegmenter = trainer_of
    ) -> Iterator[ImageExported | ExportFinished | Report]:
        """Write picture by picture; whoever stops iterating can run it again later.

        A picture that fails is told, and stops no other.
        """
        chosen = self._chosen()
        self.out.mkdir(parents=True, exist_ok=True)
        projects = {image: self._project(image) for image in self.images}
        plan = ExportPlan(self.out, self._categories(projects), self.per)
        journal = Journal(self.out / f".{self.form.name}.jsonl")
        stems = _stems(self.images)
        kept: dict[str, ItemRecord] = {}
        for place, image in enumerate(chosen, start=1):
            status, told = ExportStatus.SKIPPED, ""
            project = projects[image]
            if project is not None:
                try:
                    key = self._key(plan, image, project)
                    written = journal.lookup(image.name, key)
                    status = ExportStatus.KEPT
                    if written is None:
                        item = yield from _answered(
                            image, project, stems[image], self.choice, make_segmenter
                        )
                        written = yield from _told(self.form.steps(plan, item))
                        status = ExportStatus.WRITTEN
                        journal.add(image.name, key, written)
                    kept[image.name] = written
                except NotEnoughStrokes as reason:
                    status, told = ExportStatus.SKIPPED, str(reason)
                except (ValueError, OSError, MemoryError) as error:
                    status, told = ExportStatus.FAILED, sentence(error)
            yield ImageExported(image, status, place, len(chosen), told)
        yield ExportFinished(self.form.finish(plan, kept))

    def _project(self, image: Path) -> Path | None:
        found = find_project(image, *dict.fromkeys((self.place, image.parent)))
        return None if found is None else found.location.path

    def _chosen(self) -> list[Path]:
        if not self.done_only:
            return list(self.images)
        states = read_progress(self.place / PROGRESS_FILE).states
        return [image for image in self.images if states.get(image.name) is Status.DONE]

    def _categories(self, projects: dict[Path, Path | None]) -> Categories:
        """Gather the classes of the folder and of all its pictures, done or not."""
        found = find_class_list(self.place)
        if found is None and self.images:
            found = find_class_list(self.images[0].parent)
        listing: ClassList | None = found[1] if found is not None else None
        others = []
        for project in projects.values():
            if project is not None:
                try:
                    others.append(load_project(project).document.classes)
                except ProjectError:
                    continue  # told when its turn comes
        return Categories.of(listing, others)

    def _key(self, plan: ExportPlan, image: Path, project: Path) -> str:
        """Describe all that a picture's files depend on; an image by size and time."""
        seen = page_file(image).stat()
        rows = [
            _VERSION,
            [self.form.name, self.form.choices],
            self.per.value if self.form.per_region else "",
            [[info.name, info.colour] for info in plan.categories.classes],
            [seen.st_size, seen.st_mtime_ns],
            [self.choice.preset, list(self.choice.changes)],
        ]
        rows += [] if self.choice.encoder is None else [self.choice.encoder]
        digest = hashlib.sha256(project.read_bytes())
        digest.update(json.dumps(rows).encode("utf-8"))
        return digest.hexdigest()


def _answered(
    image: Path,
    project_path: Path,
    stem: str,
    choice: SettingsChoice,
    make_segmenter: MakeSegmenter,
) -> Generator[Report, None, DatasetItem]:
    project: Project = load_project(project_path)
    settings = choice.settings(project.settings)
    picture = load_image(image, project.document.display)
    segmenter = make_segmenter(picture.rgb, picture.channels)
    let_see(segmenter, picture.rgb, settings)
    if project.answer is not None:
        segmenter.recall(project.answer)
    for update in segmenter.updates(project.document, settings):
        if isinstance(update, Answer):
            return DatasetItem(stem, update.labelling, project.document, picture)
        yield update
    raise ValueError(f"There is no answer for {sanitize(image.name)}.")


def _told(work: Generator[float, None, ItemRecord]) -> Generator[Report, None, ItemRecord]:
    """Report how far work is, so that it can be left between two of its steps."""
    while True:
        try:
            share = next(work)
        except StopIteration as end:
            written: ItemRecord = end.value
            return written
        yield Report("Writing", share)


def _stems(images: tuple[Path, ...]) -> dict[Path, str]:
    """Name each picture's files by its stem, or by its whole name where two have the same."""
    counts: dict[str, int] = {}
    for image in images:
        counts[image.stem.casefold()] = counts.get(image.stem.casefold(), 0) + 1
    return {
        image: sanitize(image.stem if counts[image.stem.casefold()] == 1 else image.name)
        for image in images
    }
