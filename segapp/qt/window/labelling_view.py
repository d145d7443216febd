"""Labellings as layers for the canvas, made beside the window's thread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.learning.suggestion import Spot, least_certain
from segapp.picture.pyramid import repeated
from segapp.qt.canvas.layers import Layer
from segapp.qt.canvas.outline import Outline
from segapp.qt.canvas.painting import Sheet
from segapp.qt.session.jobs import Jobs, details_of
from segapp.qt.window.rendering import Rendering, Wish
from segapp.values.overlay import ALL, ViewMode, components, painting

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from segapp.qt.session.session import Session
    from segapp.values.document import ClassInfo
    from segapp.values.encoded import EncodedPicture
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture
    from segapp.values.updates import Insight, Preview


@dataclass(frozen=True, slots=True, eq=False)
class RenderedLabelling:
    """What the canvas shows of a labelling, and what it was made from."""

    sheet: Sheet
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
        self._rendering: Rendering | None = None  # the thread's own
        self._jobs = Jobs("rendering", self)
        self._jobs.arrived.connect(self._take)
        self._jobs.failed.connect(self._fail)
        session.picture_changed.connect(self._withdraw)
        session.answers.answer_changed.connect(self.refresh)
        session.document_changed.connect(self.refresh)
        session.seeing.changed.connect(self.refresh)

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
        wish = Wish(self._mode, classes, picture, codewords)
        self._jobs.start(
            lambda: (
                self._rendered(wish, labelling)
                if preview is None
                else _rendered_preview(wish, preview)
            )
        )

    def _refresh_components(self) -> None:
        """Show what the encoder sees; until it does, the picture."""
        encoded, picture = self._session.answers.encoded, self._session.picture
        if encoded is None or picture is None:
            self._withdraw()
        elif self._shown[:1] != (encoded,):
            self._shown = (encoded,)
            self._jobs.start(lambda: _rendered_components(encoded, picture))

    def _rendered(self, wish: Wish, labelling: Labelling) -> Iterator[RenderedLabelling]:
        """Render in the thread: what is there is painted over where the labels have changed."""
        if self._rendering is None or not self._rendering.serves(wish):
            self._rendering = None  # not two at once
            self._rendering = Rendering(wish, labelling)
        else:
            self._rendering.follow(labelling)
        yield RenderedLabelling(
            sheet=self._rendering.sheet,
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


def _rendered_preview(wish: Wish, preview: Preview) -> Iterator[RenderedLabelling]:
    """Render what is not final, from the few pixels that it has, and without lines over a tint."""
    mode, picture, times, labelling = wish.mode, wish.picture, preview.times, preview.labelling
    if mode in (ViewMode.OUTLINE, ViewMode.CUTOUT):
        # Their pixels are the picture's own, and they show labels alone: no margin, no code.
        labels = repeated(labelling.labels, picture.size, times)
        labelling, times = replace(labelling, labels=labels), 1
    paint = painting(mode, labelling, wish.classes, picture, wish.codewords)
    layer = None
    if paint is not None and times == 1:
        layer = Layer.painted(picture.size, paint)
    elif paint is not None:
        layer = Layer(paint(ALL), times, picture.size)
    lines = Outline(labelling.labels, wish.classes) if mode is ViewMode.OUTLINE else None
    yield RenderedLabelling(
        sheet=Sheet(layer, lines, mode.replaces_image, mode.is_bare),
        mode=mode,
        spot=None,
        labelling=labelling,
        classes=wish.classes,
        codewords=wish.codewords,
        is_preview=True,
    )


def _rendered_components(encoded: EncodedPicture, picture: Picture) -> Iterator[RenderedLabelling]:
    mode = ViewMode.COMPONENTS
    layer = Layer.painted(picture.size, components(encoded, picture.size))
    yield RenderedLabelling(
        sheet=Sheet(layer, None, mode.replaces_image, mode.is_bare),
        mode=mode,
        spot=None,
        labelling=None,
        classes=(),
        codewords=None,
        is_preview=False,
    )
