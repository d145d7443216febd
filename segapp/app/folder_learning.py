"""Learning from the finished images of a folder: first answers, order and review."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.app.project_files import find_project
from segapp.app.segmenter import Segmenter
from segapp.app.workspace import list_images
from segapp.engine.folder_model import (
    CODE_BITS,
    SETTINGS,
    FinishedPicture,
    FolderModel,
    RegionTable,
    Suspect,
    review,
)
from segapp.engine.loading import open_encoder
from segapp.engine.preparation import PreparedPicture
from segapp.imaging.rasterise import rasterize_marks
from segapp.io.folder_files import PROGRESS_FILE, read_progress
from segapp.io.images import load_image
from segapp.io.masks import load_mask, retouch_with_mask
from segapp.model.answer import Answer, NotEnoughStrokes
from segapp.model.classes import TWO_CLASSES
from segapp.model.document import Document
from segapp.model.settings import Settings, wants_encoder, with_encoder
from segapp.model.validation import SegappError, sanitize
from shlcore.index import HammingIndex
from shlcore.parallel import limit_threads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.app.state import Content
    from segapp.engine.loading import EncodeImage
    from segapp.model.classes import ClassInfo
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture


@dataclass(frozen=True, slots=True)
class LabelledImage:
    """An image with a file of its labels: a project, strokes, or a mask of all pixels."""

    image: Path
    labels: Path
    is_mask: bool = False


def finished_images(folder: Path, masks: Path | None = None) -> list[LabelledImage]:
    """List the finished images of a folder, or those with a mask in another folder.

    Finished are those that are flagged as done; where none is, those with a project or with
    strokes beside them.
    """
    if not folder.is_dir():
        raise SegappError("There is no folder {}.", sanitize(folder))
    images = list_images(folder)
    if masks is not None:
        found = ((image, masks / f"{image.stem}.png") for image in images)
        return [
            LabelledImage(image, mask, is_mask=True) for image, mask in found if mask.is_file()
        ]
    done = read_progress(folder / PROGRESS_FILE).done
    listed = []
    for image in images:
        project = find_project(image, folder)
        strokes = image.with_name(f"{image.stem}-strokes.png")
        if done and image.name not in done:
            continue
        if project is not None and project.project is not None:
            listed.append(LabelledImage(image, project.location.path))
        elif strokes.is_file():
            listed.append(LabelledImage(image, strokes))
    return listed


_RELIABLE, _TESTS = 0.5, 3
"""Mean IoU of the regions of the newest finished images, and their number, from which on the
folder's model begins other images: below it, a dab of each class is nearer to the truth."""


@dataclass(frozen=True, slots=True, eq=False)
class LearntImage:
    """A finished image with its regions and labels, or the reason why it has none."""

    image: Path
    finished: FinishedPicture | None
    problem: SegappError | None = None


class FolderLearner:
    """A model of finished images, which grows with each.

    Each image is a test for the model of those before it, which costs nothing.

    Parameters
    ----------
    classes
        Of the folder; the first image brings them where they are not given.
    encoder
        SHA-256 of a network whose features take part; nothing for none.
    """

    def __init__(self, classes: tuple[ClassInfo, ...] = (), encoder: str = "") -> None:
        self.classes = classes
        self.settings: Settings = with_encoder(SETTINGS, encoder)
        self.pictures: dict[Path, FinishedPicture] = {}
        self.model: FolderModel | None = None
        self.agreements: list[float] = []

    @property
    def is_reliable(self) -> bool:
        """Whether the model was right enough on the newest images to begin others."""
        newest = self.agreements[-_TESTS:]
        return not newest or float(np.mean(newest)) >= _RELIABLE

    def add(
        self, picture: PreparedPicture, image: Path, labels: NDArray[np.uint8]
    ) -> FinishedPicture:
        """Learn from an image; what it said before is forgotten."""
        finished = FinishedPicture.of(
            image.name, picture, labels, len(self.classes), self.settings
        )
        model = self.model or FolderModel.empty(self.classes, finished.table.n_dense)
        if image in self.pictures:
            model = model.minus(self.pictures[image])
        elif model.n_pictures:
            self.agreements.append(model.agreement(finished))
        self.model, self.pictures[image] = model.plus(finished), finished
        return finished

    def learn(self, images: list[LabelledImage]) -> Iterator[LearntImage]:
        """Learn from images, one at a time; an image that fails is passed over."""
        with open_encoder(self.settings) as encode:
            for labelled in images:
                try:
                    with limit_threads(1):
                        picture, labels = self._labels_of(labelled)
                        prepared = prepare(picture, encode)
                        finished = self.add(prepared, labelled.image, labels)
                    yield LearntImage(labelled.image, finished)
                except SegappError as problem:
                    yield LearntImage(labelled.image, None, problem)

    def _labels_of(self, labelled: LabelledImage) -> tuple[Picture, NDArray[np.uint8]]:
        """Return an image and its labels in the classes of the folder."""
        if labelled.is_mask:
            picture = load_image(labelled.image)
            document = Document(self.classes or TWO_CLASSES)
            mask = load_mask(labelled.labels, labelled.image, picture.size)
            document = retouch_with_mask(document, mask)
            painted = rasterize_marks(document.retouches, picture.size)
            labels = np.where(painted < 0, document.background, painted).astype(np.uint8)
        else:
            segmenter = Segmenter(labelled.image, labelled.labels)
            picture, document = segmenter.picture, segmenter.document
            try:
                labels = segmenter.answer().labelling.labels
            except NotEnoughStrokes as reason:
                raise SegappError("{}: {}", sanitize(labelled.image.name), reason) from reason
        own = document.classes
        self.classes = self.classes or own
        names = [info.name for info in self.classes]
        missing = [info.name for info in own if info.name not in names]
        if missing:
            raise SegappError(
                "{} has classes that the folder lacks: {}.",
                sanitize(labelled.image.name),
                ", ".join(missing),
            )
        indices = np.array([names.index(info.name) for info in own], np.uint8)
        return picture, indices.take(labels)


