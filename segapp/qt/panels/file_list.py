"""The images of a folder: what they look like, how far they are, and which one is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QProgressBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from segapp.files.folder_progress import Status
from segapp.qt.files.thumbnails import Thumbnails
from segapp.qt.panels.file_delegate import FileDelegate
from segapp.qt.panels.file_model import PATH_ROLE, FileFilter, FileModel
from segapp.qt.wrapping import Wrapping

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtGui import QMouseEvent, QResizeEvent

    from segapp.qt.actions.actions import Actions
    from segapp.qt.files.picture_folder import PictureFolder

_WIDTH = 220  # widget pixels at first; the user may widen it
_UNDONE = frozenset(Status) - {Status.DONE}
_PAUSE = 150  # milliseconds after the last letter, before a long list is searched


class _Names(QListView):
    """Takes the left button alone: another one opens nothing, so it highlights nothing."""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose with the left button."""
        if event.button() is Qt.MouseButton.LeftButton:
            super().mousePressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the open picture in sight where less room is left, by the export for instance."""
        super().resizeEvent(event)
        if event.size().height() < event.oldSize().height() and self.currentIndex().isValid():
            self.scrollTo(self.currentIndex())


class FileList(QWidget):
    """Shows the folder's pictures and reports which one is wanted."""

    chosen = Signal(object)  # Path

    def __init__(
        self, work: PictureFolder, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._work = work
        self.thumbnails = Thumbnails(self)
        self.model = FileModel(work, self.thumbnails, self)
        self._filter = FileFilter(self)
        self._filter.setSourceModel(self.model)
        self.view = self._view()
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Search"))
        self.search.setAccessibleName(self.tr("Search the images' names"))
        self.search.setClearButtonEnabled(True)
        self.statuses = self._status_box()
        self._told = QLabel()
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(6)
        self._bar.setAccessibleName(self.tr("Images done"))
        self._bar.setToolTip(self.tr("How many of the folder's images are done"))
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE)
        self._pause.timeout.connect(self._narrow)
        self.search.textChanged.connect(self._pause.start)
        self.statuses.currentIndexChanged.connect(self._narrow)
        self._lay_out(actions)
        work.begun.connect(self._begin)
        work.place_changed.connect(self.tell_progress)
        work.status_changed.connect(self.tell_progress)

    def _view(self) -> QListView:
        view = _Names()
        view.setModel(self._filter)
        view.setItemDelegate(FileDelegate(view))
        view.setUniformItemSizes(True)
        view.setLayoutMode(QListView.LayoutMode.Batched)
        view.setAccessibleName(self.tr("Images of the folder"))
        view.setAccessibleDescription(self.tr("Return opens the chosen image"))
        view.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        view.activated.connect(self._choose)
        view.clicked.connect(self._choose)
        return view

    def _status_box(self) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName(self.tr("Which images are listed"))
        box.setToolTip(self.tr("List all images, or those of one state"))
        box.addItem(self.tr("All"), frozenset(Status))
        box.addItem(self.tr("Not done"), _UNDONE)
        for status in Status:
            word = self.model.word(status)
            box.addItem(word[:1].upper() + word[1:], frozenset({status}))
        return box

    def _lay_out(self, actions: Actions) -> None:
        narrowing = QHBoxLayout()
        narrowing.addWidget(self.search, 1)
        narrowing.addWidget(self.statuses)
        buttons = Wrapping()
        for name in ("done", "next_undone", "export_folder"):
            button = QToolButton()
            button.setDefaultAction(actions[name])
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
            button.setText(actions.name_of(name))
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            buttons.add(button)
        self._rows = layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 4, 10, 10)
        layout.setSpacing(6)
        layout.addLayout(narrowing)
        layout.addWidget(self.view, 1)
        layout.addWidget(self._told)
        layout.addWidget(self._bar)
        layout.addWidget(buttons)

    def add_below(self, *panels: QWidget) -> None:
        """Put what belongs to the folder as a whole under the list."""
        for panel in panels:
            self._rows.addWidget(panel)

    def sizeHint(self) -> QSize:
        """Ask for the width of a name, and leave the rest to the picture."""
        return QSize(_WIDTH, super().sizeHint().height())

    @property
    def told(self) -> str:
        """How many pictures are done, in words."""
        return self._told.text()

    def names(self) -> list[str]:
        """Return the names that are listed now."""
        rows = range(self._filter.rowCount())
        return [str(self._filter.index(row, 0).data()) for row in rows]

    def _begin(self) -> None:
        self.search.clear()
        self._pause.stop()
        self.statuses.setCurrentIndex(0)
        self._narrow()
        self.tell_progress()

    def _narrow(self) -> None:
        self._pause.stop()
        current = self.view.currentIndex().data(PATH_ROLE)
        self._filter.show_only(self.statuses.currentData(), self.search.text())
        if current is not None:
            self.show_open(current)

    def tell_progress(self) -> None:
        """Say how many pictures are done."""
        done, total = self._work.n_done, len(self._work.paths)
        self._told.setText(self.tr("{} of {} done").format(done, total))
        self._bar.setMaximum(max(total, 1))
        self._bar.setValue(done)

    def show_open(self, path: Path) -> None:
        """Mark the picture that is open, or is being gone to."""
        row = self._work.row(path)
        index = QModelIndex() if row is None else self._filter.mapFromSource(self.model.index(row))
        self.view.setCurrentIndex(index)
        if index.isValid():
            self.view.scrollTo(index)

    def _choose(self, index: QModelIndex) -> None:
        self.chosen.emit(index.data(PATH_ROLE))
