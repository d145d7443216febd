"""Labellings as layers of the canvas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor

from segapp.engine.suggestion import Spot, least_certain
from segapp.imaging.overlay import (
    ALL,
    ViewMode,
    components_painter,
    label_colours,
    overlay_painter,
)
from segapp.imaging.pyramid import upsample
from segapp.imaging.tiles import changed_tiles
from segapp.qt.canvas.contours import ContourLayer
from segapp.qt.canvas.layers import Layer, ZeroCopyImage
from segapp.qt.canvas.painting import LabelOverlay
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from segapp.imaging.overlay import TilePainter
    from segapp.model.answer import Insight, Preview
    from segapp.model.classes import ClassInfo
    from segapp.model.labelling import Labelling
    from segapp.model.picture import EncoderFeatures, Picture
    from segapp.qt.session.session import Session


_BY_LABEL_ALONE = frozenset({ViewMode.OVERLAY, ViewMode.OUTLINE, ViewMode.MASK, ViewMode.CUTOUT})
"""Where labels are the same, these look the same; margins and codes change everywhere."""


@dataclass(frozen=True, slots=True, eq=False)
class RenderRequest:
    """How a labelling shall be shown."""

    mode: ViewMode
    classes: tuple[ClassInfo, ...]
    picture: Picture
    codewords: NDArray[np.int8] | None


class OverlayRenderer:
    """The overlay of a labelling, which follows the labelling in place.

    The canvas may draw it meanwhile, from another thread: for the length of a frame, parts of
    the new answer stand beside parts of the old.
    """

    def __init__(self, wish: RenderRequest, labelling: Labelling) -> None:
        self._wish, self._labels = wish, labelling.labels
        mode, classes = wish.mode, wish.classes
        lines = None
        if mode is ViewMode.OUTLINE:
            lines = ContourLayer(labelling.labels, classes)
        elif mode is ViewMode.OVERLAY:  # a tint alone may be the picture's own colour
            lines = ContourLayer(labelling.labels, classes, QColor(255, 255, 255))
        self.overlay = LabelOverlay(
            _areas(wish, labelling), lines, mode.replaces_image, mode.is_bare
        )

    def serves(self, wish: RenderRequest) -> bool:
        """Tell whether it can follow a labelling that shall be shown so."""
        mine = self._wish
        return (
            wish.mode in _BY_LABEL_ALONE
            and wish.mode is mine.mode
            and wish.classes == mine.classes
            and wish.picture is mine.picture
        )

    def follow(self, labelling: Labelling) -> None:
        """Show another labelling of the same picture."""
        wish, before = self._wish, self._labels
        boxes = list(changed_tiles(before, labelling.labels))
        paint, areas = _painting(wish, labelling), self.overlay.areas
        if areas is not None and paint is not None:
            shared = _shared(wish, labelling, paint)
            if shared is not None:
                areas.replace_image(shared)
            for box in boxes:
                areas.repaint(box, paint)
        if self.overlay.lines is not None:
            self.overlay.lines.redraw(labelling.labels, boxes)
        self._labels = labelling.labels
        self.overlay = replace(self.overlay)  # who compares sheets sees that this is another


def _areas(wish: RenderRequest, labelling: Labelling) -> Layer | None:
    paint = _painting(wish, labelling)
    if paint is None:
        return None
    shared = _shared(wish, labelling, paint)
    if shared is not None:
        return Layer.over(shared)
    height, width = labelling.labels.shape
    return Layer.painted((height, width), paint)


def _painting(wish: RenderRequest, labelling: Labelling) -> TilePainter | None:
    return overlay_painter(wish.mode, labelling, wish.classes, wish.picture, wish.codewords)


def _shared(wish: RenderRequest, labelling: Labelling, paint: TilePainter) -> ZeroCopyImage | None:
    """Return the labels themselves where nothing else is shown."""
    table = label_colours(wish.mode, labelling, wish.classes)
    if table is None:
        return None
    return ZeroCopyImage.of_labels(labelling.labels, table, paint)


@dataclass(frozen=True, slots=True, eq=False)
class RenderedLabelling:
    """What the canvas shows of a labelling, and what it was made from."""

    overlay: LabelOverlay
    mode: ViewMode
    spot: Spot | None
    labelling: Labelling | None
    classes: tuple[ClassInfo, ...]
    codewords: NDArray[np.int8] | None
    is_preview: bool


class LabellingView(QObject):
    """Renders what there is to look at, preview or answer, in the chosen mode.

    The newest wish wins.
    """

    rendered = Signal(object)  # RenderedLabelling, or None when there is none
    failed = Signal(str, str)  # a sentence, and details for who wants to report them

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._mode = ViewMode.OVERLAY
        self._shown: tuple[object, ...] = ()
        self._rendering: OverlayRenderer | None = None  # the thread's own
        self._jobs = Jobs("rendering", self)
        session.picture_changed.connect(self._withdraw)
        session.answers.answer_changed.connect(self.refresh)
        session.document_changed.connect(self.refresh)
        session.encoder.changed.connect(self.refresh)

    @property
    def mode(self) -> ViewMode:
        """The way in which a labelling is shown."""
        return self._mode

    @property
    def busy(self) -> bool:
        """Whether a newer picture is on its way."""
        return self._jobs.busy

    def set_mode(self, mode: ViewMode) -> None:
        """Show the labelling in another way."""
        self._mode = mode
        self.refresh()

    def refresh(self) -> None:
        """Render anew if anything that is shown has changed."""
        if self._mode is ViewMode.COMPONENTS:
            self._refresh_components()
            return
        labelling, picture = self._session.answers.shown, self._session.picture
        classes = self._session.document.classes
        if labelling is None or picture is None or labelling.n_classes != len(classes):
            if labelling is None:
                self._withdraw()
            return
        preview = self._session.answers.preview
        learnt: Preview | Insight | None = None
        if self._mode is ViewMode.CODES:
            learnt = preview if preview is not None else self._session.answers.insight
        codewords = learnt.codewords if learnt is not None else None
        wanted = (labelling, self._mode, classes, learnt)
        if (
            all(a is b or a == b for a, b in zip(wanted, self._shown, strict=False))
            and self._shown
        ):
            return
        self._shown = wanted
        wish = RenderRequest(self._mode, classes, picture, codewords)
        self._jobs.run(
            lambda: (
                self._rendered(wish, labelling)
                if preview is None
                else _rendered_preview(wish, preview)
            ),
            self.rendered.emit,
            self._fail,
        )

    def _refresh_components(self) -> None:
        """Show what the encoder sees; until it does, the picture."""
        encoded, picture = self._session.encoder_features, self._session.picture
        if encoded is None or picture is None:
            self._withdraw()
        elif self._shown[:1] != (encoded,):
            self._shown = (encoded,)
            self._jobs.run(
                lambda: _rendered_components(encoded, picture), self.rendered.emit, self._fail
            )

    def _rendered(self, wish: RenderRequest, labelling: Labelling) -> Iterator[RenderedLabelling]:
        """Render in the thread: what is there is painted over where the labels have changed."""
        if self._rendering is None or not self._rendering.serves(wish):
            self._rendering = None  # not two at once
            self._rendering = OverlayRenderer(wish, labelling)
        else:
            self._rendering.follow(labelling)
        yield RenderedLabelling(
            overlay=self._rendering.overlay,
            mode=wish.mode,
            spot=least_certain(labelling),
            labelling=labelling,
            classes=wish.classes,
            codewords=wish.codewords,
            is_preview=False,
        )

    def _withdraw(self) -> None:
        self._jobs.cancel()
        self._shown = ()
        self.rendered.emit(None)

    def _fail(self, error: Exception) -> None:
        sentence = self.tr("The answer cannot be shown: {}").format(error)
        self.failed.emit(sentence, details_of(error))

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the thread; say whether it has ended."""
        return self._jobs.close(timeout)