def prepare(picture: Picture, encode: EncodeImage) -> PreparedPicture:
    """Prepare an image, with an encoder's features if there is one."""
    return PreparedPicture(picture.rgb, None, encode(picture.rgb))


@dataclass(frozen=True, slots=True)
class Usefulness:
    """By how much an image would teach the model of a folder.

    Parameters
    ----------
    doubt
        The mean lack of margin of its regions, from 0 to 1.
    novelty
        The mean Hamming distance of its regions to the nearest ones of finished images, as a
        share of the bits.
    """

    image: Path
    doubt: float
    novelty: float

    @property
    def value(self) -> float:
        """The doubt, raised by the novelty."""
        return self.doubt * (1.0 + 4.0 * self.novelty)


def usefulness(
    learner: FolderLearner, index: HammingIndex, image: Path, table: RegionTable
) -> Usefulness:
    """Judge an image without labels by the model and the index of a folder."""
    if learner.model is None:
        return Usefulness(image, 1.0, 1.0)
    ordered = np.sort(learner.model.scores(table), axis=1)
    margins = np.clip(ordered[:, -1] - ordered[:, -2], 0.0, 1.0)
    distances, _ = index.kneighbors(table.codes(), n_neighbors=1)
    novelty = float(table.weights @ (distances[:, 0] / CODE_BITS))
    return Usefulness(image, float(table.weights @ (1.0 - margins)), novelty)


def code_index(pictures: list[FinishedPicture]) -> HammingIndex:
    """Return the index of the region codes of some pictures, in their order."""
    return HammingIndex(n_jobs=1).fit(np.concatenate([each.table.codes() for each in pictures]))


@dataclass(frozen=True, slots=True)
class Similar:
    """A picture with regions like those that were asked for.

    Parameters
    ----------
    x, y
        The most similar region's centre.
    distance
        Mean Hamming distance of the asked regions to their nearest ones, as a share of the bits.
    """

    name: str
    x: float
    y: float
    distance: float


def find_similar(
    table: RegionTable, rows: NDArray[np.intp], pictures: list[FinishedPicture]
) -> list[Similar]:
    """Rank pictures by how much they have of some regions, as of an object."""
    if not len(rows):
        return []
    codes, found = table.codes()[rows], []
    weights = table.weights[rows] / table.weights[rows].sum()
    for picture in pictures:
        distances, nearest = code_index([picture]).kneighbors(codes, n_neighbors=1)
        best = int(nearest[int(distances[:, 0].argmin()), 0])
        y, x = picture.table.columns[best, -2:] * picture.side
        share = float(weights @ (distances[:, 0] / CODE_BITS))
        found.append(Similar(picture.name, float(x), float(y), share))
    return sorted(found, key=lambda each: each.distance)


@dataclass(frozen=True, slots=True)
class ImagesRead:
    """The number of images that were read, and of all."""

    done: int
    total: int


