"""The pictures of a folder as Qt's models have it: nothing is made before it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractListModel, QModelIndex, QSortFilterProxyModel, Qt

from segapp.files.folder_progress import Status
from segapp.values.wording import shown

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtCore import QObject, QPersistentModelIndex

    from segapp.qt.files.picture_folder import PictureFolder
    from segapp.qt.files.thumbnails import Thumbnails

    Index = QModelIndex | QPersistentModelIndex

STATUS_ROLE = Qt.ItemDataRole.UserRole + 1
PATH_ROLE = Qt.ItemDataRole.UserRole + 2


class FileModel(QAbstractListModel):
    """Rows are the folder's pictures; all that is shown comes from the folder itself."""

    def __init__(
        self, work: PictureFolder, thumbnails: Thumbnails, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._work, self._thumbnails = work, thumbnails
        work.begun.connect(self._begin)
        work.place_changed.connect(self._begin)
        work.status_changed.connect(self._refresh)
        thumbnails.arrived.connect(self._refresh)
        thumbnails.forgotten.connect(self._refresh_all)
        thumbnails.unreadable.connect(work.note_failure)
        self._words = {
            Status.UNTOUCHED: self.tr("untouched"),
            Status.MARKED: self.tr("marked"),
            Status.ANSWERED: self.tr("answered"),
            Status.DONE: self.tr("done"),
            Status.FAILED: self.tr("cannot be read"),
        }

    def rowCount(self, parent: Index | None = None) -> int:
        """Count the pictures."""
        return 0 if parent is not None and parent.isValid() else len(self._work.paths)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return what a view asks for."""
        if not index.isValid():
            return None
        path = self._work.paths[index.row()]
        roles = Qt.ItemDataRole
        if role == roles.DisplayRole:
            return shown(path.name)
        if role == roles.DecorationRole:
            return self._thumbnails.of(path)
        if role == STATUS_ROLE:
            return self._work.status(path)
        if role == PATH_ROLE:
            return path
        word = self._words[self._work.status(path)]
        if role == roles.ToolTipRole:
            return "\n".join(filter(None, (shown(path), word, self._work.failure(path))))
        if role == roles.AccessibleTextRole:
            return f"{shown(path.name)}, {word}"
        if role == roles.AccessibleDescriptionRole:
            return word
        return None

    def word(self, status: Status) -> str:
        """Return what a status is called."""
        return self._words[status]

    def _begin(self) -> None:
        self.beginResetModel()
        self.endResetModel()

    def _refresh_all(self) -> None:
        if self._work.paths:
            roles = [Qt.ItemDataRole.DecorationRole]
            self.dataChanged.emit(self.index(0), self.index(len(self._work.paths) - 1), roles)

    def _refresh(self, path: Path) -> None:
        row = self._work.row(path)
        if row is not None:
            index = self.index(row)
            self.dataChanged.emit(index, index)


class FileFilter(QSortFilterProxyModel):
    """Shows the pictures of some status whose names hold some letters."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._statuses: frozenset[Status] = frozenset(Status)
        self._letters = ""

    def show_only(self, statuses: frozenset[Status], letters: str) -> None:
        """Show others."""
        self._statuses, self._letters = statuses, letters.casefold()
        self.invalidate()

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        """Tell whether a picture is shown."""
        index = self.sourceModel().index(row, 0, parent)
        return (
            index.data(STATUS_ROLE) in self._statuses
            and self._letters in str(index.data()).casefold()
        )
