"""Rendering of labellings for the canvas, in a thread."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor

from segapp.engine.suggestion import Spot, least_certain
from segapp.imaging.matting import HARD_EDGE
from segapp.imaging.objects import shaded_labels
from segapp.imaging.overlay import (
    ALL,
    ViewMode,
    components_painter,
    label_colours,
    overlay_painter,
    premultiplied,
)
from segapp.imaging.pyramid import upsample
from segapp.imaging.tiles import changed_tiles
from segapp.io.export.formats import DEFAULT_EXPORT
from segapp.io.export.rasters import backdrop_pixels, before_backdrop, matte_steps, straight_cutout
from segapp.model.classes import background_index
from segapp.model.validation import SegappError
from segapp.qt.canvas.layers import ContourLayer, Layer, ZeroCopyImage
from segapp.qt.canvas.painting import LabelOverlay
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from segapp.imaging.overlay import TilePainter
    from segapp.imaging.tiles import Box
    from segapp.io.export.formats import ExportChoices
    from segapp.model.answer import Preview
    from segapp.model.classes import ClassInfo, ObjectMap
    from segapp.model.document import Mark
    from segapp.model.labelling import Insight, Labelling
    from segapp.model.picture import EncoderFeatures, Picture
    from segapp.qt.session.session import Session


_LABEL_MODES = frozenset({ViewMode.OVERLAY, ViewMode.OUTLINE, ViewMode.MASK, ViewMode.CUTOUT})
"""Modes that depend on the labels alone, so that unchanged tiles need no repainting."""


_SHADED = frozenset({ViewMode.OVERLAY, ViewMode.OUTLINE})
"""Modes that show objects of a class by shades of its colour."""


@dataclass(frozen=True, slots=True, eq=False)
class RenderRequest:
    """Mode and inputs of a rendering, except for the labelling."""

    mode: ViewMode
    classes: tuple[ClassInfo, ...]
    picture: Picture
    codewords: NDArray[np.int8] | None
    cutout: ExportChoices = DEFAULT_EXPORT
    backdrop: NDArray[np.uint8] | None = None  # of the picture's size, for the cut-out
    hair: tuple[Mark, ...] = ()


class OverlayRenderer:
    """An overlay that is repainted in place when the labels change.

    The canvas may draw it at the same time from another thread, so that a frame may show parts of
    the old and the new answer.
    """

    def __init__(self, request: RenderRequest, labelling: Labelling) -> None:
        self._request, self._labels = request, labelling.labels
        mode, classes = request.mode, request.classes
        lines = None
        if mode is ViewMode.OUTLINE:
            lines = ContourLayer(labelling.labels, classes)
        elif mode is ViewMode.OVERLAY:  # a tint alone may be the picture's own colour
            lines = ContourLayer(labelling.labels, classes, QColor(255, 255, 255))
        self.overlay = LabelOverlay(
            _areas(request, labelling), lines, mode.replaces_image, mode.is_bare
        )

    def fits(self, request: RenderRequest) -> bool:
        """Return whether `update` suffices for a request."""
        own = self._request
        return (
            request.mode in _LABEL_MODES
            and request.mode is own.mode
            and request.classes == own.classes
            and request.picture is own.picture
            and request.backdrop is own.backdrop
        )

    def update(self, labelling: Labelling) -> None:
        """Repaint the boxes in which another labelling differs."""
        request, before = self._request, self._labels
        boxes = list(changed_tiles(before, labelling.labels))
        paint, areas = _painting(request, labelling), self.overlay.areas
        if areas is not None and paint is not None:
            shared = _shared(request, labelling, paint)
            if shared is not None:
                areas.replace_image(shared)
            for box in boxes:
                areas.repaint(box, paint)
        if self.overlay.lines is not None:
            self.overlay.lines.redraw(labelling.labels, boxes)
        self._labels = labelling.labels
        self.overlay = replace(self.overlay)  # a new object for comparisons by identity


def _shaded(
    request: RenderRequest, labelling: Labelling, found: ObjectMap
) -> tuple[RenderRequest, Labelling]:
    """Return labels in which objects differ, with a class for each shade."""
    shaded = shaded_labels(labelling.labels, found, request.classes)
    shown = replace(labelling, labels=shaded.labels, n_classes=len(shaded.classes))
    return replace(request, classes=shaded.classes), shown


def _areas(request: RenderRequest, labelling: Labelling) -> Layer | None:
    paint = _painting(request, labelling)
    if paint is None:
        return None
    shared = _shared(request, labelling, paint)
    if shared is not None:
        return Layer.over(shared)
    height, width = labelling.labels.shape
    return Layer.painted((height, width), paint)


def _painting(request: RenderRequest, labelling: Labelling) -> TilePainter | None:
    return overlay_painter(
        request.mode,
        labelling,
        request.classes,
        request.picture,
        request.codewords,
        request.backdrop,
    )


def _shared(
    request: RenderRequest, labelling: Labelling, paint: TilePainter
) -> ZeroCopyImage | None:
    """Return an image over the labels if the mode shows them alone."""
    table = label_colours(request.mode, labelling, request.classes)
    if table is None:
        return None
    return ZeroCopyImage.of_labels(labelling.labels, table, paint)


@dataclass(frozen=True, slots=True, eq=False)
class RenderedLabelling:
    """An overlay for the canvas, and the inputs of its rendering."""

    overlay: LabelOverlay
    mode: ViewMode
    spot: Spot | None
    labelling: Labelling | None
    classes: tuple[ClassInfo, ...]
    codewords: NDArray[np.int8] | None
    is_preview: bool


def _as_labelled(
    labelled: tuple[ClassInfo, ...], present: tuple[ClassInfo, ...]
) -> tuple[ClassInfo, ...]:
    """Return the present classes in the order that a labelling has them.

    They are known by their names, and those that were renamed by being left over.
    """
    if len(labelled) != len(present):
        return present
    places = {info.name: place for place, info in enumerate(present)}
    known = {info.name for info in labelled}
    others = (info for info in present if info.name not in known)
    return tuple(
        present[places[info.name]] if info.name in places else next(others, info)
        for info in labelled
    )


class LabellingView(QObject):
    """Rendering of the present preview or answer in the chosen view mode."""

    rendered = Signal(object)  # RenderedLabelling, or None when there is none
    failed = Signal(str, str)  # a message, and details for a report

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._mode = ViewMode.OVERLAY
        self._cutout = DEFAULT_EXPORT
        self._backdrop: tuple[object, NDArray[np.uint8] | None] = (None, None)  # with its inputs
        self._shown: tuple[object, ...] = ()
        # The labelling that is shown, with the classes that its numbers mean.
        self._labelled: tuple[Labelling | None, tuple[ClassInfo, ...]] = (None, ())
        self._renderer: OverlayRenderer | None = None  # used by the thread alone
        self._jobs = Jobs("rendering", self)
        session.picture_changed.connect(self._clear)
        session.answers.answer_changed.connect(self.refresh)
        session.document_changed.connect(self.refresh)
        session.encoder.changed.connect(self.refresh)

    @property
    def mode(self) -> ViewMode:
        """The present view mode."""
        return self._mode

    @property
    def busy(self) -> bool:
        """Whether a rendering is under way."""
        return self._jobs.busy

    def set_mode(self, mode: ViewMode) -> None:
        """Choose a view mode."""
        self._mode = mode
        self.refresh()

    def set_cutout(self, choices: ExportChoices) -> None:
        """Choose edge and background of the cut-out."""
        self._cutout = choices
        self.refresh()

    def refresh(self) -> None:
        """Start a rendering if an input has changed."""
        if self._mode is ViewMode.COMPONENTS:
            self._refresh_components()
            return
        labelling, picture = self._session.answers.shown, self._session.picture
        classes = self._session.document.classes
        if labelling is not self._labelled[0]:
            self._labelled = labelling, classes
        classes = _as_labelled(self._labelled[1], classes)
        if labelling is None or picture is None or labelling.n_classes != len(classes):
            if labelling is None:
                self._clear()
            return
        preview = self._session.answers.preview
        learnt: Preview | Insight | None = None
        if self._mode is ViewMode.CODES:
            learnt = preview if preview is not None else self._session.answers.insight
        codewords = learnt.codewords if learnt is not None else None
        hair, choices = self._session.document.hair, self._cutout
        styled = self._mode is ViewMode.CUTOUT
        wanted = (labelling, self._mode, classes, learnt, *((hair, choices) if styled else ()))
        if all(a is b or a == b for a, b in zip(wanted, self._shown, strict=False)) and len(
            self._shown
        ) == len(wanted):
            return
        self._shown = wanted
        request = RenderRequest(self._mode, classes, picture, codewords, choices, hair=hair)

        def work() -> Iterator[float | RenderedLabelling]:
            asked = self._with_backdrop(request) if styled else request
            if preview is None:
                yield from self._render_answer(asked, labelling)
            else:
                yield from _render_preview(asked, preview)

        self._jobs.run(work, self._take, self._fail)

    def _take(self, made: float | RenderedLabelling) -> None:
        if not isinstance(made, float):  # that is the progress of a soft edge
            self.rendered.emit(made)

    def _with_backdrop(self, request: RenderRequest) -> RenderRequest:
        """Add the background's pixels, which are kept for the next rendering."""
        backdrop, size = request.cutout.backdrop, request.picture.size
        if backdrop is None:
            return request
        if self._backdrop[0] != (backdrop, size):
            pixels = None
            with suppress(SegappError):  # a file that is gone counts as no background
                pixels = backdrop_pixels(backdrop, size)
            self._backdrop = (backdrop, size), pixels
        return replace(request, backdrop=self._backdrop[1])

    def _refresh_components(self) -> None:
        """Show the encoder's features; until they are there, the picture."""
        encoded, picture = self._session.encoder_features, self._session.picture
        if encoded is None or picture is None:
            self._clear()
        elif self._shown[:1] != (encoded,):
            self._shown = (encoded,)
            self._jobs.run(
                lambda: _render_components(encoded, picture), self.rendered.emit, self._fail
            )

    def _render_answer(
        self, request: RenderRequest, labelling: Labelling
    ) -> Iterator[float | RenderedLabelling]:
        """Render an answer, its objects in shades of their class."""
        found = labelling.objects
        if found is None or request.mode not in _SHADED:
            yield from self._render(request, labelling)
            return
        for made in self._render(*_shaded(request, labelling, found)):
            if isinstance(made, RenderedLabelling):
                yield replace(made, labelling=labelling, classes=request.classes)

    def _render(
        self, request: RenderRequest, labelling: Labelling
    ) -> Iterator[float | RenderedLabelling]:
        """Render an answer, by updating the last overlay if it fits; soften its edge then."""
        if self._renderer is None or not self._renderer.fits(request):
            self._renderer = None  # to free its memory first
            self._renderer = OverlayRenderer(request, labelling)
        else:
            self._renderer.update(labelling)
        rendered = RenderedLabelling(
            overlay=self._renderer.overlay,
            mode=request.mode,
            spot=least_certain(labelling) if labelling.has_scores else None,
            labelling=labelling,
            classes=request.classes,
            codewords=request.codewords,
            is_preview=False,
        )
        yield rendered
        if request.mode is ViewMode.CUTOUT and request.cutout.edge != HARD_EDGE:
            areas = yield from _softened(request, labelling)
            yield replace(rendered, overlay=replace(rendered.overlay, areas=areas))

    def _clear(self) -> None:
        self._jobs.cancel()
        self._shown = ()
        self.rendered.emit(None)

    def _fail(self, error: Exception) -> None:
        sentence = self.tr("The result cannot be shown: {}").format(error)
        self.failed.emit(sentence, details_of(error))

    def close(self, timeout: float | None = None) -> bool:
        """Stop the thread, wait for it, and return whether it has ended."""
        return self._jobs.close(timeout)


