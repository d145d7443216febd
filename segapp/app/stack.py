"""Stacks with marks on some pages and answers on all."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.app.inputs import picture_of
from segapp.app.result import Result
from segapp.app.segmenter import Segmenter
from segapp.engine.preparation import PreparedPicture
from segapp.engine.propagation import AnsweredPage, PageCells, propagate
from segapp.imaging.rle import pack_labels, unpack_labels
from segapp.imaging.tracks import Tracker, contrast_of, interpolate_labels
from segapp.io.deep_images import rerender
from segapp.io.export.stacks import ExportedPage, ExportedStack, stack_format
from segapp.io.project import PROJECT_SUFFIX, Project, load_project, save_project
from segapp.io.stacks import PageSource, StackAxes, open_stack
from segapp.model.answer import Answer, Report
from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.document import Document, Patch, Stroke
from segapp.model.labelling import InitialLabels, Labelling
from segapp.model.settings import DEFAULT_SETTINGS
from segapp.model.validation import SegappError, sanitize, short_repr
from shlcore.parallel import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from segapp.engine.propagation import PropagatedPage
    from segapp.imaging.tracks import Track
    from segapp.model.classes import ClassInfo
    from segapp.model.display import DisplaySettings
    from segapp.model.document import Mark
    from segapp.model.picture import Picture
    from segapp.model.settings import Settings


_DISTANCES = (1, 2, 4, 8)
"""Pages between a page and those that it is answered by, besides the marked ones at the ends of
its chain: the nearest ones look most like it, and the others remember longer."""
_KEPT_CELLS = 24
"""Pages whose descriptions are kept, of 0.5 MB each."""
_KEPT_SEGMENTERS = 2
_WORKING_PIXELS = 1 << 18
"""Of the working resolution of pages without marks, whose boundaries are refined at full size."""


@dataclass(frozen=True, slots=True)
class PlannedPage:
    """A page without marks, and the pages that it is answered by, its neighbour first."""

    page: int
    others: tuple[int, ...]


def plan_pages(axes: StackAxes, marked: Sequence[int]) -> list[PlannedPage]:
    """Order the pages without marks by their distance from the nearest marked one.

    Each is answered by pages on its way to that marked page, by that page itself, and where it
    meets pages that were answered from another marked page, by these two.

    >>> [(each.page, each.others) for each in plan_pages(StackAxes(5), [0, 4])]
    [(1, (0,)), (3, (4,)), (2, (1, 0, 3, 4))]
    """
    parents: dict[int, int] = {}
    roots = {page: page for page in sorted(marked)}
    queue, planned, answered = list(roots), [], set(roots)
    for page in queue:  # which grows
        neighbours = axes.neighbours(page)
        for neighbour in neighbours:
            if neighbour not in roots:
                parents[neighbour], roots[neighbour] = page, roots[page]
                queue.append(neighbour)
        if page in parents:
            others = [*_ancestors(page, parents), roots[page]]
            for neighbour in neighbours:
                if neighbour in answered:
                    others += [neighbour, roots[neighbour]]
            planned.append(PlannedPage(page, tuple(dict.fromkeys(others))))
            answered.add(page)
    return planned


def _ancestors(page: int, parents: Mapping[int, int]) -> Iterator[int]:
    """Yield the pages at some distances on the way to the marked page."""
    for distance in range(1, _DISTANCES[-1] + 1):
        if page not in parents:
            return
        page = parents[page]
        if distance in _DISTANCES:
            yield page


@dataclass(frozen=True, slots=True, eq=False)
class PageAnswer:
    """The answer of one page, packed.

    Parameters
    ----------
    labels
        Of all pixels, with coarse margins.
    shares
        Rows x columns x classes of its cells, for the pages that are answered by it.
    confidence
        The IoU of the objects to be expected; 1 for a page with marks.
    evidence
        The marked pages that it follows from, with their documents.
    others
        The pages that it is answered by; none for a page with marks.
    """

    labels: InitialLabels
    shares: NDArray[np.uint8]
    confidence: float
    evidence: frozenset[tuple[int, Document]]
    others: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PageStep:
    """A page that was answered, the ``number``-th of ``total``."""

    page: int
    confidence: float
    number: int
    total: int


class Stack:
    """A stack or film, marks on some of its pages, and answers on all.

    Parameters
    ----------
    source
        The path of a multi-page TIFF, OME-TIFF, GIF, WebP, film, OME-Zarr image or folder of
        numbered frames; an array of ``T x Y x X`` or ``T x Y x X x channels``; or pages that
        are read on demand.
    documents
        Marks of some pages, by page number from 0.
    settings
        Of the learner; by default the best.

    Examples
    --------
    >>> import numpy as np
    >>> import segapp
    >>> film = np.zeros((4, 40, 60), np.uint8)
    >>> for t in range(4):
    ...     film[t, 10:30, 10 + 4 * t : 30 + 4 * t] = 255  # a square that moves
    >>> stack = segapp.Stack(film)
    >>> stack.add_stroke(0, [(20, 20)], "foreground", radius=4)
    >>> stack.add_stroke(0, [(50, 5)], "background", radius=4)
    >>> stack.propagate()
    >>> np.abs((stack.labels(3) == 0).sum(axis=0)[22:42] - 20).max() <= 1
    np.True_
    """

    def __init__(
        self,
        source: PageSource | str | Path | ArrayLike,
        documents: Mapping[int, Document] | None = None,
        settings: Settings = DEFAULT_SETTINGS,
    ) -> None:
        self._source = _pages_of(source)
        self._settings = settings
        self._documents = dict(documents or {})
        self._begun = Document()
        self._answers: dict[int, PageAnswer] = {}
        self._cells: OrderedDict[tuple[int, int], AnsweredPage] = OrderedDict()
        self._segmenters: OrderedDict[int, Segmenter] = OrderedDict()
        self._display: DisplaySettings | None = None
        self._object_maps: dict[int, bytes] = {}
        self._tracks: tuple[Track, ...] = ()
        self._tracked: tuple[PageAnswer, ...] = ()

    # Pages ----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._source.paths)

    @property
    def settings(self) -> Settings:
        """Those of the learner; other ones drop the answers that do not follow from them."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        if settings != self._settings:
            self._settings = settings
            self._segmenters.clear()
            self.restore({})

    @property
    def axes(self) -> StackAxes:
        """Lengths of T and Z, channels and sizes."""
        return self._source.axes

    @property
    def paths(self) -> Sequence[Path]:
        """The path of each page."""
        return self._source.paths

    def picture(self, page: int) -> Picture:
        """Read a page; all are shown alike, however bright each is."""
        if self._display is None:
            self._display = _even_display(self._source.read(len(self) // 2, DEFAULT_DISPLAY))
        return self._source.read(self._checked(page), self._display)

    def _checked(self, page: int) -> int:
        if not 0 <= page < len(self):
            raise SegappError(f"page: wanted 0 to {len(self) - 1}, got {short_repr(page)}")
        return page

    # Marks ----------------------------------------------------------------------------------

    @property
    def classes(self) -> Document:
        """The classes, as a document without marks."""
        first = next(iter(self._documents.values()), self._begun)
        return first.without_marks()

    def set_classes(self, classes: tuple[ClassInfo, ...]) -> None:
        """Begin pages without marks with other classes."""
        self._begun = Document(classes)

    @property
    def marked(self) -> list[int]:
        """The pages with marks."""
        return sorted(
            page
            for page, document in self._documents.items()
            if document.strokes or document.retouches
        )

    def document(self, page: int) -> Document:
        """Return the marks of a page; without any, it begins with the page's answer."""
        known = self._documents.get(self._checked(page))
        if known is not None:
            return known
        answer = self._answers.get(page)
        initial = None if answer is None else answer.labels
        return replace(self.classes, initial=initial)

    def set_documents(self, documents: Mapping[int, Document]) -> None:
        """Replace the marks of all pages."""
        self._documents = {}
        for page, document in documents.items():
            self.edit(page, document)

    def edit(self, page: int, document: Document) -> None:
        """Replace the marks of a page; a document without any gives it up."""
        self._checked(page)
        if document.strokes or document.retouches:
            self._documents[page] = document
        else:
            self._documents.pop(page, None)

    def add_stroke(
        self,
        page: int,
        points: ArrayLike,
        label: str | int | None = "foreground",
        radius: float = 8.0,
    ) -> None:
        """Paint on a page, as `Segmenter.add_stroke` does; a page's answer is corrected."""
        places = np.asarray(points, np.float64)
        if places.ndim != 2 or places.shape[1] != 2:
            raise SegappError(f"points: wanted pairs of x and y, got shape {places.shape}")
        path = tuple((float(x), float(y)) for x, y in places)
        self.add_mark(page, Stroke(path, float(radius), self._index(label)))

    def add_mask(self, page: int, mask: ArrayLike, label: str | int | None = "foreground") -> None:
        """Mark all pixels of a page where a mask is true, as one stroke."""
        inside = np.asarray(mask)
        if inside.dtype != np.bool_ or inside.ndim != 2 or not inside.any():
            raise SegappError(
                f"mask: wanted some pixels of H x W of bool, got {inside.dtype} of {inside.shape}"
            )
        self.add_mark(page, Patch.of_mask(inside, self._index(label)))

    def add_mark(self, page: int, mark: Mark) -> None:
        """Add a mark to a page."""
        self.edit(page, self.document(page).with_stroke(mark))

    def _index(self, label: str | int | None) -> int | None:
        names = [info.name for info in self.classes.classes]
        if isinstance(label, str) and label not in names:
            raise SegappError(f"label: wanted one of {', '.join(names)}, got {short_repr(label)}")
        return names.index(label) if isinstance(label, str) else label

    def load(self, path: str | Path) -> None:
        """Take the marks of a project of a page, or of all such projects in a folder.

        A project belongs to the page that has the name of its image. The first project decides
        the settings.
        """
        path = Path(path)
        files = sorted(path.glob(f"*{PROJECT_SUFFIX}")) if path.is_dir() else [path]
        numbers = {each.name: number for number, each in enumerate(self.paths)}
        known = False
        for file in files:
            project = load_project(file)
            number = numbers.get(project.image_path.name)
            if number is not None:
                if not self._documents:
                    self.settings = project.settings
                self.edit(number, project.document)
                known = True
        if not known:
            raise SegappError(
                "{}: wanted a project of a page of {}, found none.",
                sanitize(path.name),
                sanitize(self._source.path.name),
            )

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write a project for each page with marks into a folder."""
        folder, written = Path(folder), []
        folder.mkdir(parents=True, exist_ok=True)
        for page in self.marked:
            image = self.paths[page]
            project = Project(
                self._documents[page], self.settings, image, self.picture(page).sha256
            )
            written.append(folder / f"{image.stem}{PROJECT_SUFFIX}")
            save_project(written[-1], project)
        return tuple(written)

    # Answers --------------------------------------------------------------------------------

    @property
    def answers(self) -> Mapping[int, PageAnswer]:
        """The answers of all pages as they are now, to come back to by `restore`."""
        return dict(self._answers)

    def restore(self, answers: Mapping[int, PageAnswer]) -> None:
        """Take earlier answers in place of the present ones."""
        self._answers = dict(answers)
        self._cells.clear()

    def interpolate(self, first: int, last: int) -> None:
        """Answer the pages between two answered ones by signed distances alone.

        A quick way for slices that change little. The less the two overlap, the less confidence
        the pages between have.
        """
        ends = [self.answer(page) for page in (first, last)]
        labels = [end.labels.pixels() for end in ends]
        objects = [each != self.classes.background for each in labels]
        union = np.count_nonzero(objects[0] | objects[1])
        overlap = np.count_nonzero(objects[0] & objects[1]) / union if union else 1.0
        evidence = ends[0].evidence | ends[1].evidence
        n_classes = len(self.classes.classes)
        for page in range(first + 1, last):
            if page in self.marked:
                continue
            between = interpolate_labels(labels[0], labels[1], (page - first) / (last - first))
            margins = np.full(between.shape, overlap, np.float32)
            codes = np.zeros(between.shape, np.uint32)
            labelling = Labelling(between, margins, codes, n_classes, 1)
            packed = self._packed(labelling, page)
            shares = AnsweredPage.of_labels(self._prepared(page), between, self.classes).shares
            self._answers[page] = PageAnswer(
                packed, shares, float(overlap), evidence, (first, last)
            )

    def propagate(self, least_confidence: float = 0.0) -> None:
        """Answer all pages, as `propagation` does."""
        for _ in self.propagation(least_confidence):
            pass

    def propagation(
        self, least_confidence: float = 0.0, within: range | None = None
    ) -> Iterator[PageStep | None]:
        """Answer the pages with marks, then the others, the nearest to a marked one first.

        Answers that the same marks would give again are kept, so that after a correction only
        the pages are answered that it concerns. Yields ``None`` between the steps of a page.

        Parameters
        ----------
        least_confidence
            Pages are not answered by those of less confidence: the propagation ends there.
        within
            Pages to answer; ``None`` for all.
        """
        marked = self.marked
        if not marked:
            raise SegappError("Nothing is marked yet: paint over an object on one of the pages.")
        plan = plan_pages(self.axes, marked)
        wanted = range(len(self)) if within is None else within
        plan = [planned for planned in plan if planned.page in wanted]
        total = len(marked) + len(plan)
        for number, page in enumerate(marked, start=1):
            yield from self._answer_marked(page)
            yield PageStep(page, 1.0, number, total)
        unsure: set[int] = set()
        for number, planned in enumerate(plan, start=len(marked) + 1):
            page, others = planned.page, planned.others
            if others[0] in unsure or others[0] not in self._answers:
                unsure.add(page)
                self._answers.pop(page, None)
                continue
            others = tuple(other for other in others if other in self._answers)
            yield from self._answer(page, others)
            confidence = self._answers[page].confidence
            if confidence < least_confidence:
                unsure.add(page)
            yield PageStep(page, confidence, number, total)

    def answer_marked(self, page: int) -> None:
        """Answer a page with marks by these alone."""
        for _ in self._answer_marked(page):
            pass

    def _answer_marked(self, page: int) -> Generator[None, None, None]:
        document = self._documents[page]
        evidence = frozenset(((page, document),))
        known = self._answers.get(page)
        if known is not None and known.evidence == evidence:
            return
        segmenter = self._segmenters.pop(page, None)
        if segmenter is None:
            picture = self._source.read(page, document.display)
            segmenter = Segmenter(picture, document, settings=self.settings)
        elif segmenter.document != document:
            segmenter.edit("marks", document)
        self._segmenters[page] = segmenter
        while len(self._segmenters) > _KEPT_SEGMENTERS:
            self._segmenters.popitem(last=False)
        yield
        labelling = segmenter.answer().labelling
        yield
        answered = AnsweredPage.of_labels(self._prepared(page), labelling.labels, document)
        name = self.paths[page].name
        self._answers[page] = PageAnswer(
            InitialLabels.from_labelling(labelling, name), answered.shares, 1.0, evidence
        )
        self._keep(page, answered)

    def _answer(self, page: int, others: tuple[int, ...]) -> Generator[None, None, None]:
        evidence = frozenset().union(*(self._answers[other].evidence for other in others))
        known = self._answers.get(page)
        if known is not None and known.evidence == evidence and known.others == others:
            return
        references = [self._answered(other) for other in others]
        yield
        picture = self._prepared(page)
        steps = propagate(picture, self.classes, references, self.settings)
        propagated = None
        while propagated is None:
            with one_blas_thread():
                propagated = _advance(steps)
            yield
        labels = self._packed(propagated.labelling, page)
        shares = propagated.page.shares
        self._answers[page] = PageAnswer(labels, shares, propagated.confidence, evidence, others)
        self._keep(page, propagated.page)

    def _packed(self, labelling: Labelling, page: int) -> InitialLabels:
        """Pack the answer of a page without marks, for it to begin with."""
        packed = InitialLabels.from_labelling(labelling, self.paths[page].name)
        return replace(packed, propagated=True)

    def _prepared(self, page: int) -> PreparedPicture:
        picture = self.picture(page)
        return PreparedPicture(picture.rgb, picture.channels, working_pixels=_WORKING_PIXELS)

    def _answered(self, page: int) -> AnsweredPage:
        """Return a page's answer, described for other pages."""
        answer = self._answers[page]
        kept = self._cells.get((page, id(answer)))
        if kept is None:
            picture = self._prepared(page)
            if page in self._documents:
                kept = AnsweredPage.of_labels(picture, answer.labels.pixels(), self.classes)
            else:
                kept = AnsweredPage(PageCells.of(picture.colours), answer.shares)
            self._keep(page, kept)
        return kept

    def _keep(self, page: int, answered: AnsweredPage) -> None:
        self._cells[page, id(self._answers[page])] = answered
        while len(self._cells) > _KEPT_CELLS:
            self._cells.popitem(last=False)

    @property
    def answered(self) -> list[int]:
        """The pages with an answer."""
        return sorted(self._answers)

    def answer(self, page: int) -> PageAnswer:
        """Return the answer of a page, which was propagated before."""
        if self._checked(page) not in self._answers:
            raise SegappError("Page {} has no answer yet: propagate first.", page + 1)
        return self._answers[page]

    def labels(self, page: int) -> NDArray[np.uint8]:
        """Return the class of each pixel of a page, 0 for the first class."""
        return self.answer(page).labels.pixels()

    def labelling(self, page: int) -> Labelling:
        """Return classes and coarse margins of a page."""
        return self.answer(page).labels.labelling(len(self.classes.classes))

    def result(self, page: int) -> Result:
        """Return the result of a page, for masks and exports."""
        document = self._documents.get(page, self.classes)
        return Result(self.picture(page), document, Answer(self.labelling(page)))

    def least_certain(self) -> int | None:
        """Return the page without marks that has the least confidence."""
        unmarked = self._answers.keys() - set(self.marked)
        return min(unmarked, key=lambda page: (self._answers[page].confidence, page), default=None)

    # Objects and files ------------------------------------------------------------------------

    def objects(self) -> dict[int, NDArray[np.int32]]:
        """Return the number of the object at each pixel of the answered pages, 0 for none."""
        self._track()
        return {page: self._objects_of(page) for page in self.answered}

    def objects_on(self, page: int) -> NDArray[np.int32]:
        """Return the number of the object at each pixel of one page."""
        self.answer(page)
        self._track()
        return self._objects_of(page)

    @property
    def tracks(self) -> tuple[Track, ...]:
        """The objects with the pages where they begin and end."""
        self._track()
        return self._tracks

    def _objects_of(self, page: int) -> NDArray[np.int32]:
        shape = self._answers[page].labels.height, self._answers[page].labels.width
        return unpack_labels(self._object_maps[page], shape, np.int32).astype(np.int32)

    def _track(self) -> None:
        """Follow the objects through all answered pages, unless that is done."""
        answers = tuple(self._answers[page] for page in self.answered)
        if self._tracked == answers:
            return
        classes, background = self.classes.classes, self.classes.background
        kinds = [index for index in range(len(classes)) if index != background]
        split = [index for index in kinds if classes[index].split]
        tracker = Tracker(kinds, split)
        self._object_maps = {}
        for page in self.answered:
            time, depth = self.axes.place(page)
            before = self.axes.page(*((time - 1, depth) if time else (time, depth - 1)))
            known = self._objects_of(before) if before in self._object_maps else None
            contrast = contrast_of(self.picture(page).raw_image.values) if split else None
            numbers = tracker.follow(page, self.labels(page), known, contrast)
            self._object_maps[page] = pack_labels(numbers)
        self._tracks, self._tracked = tracker.tracks, answers

    def export(self, folder: str | Path, formats: Sequence[str] = ("labels",)) -> tuple[Path, ...]:
        """Write the answered pages into a folder, as `STACK_FORMATS` names it."""
        return tuple(path for path in self.export_steps(folder, formats) if path is not None)

    def export_steps(self, folder: str | Path, formats: Sequence[str]) -> Iterator[Path | None]:
        """Write the answered pages; yield the paths, and None between pages."""
        missing = sorted(set(range(len(self))) - self._answers.keys())
        if missing:
            raise SegappError(
                "Page {} has no answer yet: propagate to all pages first.", missing[0] + 1
            )
        chosen = [stack_format(name) for name in formats]
        stack, folder = self._exported(), Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for entry in chosen:
            yield from entry.write(folder, stack)

    def _exported(self) -> ExportedStack:
        first = self._answers[0].labels
        name = sanitize(self._source.path.name)
        size = first.height, first.width
        return ExportedStack(
            name, self.axes, size, self.classes, self.tracks, self._exported_pages
        )

    def _exported_pages(self) -> Iterator[ExportedPage]:
        for page in range(len(self)):
            confidence = self._answers[page].confidence
            yield ExportedPage(
                page, self.picture(page), self.labelling(page), self._objects_of(page), confidence
            )


def _advance(steps: Generator[Report, None, PropagatedPage]) -> PropagatedPage | None:
    """Take one step; return the answer with the last one."""
    try:
        next(steps)
    except StopIteration as end:
        answer: PropagatedPage = end.value
        return answer
    return None


def _even_display(picture: Picture) -> DisplaySettings:
    """Return display settings whose levels do not depend on a page."""
    display, raw = picture.display, picture.raw_image
    channels = display.visible_channels(raw.n_channels, raw.default_channels)
    for channel, levels in zip(channels, picture.levels, strict=False):
        if channel is not None and levels is not None:
            display = display.with_levels(channel, levels)
    return display


def _pages_of(source: PageSource | str | Path | ArrayLike) -> PageSource:
    if isinstance(source, (str, Path)):
        return open_stack(source)
    return source if isinstance(source, PageSource) else ArrayPages(source)


class ArrayPages:
    """The pages of an array.

    Parameters
    ----------
    values
        ``T x Y x X`` or ``T x Y x X x channels``.
    """

    def __init__(self, values: ArrayLike) -> None:
        self._values: NDArray[Any] = np.asarray(values)
        if self._values.ndim not in (3, 4) or len(self._values) < 2:
            raise SegappError(
                "stack: wanted an array of T x Y x X or T x Y x X x channels with several pages, "
                f"got shape {self._values.shape}"
            )
        self.path = Path("stack.tif")
        self.axes = StackAxes(times=len(self._values))
        self.paths = [Path(f"stack[{page + 1}].tif") for page in range(len(self._values))]

    def read(self, page: int, display: DisplaySettings) -> Picture:
        """Return one page."""
        picture = picture_of(self._values[page])
        return rerender(replace(picture, path=self.paths[page]), display)
