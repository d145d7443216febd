"""What the pictures of a folder begin with: its classes, and how they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.files.showing_file import SHOWING_NAME, ShowingError, read_showing, write_showing
from segapp.values.document import Document
from segapp.values.showing import AS_IT_COMES

if TYPE_CHECKING:
    from segapp.qt.files.picture_folder import PictureFolder
    from segapp.values.showing import Showing


class FolderStart(QObject):
    """Reads and writes the folder's way of showing; a file that is damaged is left alone."""

    failed = Signal(str)  # a sentence
    showing_changed = Signal()

    def __init__(self, work: PictureFolder, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work = work
        self._unreadable = False
        self.showing = AS_IT_COMES
        work.begun.connect(self._look)
        work.place_changed.connect(self._look)

    def _look(self) -> None:
        self.showing, self._unreadable = AS_IT_COMES, False
        place = self._work.place or self._work.root
        if place is None:
            return
        try:
            self.showing = read_showing(place)
        except ShowingError as error:
            self._unreadable = True
            self.failed.emit(str(error))
        self.showing_changed.emit()

    def document(self) -> Document:
        """Return what a picture of the folder begins with."""
        classes = self._work.classes
        if classes is None:
            return Document(showing=self.showing)
        return Document(classes.classes, showing=self.showing)

    def remember(self, showing: Showing) -> None:
        """Let the pictures that nobody has touched yet be shown so."""
        place = self._work.place
        if place is None or showing == self.showing:
            return
        if self._unreadable:  # perhaps of a newer version: nobody's file is replaced unread
            told = self.tr("{} cannot be read, and is left as it is: move it away first.")
            self.failed.emit(told.format(SHOWING_NAME))
            return
        self.showing = showing
        try:
            write_showing(place, showing)
        except OSError as error:
            told = self.tr("{} cannot be written: {}.")
            self.failed.emit(told.format(SHOWING_NAME, error.strerror))
        self.showing_changed.emit()
