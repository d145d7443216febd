"""The open picture shown in another way, made beside the window's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.files.display_depth import shown_anew
from segapp.qt.canvas.layers import Layer
from segapp.qt.canvas.shared_pixels import SharedPixels
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segapp.values.picture import Picture
    from segapp.values.showing import Showing


class Rendering(QObject):
    """Makes one picture at a time; a newer wish replaces the older one."""

    arrived = Signal(object, object)  # Picture, Layer
    looked = Signal(object)  # Layer, for a look while somebody still chooses
    failed = Signal(str, str)  # a sentence, and details for who wants to report them

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = Jobs("showing", self)
        self._jobs.arrived.connect(self._take)
        self._jobs.failed.connect(self._fail)
        self._jobs.ended.connect(self._go_on)
        self._wish: tuple[Picture, Showing] | None = None
        self._is_look = False

    def start(self, picture: Picture, showing: Showing) -> None:
        """Show a picture in another way."""
        self._wish, self._is_look = None, False
        self._jobs.start(lambda: _rendered(picture, showing))

    def look(self, picture: Picture, showing: Showing) -> None:
        """Make a look at a picture; of many wishes in a row, the last one is sure to come."""
        if not self._jobs.busy:
            self._is_look = True
            self._jobs.start(lambda: _rendered(picture, showing))
        elif self._is_look:  # what is under way is still worth seeing
            self._wish = picture, showing

    def cancel(self) -> None:
        """Forget what is being made."""
        self._wish = None
        self._jobs.cancel()

    def _take(self, ticket: int, made: tuple[Picture, Layer]) -> None:
        del ticket
        if self._is_look:
            self.looked.emit(made[1])
        else:
            self.arrived.emit(*made)

    def _go_on(self) -> None:
        wish, self._wish = self._wish, None
        if wish is not None:
            self.look(*wish)

    def _fail(self, ticket: int, error: Exception) -> None:
        del ticket
        told = self.tr("The picture cannot be shown so: {}").format(
            str(error) or type(error).__name__
        )
        self.failed.emit(told, details_of(error))

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the thread; say whether it has ended."""
        return self._jobs.close(timeout)


def _rendered(picture: Picture, showing: Showing) -> Iterator[tuple[Picture, Layer]]:
    made = shown_anew(picture, showing)
    yield made, Layer.over(SharedPixels.of_picture(made.rgb))
