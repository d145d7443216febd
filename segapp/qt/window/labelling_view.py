"""Labellings as layers for the canvas, made beside the window's thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.learning.suggestion import Spot, least_certain
from segapp.qt.canvas.layers import Layer
from segapp.qt.session.jobs import Jobs, details_of
from segapp.values.overlay import ViewMode, render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segapp.qt.session.session import Session
    from segapp.values.document import ClassInfo
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture


@dataclass(frozen=True, slots=True)
class RenderedLabelling:
    """What the canvas shows of a labelling."""

    layer: Layer
    mode: ViewMode
    spot: Spot | None


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
        wanted = (labelling, self._mode, classes)
        if (
            all(a is b or a == b for a, b in zip(wanted, self._shown, strict=False))
            and self._shown
        ):
            return
        self._shown = wanted
        mode = self._mode
        self._jobs.start(lambda: _rendered(mode, labelling, classes, picture))

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
    mode: ViewMode, labelling: Labelling, classes: tuple[ClassInfo, ...], picture: Picture
) -> Iterator[RenderedLabelling]:
    layer = Layer(render(mode, labelling, classes, picture))
    yield RenderedLabelling(layer, mode, least_certain(labelling))