def _softened(request: RenderRequest, labelling: Labelling) -> Generator[float, None, Layer]:
    """Return the cut-out with the soft edge of exports; yield the progress."""
    picture = request.picture
    inside = labelling.labels != background_index(request.classes)
    matte = yield from matte_steps(inside, picture, request.cutout.edge, request.hair)
    rgba = straight_cutout(matte, picture)

    def paint(box: Box) -> NDArray[np.uint8]:
        backdrop = None if request.backdrop is None else request.backdrop[box]
        return premultiplied(before_backdrop(rgba[box], backdrop))

    return Layer.painted(picture.size, paint)


def _render_preview(request: RenderRequest, preview: Preview) -> Iterator[RenderedLabelling]:
    """Render a preview at its own resolution, without contours over a tint."""
    mode, picture, times, labelling = (
        request.mode,
        request.picture,
        preview.times,
        preview.labelling,
    )
    if mode in (ViewMode.OUTLINE, ViewMode.CUTOUT):
        # These modes show the picture's pixels, and labels alone.
        labels = upsample(labelling.labels, picture.size, times)
        labelling, times = replace(labelling, labels=labels), 1
    paint = overlay_painter(
        mode, labelling, request.classes, picture, request.codewords, request.backdrop
    )
    layer = None
    if paint is not None and times == 1:
        layer = Layer.painted(picture.size, paint)
    elif paint is not None:
        layer = Layer(paint(ALL), times, picture.size)
    lines = ContourLayer(labelling.labels, request.classes) if mode is ViewMode.OUTLINE else None
    yield RenderedLabelling(
        overlay=LabelOverlay(layer, lines, mode.replaces_image, mode.is_bare),
        mode=mode,
        spot=None,
        labelling=labelling,
        classes=request.classes,
        codewords=request.codewords,
        is_preview=True,
    )


def _render_components(encoded: EncoderFeatures, picture: Picture) -> Iterator[RenderedLabelling]:
    mode = ViewMode.COMPONENTS
    layer = Layer.painted(picture.size, components_painter(encoded, picture.size))
    yield RenderedLabelling(
        overlay=LabelOverlay(layer, None, mode.replaces_image, mode.is_bare),
        mode=mode,
        spot=None,
        labelling=None,
        classes=(),
        codewords=None,
        is_preview=False,
    )
