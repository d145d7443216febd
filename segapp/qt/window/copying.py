"""Picture, mask and cut-out into the clipboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication, QImage

from segapp.files.export.cutouts import matting, straight_cutout
from segapp.files.export.masks import object_pixels
from segapp.qt.canvas.qimage import qimage_over
from segapp.qt.canvas.screen_pixels import opaque
from segapp.qt.files.remembered_choices import remembered_choices
from segapp.qt.language import worded
from segapp.qt.session.jobs import Jobs
from segapp.values.overlay import mask
from segapp.values.wording import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segapp.qt.actions.actions import Actions
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session


class Copying(QObject):
    """Copies what is shown; the cut-out has the edge that was chosen for exports."""

    said = Signal(str)  # a sentence for the status bar

    def __init__(
        self, session: Session, preferences: Preferences, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session, self._preferences = session, preferences
        self._jobs = Jobs("copying", self)
        self._jobs.arrived.connect(self._take)
        self._jobs.failed.connect(self._fail)

    def connect_actions(self, actions: Actions) -> None:
        """Let the menu's commands arrive here."""
        actions["copy_picture"].triggered.connect(self._copy_picture)
        actions["copy_mask"].triggered.connect(self._copy_mask)
        actions["copy_cutout"].triggered.connect(self._copy_cutout)

    def _copy_picture(self) -> None:
        picture = self._session.picture
        if picture is not None:
            self._copy(qimage_over(opaque(picture.rgb)).copy(), self.tr("Copied the picture"))

    def _copy_mask(self) -> None:
        answer = self._session.answers.answer
        if answer is not None:
            rgba = mask(answer.labelling, self._session.document.classes)
            self._copy(qimage_over(rgba).copy(), self.tr("Copied the mask"))

    def _copy(self, image: QImage, told: str) -> None:
        self._jobs.cancel()  # a cut-out that is still being made would replace what was copied
        QGuiApplication.clipboard().setImage(image)
        self.said.emit(told)

    def _copy_cutout(self) -> None:
        answer, picture = self._session.answers.answer, self._session.picture
        if answer is None or picture is None:
            return
        inside = object_pixels(answer.labelling, self._session.document)
        edge = remembered_choices(self._preferences).edge

        def work() -> Iterator[float | QImage]:
            matte = yield from matting(inside, picture, edge)
            rgba = straight_cutout(matte, picture)
            height, width, _ = rgba.shape
            form = QImage.Format.Format_RGBA8888
            yield QImage(rgba.tobytes(), width, height, 4 * width, form).copy()

        self._jobs.start(work)

    def _take(self, ticket: int, made: float | QImage) -> None:
        del ticket
        if isinstance(made, float):
            self.said.emit(self.tr("Softening the edge: {} %").format(round(100 * made)))
        else:
            self._copy(made, self.tr("Copied the cut-out"))

    def _fail(self, ticket: int, error: Exception) -> None:
        del ticket
        self.said.emit(self.tr("The cut-out was not copied: {}").format(worded(sentence(error))))

    def close(self, timeout: float | None = None) -> bool:
        """Stop, and wait for the thread; say whether it has ended."""
        return self._jobs.close(timeout)