class FolderMemory:
    """The learner of a folder, and the regions of its unfinished images.

    One thread at a time uses it. Its work yields progress, so that it can be stopped.
    """

    def __init__(self) -> None:
        self._learner = FolderLearner()
        self._read: dict[Path, tuple[Path, int]] = {}
        self._tables: dict[Path, FinishedPicture] = {}

    @property
    def pictures(self) -> dict[Path, FinishedPicture]:
        """The finished images that were learnt."""
        return self._learner.pictures

    @property
    def classes(self) -> tuple[ClassInfo, ...]:
        """Of the folder."""
        return self._learner.classes

    def learn(self, images: list[LabelledImage], encoder: str = "") -> Iterator[ImagesRead]:
        """Learn from images whose files have changed; forget those that are not finished."""
        wanted = {labelled.image for labelled in images}
        restart = self._learner.settings != with_encoder(SETTINGS, encoder)
        if restart or not set(self._learner.pictures) <= wanted:
            self._learner, self._read, self._tables = FolderLearner(encoder=encoder), {}, {}
        stamps = {each: (each.labels, each.labels.stat().st_mtime_ns) for each in images}
        new = [each for each in images if self._read.get(each.image) != stamps[each]]
        for number, labelled in enumerate(new, start=1):
            for learnt in self._learner.learn([labelled]):
                if learnt.problem is None:
                    self._read[labelled.image] = stamps[labelled]
                    self._tables.pop(labelled.image, None)
            yield ImagesRead(number, len(new))

    @property
    def model(self) -> FolderModel | None:
        """The model of the finished images, of which there may be none."""
        return self._learner.model

    def add(self, picture: Picture, labels: NDArray[np.uint8], content: Content) -> None:
        """Learn from an image that was open; one with other classes begins anew."""
        settings, classes = content.settings, content.document.classes
        encoder = settings.encoder if wants_encoder(settings) else ""
        own = self._learner
        known = [info.name for info in own.classes] == [info.name for info in classes]
        if not known or own.settings != with_encoder(SETTINGS, encoder):
            own = self._learner = FolderLearner(classes, encoder)
        if labels.max() < len(classes):
            with limit_threads(1), open_encoder(own.settings) as encode:
                own.add(prepare(picture, encode), picture.path, labels)

    def first_answer(self, picture: Picture) -> Iterator[Labelling | None]:
        """Yield the model's answer for another image last, and None before.

        A model that was wrong about the newest finished images gives none, but an error.
        """
        if self._learner.model is None:
            return
        if not self._learner.is_reliable:
            raise SegappError("The newest images are unlike those before them.")
        with open_encoder(self._learner.settings) as encode:
            prepared = prepare(picture, encode)
        for update in self._learner.model.updates(prepared, self._learner.settings):
            yield update.labelling if isinstance(update, Answer) else None

    def review(self) -> list[Suspect]:
        """Rank the probable mistakes of the finished images."""
        model = self._learner.model
        return [] if model is None else review(model, list(self.pictures.values()))

    def rank_useful(self, images: list[Path]) -> Iterator[ImagesRead | list[Usefulness]]:
        """Yield images without labels last, the most useful one first."""
        for number, image in enumerate(images, start=1):
            self._describe(image)
            yield ImagesRead(number, len(images))
        if not self.pictures:
            return
        index = code_index(list(self.pictures.values()))
        judged = [
            usefulness(self._learner, index, image, self._tables[image].table)
            for image in images
            if image in self._tables
        ]
        yield sorted(judged, key=lambda useful: -useful.value)

    def find_similar(
        self, picture: Picture, inside: NDArray[np.bool_], images: list[Path]
    ) -> Iterator[ImagesRead | list[Similar]]:
        """Yield images with something like a part of one last, the most similar first."""
        for number, image in enumerate(images, start=1):
            if image not in self.pictures:
                self._describe(image)
            yield ImagesRead(number, len(images))
        with open_encoder(self._learner.settings) as encode:
            prepared = prepare(picture, encode)
        labels = np.where(inside, 0, 1).astype(np.uint8)
        asked = FinishedPicture.of("", prepared, labels, 2, self._learner.settings)
        rows = np.flatnonzero(asked.shares[:, 0] > 0.5)
        known = self._tables | self.pictures
        others = [known[image] for image in images if image in known]
        yield find_similar(
            asked.table, rows, [each for each in others if each.name != picture.path.name]
        )

    def _describe(self, image: Path) -> None:
        """Keep the regions of an image; one that cannot be read is passed over."""
        if image in self._tables:
            return
        try:
            picture = load_image(image)
        except (SegappError, OSError):
            return
        with limit_threads(1), open_encoder(self._learner.settings) as encode:
            prepared, nothing = prepare(picture, encode), np.zeros(picture.size, np.uint8)
            self._tables[image] = FinishedPicture.of(
                image.name, prepared, nothing, 1, self._learner.settings
            )