def _rendered_preview(wish: RenderRequest, preview: Preview) -> Iterator[RenderedLabelling]:
    """Render what is not final, from the few pixels that it has, and without lines over a tint."""
    mode, picture, times, labelling = wish.mode, wish.picture, preview.times, preview.labelling
    if mode in (ViewMode.OUTLINE, ViewMode.CUTOUT):
        # Their pixels are the picture's own, and they show labels alone: no margin, no code.
        labels = upsample(labelling.labels, picture.size, times)
        labelling, times = replace(labelling, labels=labels), 1
    paint = overlay_painter(mode, labelling, wish.classes, picture, wish.codewords)
    layer = None
    if paint is not None and times == 1:
        layer = Layer.painted(picture.size, paint)
    elif paint is not None:
        layer = Layer(paint(ALL), times, picture.size)
    lines = ContourLayer(labelling.labels, wish.classes) if mode is ViewMode.OUTLINE else None
    yield RenderedLabelling(
        overlay=LabelOverlay(layer, lines, mode.replaces_image, mode.is_bare),
        mode=mode,
        spot=None,
        labelling=labelling,
        classes=wish.classes,
        codewords=wish.codewords,
        is_preview=True,
    )


def _rendered_components(
    encoded: EncoderFeatures, picture: Picture
) -> Iterator[RenderedLabelling]:
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
