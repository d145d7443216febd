"""Labellings as layers for the canvas, made beside the window's thread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor

from segapp.learning.suggestion import Spot, least_certain
from segapp.picture.pyramid import repeated
from segapp.qt.canvas.layers import Layer
from segapp.qt.canvas.outline import Outline
from segapp.qt.canvas.painting import Sheet
from segapp.qt.session.jobs import Jobs, details_of
from segapp.values.overlay import ViewMode, areas

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from segapp.qt.session.session import Session
    from segapp.values.document import ClassInfo
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture
    from segapp.values.updates import Preview


@dataclass(frozen=True, slots=True, eq=False)
class RenderedLabelling:
    """What the canvas shows of a labelling, and what it was made from."""

    sheet: Sheet
    mode: ViewMode
    spot: Spot | None
    labelling: Labelling
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
        self._jobs = Jobs("rendering", self)
        self._jobs.arrived.connect(self._take)
        self._jobs.failed.connect(self._fail)
        session.picture_changed.connect(self._withdraw)
        session.answers.answer_changed.connect(self.refresh)
        session.document_changed.connect(self.refresh)

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
        labelling, picture = self._session.answers.shown, self._session.picture
        classes = self._session.document.classes
        if labelling is None or picture is None or labelling.n_classes != len(classes):
            if labelling is None:
                self._withdraw()
            return
        insight = self._session.answers.insight if self._mode is ViewMode.CODES else None
        codewords = insight.codewords if insight is not None else None
        wanted = (labelling, self._mode, classes, insight)
        if (
            all(a is b or a == b for a, b in zip(wanted, self._shown, strict=False))
            and self._shown
        ):
            return
        self._shown = wanted
        mode, preview = self._mode, self._session.answers.preview
        self._jobs.start(lambda: _rendered(mode, labelling, classes, picture, codewords, preview))

    def _withdraw(self) -> None:
        self._jobs.cancel()
        self._shown = ()
        self.rendered.emit(None)

    def _take(self, ticket: int, rendered: RenderedLabelling) -> None:
        del ticket
        self.rendered.emit(rendered)

    def _fail(self, ticket: int, error: Exception) -> None:
        del ticket
        sentence = self.tr("The answer cannot be shown: {}").format(error)
        self.failed.emit(sentence, details_of(error))

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the thread; say whether it has ended."""
        return self._jobs.close(timeout)


def _rendered(
    mode: ViewMode,
    labelling: Labelling,
    classes: tuple[ClassInfo, ...],
    picture: Picture,
    codewords: NDArray[np.int8] | None,
    preview: Preview | None,
) -> Iterator[RenderedLabelling]:
    times, is_preview = (1, False) if preview is None else (preview.times, True)
    if mode in (ViewMode.OUTLINE, ViewMode.CUTOUT):  # their pixels are the picture's own
        labelling, times = _enlarged(labelling, picture, times), 1
    rgba = areas(mode, labelling, classes, picture, codewords)
    lines = None
    if mode is ViewMode.OUTLINE:
        lines = Outline(labelling.labels, classes)
    elif mode is ViewMode.OVERLAY and not is_preview:
        # A tint alone may be the picture's own colour; what is not final needs no more.
        lines = Outline(labelling.labels, classes, QColor(255, 255, 255))
    layer = Layer(rgba, times, picture.rgb.shape[:2]) if rgba is not None else None
    sheet = Sheet(layer, lines, mode.replaces_image, mode.is_bare)
    spot = None if is_preview else least_certain(labelling)
    yield RenderedLabelling(sheet, mode, spot, labelling, classes, codewords, is_preview)


def _enlarged(labelling: Labelling, picture: Picture, times: int) -> Labelling:
    height, width = picture.rgb.shape[:2]
    labels, margin, codes = (
        repeated(each, (height, width), times)
        for each in (labelling.labels, labelling.margin, labelling.codes)
    )
    return replace(labelling, labels=labels, margins=margin, hash_codes=codes)
