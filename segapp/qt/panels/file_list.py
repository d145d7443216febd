"""The image list of a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QRectF,
    QSize,
    QSortFilterProxyModel,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QColor, QPainter, QPalette, QPen, QPixmap
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QProgressBar,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from segapp.io.folder_files import ImageStatus
from segapp.model.validation import sanitize
from segapp.qt.files.folder import Thumbnails
from segapp.qt.i18n import as_plain
from segapp.qt.widgets import WrappingRow

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtCore import QObject, QPersistentModelIndex
    from PySide6.QtGui import QMouseEvent, QResizeEvent

    from segapp.qt.actions import Actions
    from segapp.qt.files.folder import OpenFolder


if TYPE_CHECKING:
    Index = QModelIndex | QPersistentModelIndex

STATUS_ROLE = Qt.ItemDataRole.UserRole + 1
PATH_ROLE = Qt.ItemDataRole.UserRole + 2


class FileModel(QAbstractListModel):
    """The list model of the workspace's images."""

    def __init__(
        self, folder: OpenFolder, thumbnails: Thumbnails, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._folder, self._thumbnails = folder, thumbnails
        folder.begun.connect(self._begin)
        folder.folder_chosen.connect(self._begin)
        folder.status_changed.connect(self._refresh)
        thumbnails.arrived.connect(self._refresh)
        thumbnails.forgotten.connect(self._refresh_all)
        thumbnails.unreadable.connect(folder.note_failure)
        self._words = {
            ImageStatus.UNTOUCHED: self.tr("untouched"),
            ImageStatus.MARKED: self.tr("marked"),
            ImageStatus.ANSWERED: self.tr("with result"),
            ImageStatus.DONE: self.tr("done"),
            ImageStatus.FAILED: self.tr("cannot be read"),
        }

    def rowCount(self, parent: Index | None = None) -> int:
        """Count the pictures."""
        return 0 if parent is not None and parent.isValid() else len(self._folder.workspace.images)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return the data of an image for a role."""
        if not index.isValid():
            return None
        path = self._folder.workspace.images[index.row()]
        roles = Qt.ItemDataRole
        if role == roles.DisplayRole:
            return sanitize(path.name)
        if role == roles.DecorationRole:
            return self._thumbnails.of(path)
        if role == STATUS_ROLE:
            return self._folder.workspace.status(path)
        if role == PATH_ROLE:
            return path
        word = self._words[self._folder.workspace.status(path)]
        if role == roles.ToolTipRole:
            parts = sanitize(path), word, self._folder.workspace.failure(path)
            return as_plain("\n".join(filter(None, parts)))
        if role == roles.AccessibleTextRole:
            return f"{sanitize(path.name)}, {word}"
        if role == roles.AccessibleDescriptionRole:
            return word
        return None

    def word(self, status: ImageStatus) -> str:
        """Return the name of a status."""
        return self._words[status]

    def _begin(self) -> None:
        self.beginResetModel()
        self.endResetModel()

    def _refresh_all(self) -> None:
        if self._folder.workspace.images:
            roles = [Qt.ItemDataRole.DecorationRole]
            self.dataChanged.emit(
                self.index(0), self.index(len(self._folder.workspace.images) - 1), roles
            )

    def _refresh(self, path: Path) -> None:
        row = self._folder.workspace.index(path)
        if row is not None:
            index = self.index(row)
            self.dataChanged.emit(index, index)


class FileFilter(QSortFilterProxyModel):
    """A filter by status and by a part of the name."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._statuses: frozenset[ImageStatus] = frozenset(ImageStatus)
        self._letters = ""
        self._ranks: dict[Path, int] = {}

    def show_only(self, statuses: frozenset[ImageStatus], letters: str) -> None:
        """Show the images of some statuses whose names hold some letters."""
        self._statuses, self._letters = statuses, letters.casefold()
        self.invalidate()

    def rank(self, paths: list[Path]) -> None:
        """List these images first, in this order; the others follow in theirs."""
        self._ranks = {path: rank for rank, path in enumerate(paths)}
        self.invalidate()
        self.sort(0 if paths else -1)

    def lessThan(self, left: Index, right: Index) -> bool:
        """Return whether an image comes before another."""
        last = len(self._ranks)
        ranks = [self._ranks.get(each.data(PATH_ROLE), last) for each in (left, right)]
        return ranks[0] < ranks[1] or (ranks[0] == ranks[1] and left.row() < right.row())

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        """Return whether a picture is shown."""
        index = self.sourceModel().index(row, 0, parent)
        return (
            index.data(STATUS_ROLE) in self._statuses
            and self._letters in str(index.data()).casefold()
        )


# Widget pixels of a row, and of the frame that a thumbnail is fitted into.
_HEIGHT, _WIDE, _HIGH, _GAP = 54, 60, 44, 8
_FAINT = 170  # of 255: less than the name, and still to be read
# Colours that colour-blind people tell apart; the words beside them say the same.
_COLOURS = {
    ImageStatus.MARKED: QColor(230, 159, 0),
    ImageStatus.ANSWERED: QColor(86, 180, 233),
    ImageStatus.DONE: QColor(0, 158, 115),
    ImageStatus.FAILED: QColor(213, 94, 0),
}


class FileDelegate(QStyledItemDelegate):
    """The painter of rows."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """All rows are of one height, so that a long list is laid out at once."""
        del option, index
        return QSize(120, _HEIGHT)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw the background of the style, thumbnail, name and status."""
        row = QStyleOptionViewItem(option)
        style = QApplication.style()
        style.drawPrimitive(QStyle.PrimitiveElement.PE_PanelItemViewItem, row, painter, row.widget)
        chosen = bool(row.state & QStyle.StateFlag.State_Selected)
        role = QPalette.ColorRole.HighlightedText if chosen else QPalette.ColorRole.Text
        text = row.palette.color(role)
        frame = QRectF(row.rect)
        painter.save()
        painter.setRenderHints(
            QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform
        )
        box = QRectF(frame.left() + 5, frame.center().y() - _HIGH / 2, _WIDE, _HIGH)
        _draw_thumbnail(painter, box, index.data(Qt.ItemDataRole.DecorationRole), text)
        words = frame.adjusted(_WIDE + 5 + _GAP, 8, -6, -8)
        name = row.fontMetrics.elidedText(
            str(index.data()), Qt.TextElideMode.ElideMiddle, int(words.width())
        )
        painter.setPen(text)
        painter.drawText(words, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, name)
        word = str(index.data(Qt.ItemDataRole.AccessibleDescriptionRole))
        # On the ground of the chosen row a fainter word could hardly be read.
        faint = text if chosen else _faded(text, _FAINT)
        _draw_status(painter, words, index.data(STATUS_ROLE), word, faint)
        painter.restore()


def _faded(colour: QColor, alpha: int) -> QColor:
    return QColor(colour.red(), colour.green(), colour.blue(), alpha)


def _draw_thumbnail(
    painter: QPainter, box: QRectF, thumbnail: QPixmap | None, text: QColor
) -> None:
    """Fit a thumbnail into its box; a pale background stands for a missing one."""
    if thumbnail is None or thumbnail.isNull():
        painter.fillRect(box, _faded(text, 18))
        return
    scale = min(box.width() / thumbnail.width(), box.height() / thumbnail.height())
    fitted = QRectF(0, 0, thumbnail.width() * scale, thumbnail.height() * scale)
    fitted.moveCenter(box.center())
    painter.drawPixmap(fitted, thumbnail, QRectF(thumbnail.rect()))


def _draw_status(
    painter: QPainter, words: QRectF, status: ImageStatus, word: str, faint: QColor
) -> None:
    """Draw a dot, with a tick in it when the picture is done, and the word."""
    dot = QRectF(words.left(), words.bottom() - 12, 10, 10)
    colour = _COLOURS.get(status)
    painter.setPen(QPen(faint, 1) if colour is None else Qt.PenStyle.NoPen)
    painter.setBrush(colour if colour is not None else Qt.BrushStyle.NoBrush)
    painter.drawEllipse(dot)
    if status is ImageStatus.DONE:
        painter.setPen(QPen(QColor("white"), 1.6))
        middle = dot.center()
        painter.drawPolyline(
            [
                middle + type(middle)(-2.4, 0.2),
                middle + type(middle)(-0.6, 2.0),
                middle + type(middle)(2.6, -2.0),
            ]
        )
    painter.setPen(faint)
    painter.drawText(
        words.adjusted(16, 0, 0, 0),
        Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft,
        word,
    )


_WIDTH = 220  # widget pixels at first; the user may widen it
_UNDONE = frozenset(ImageStatus) - {ImageStatus.DONE}
_REASONS = 4  # why files are left out, that are shown at once
_PAUSE = 150  # milliseconds after the last letter, before a long list is searched


class _Names(QListView):
    """A list view that reacts to the left button alone."""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose with the left button."""
        if event.button() is Qt.MouseButton.LeftButton:
            super().mousePressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the open picture visible when the list shrinks, as for the export."""
        super().resizeEvent(event)
        if event.size().height() < event.oldSize().height() and self.currentIndex().isValid():
            self.scrollTo(self.currentIndex())


class FileList(QWidget):
    """The list of the folder's images, with search, status filter and progress."""

    chosen = Signal(object)  # Path

    def __init__(
        self, folder: OpenFolder, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._folder = folder
        self.thumbnails = Thumbnails(self)
        self.model = FileModel(folder, self.thumbnails, self)
        self._filter = FileFilter(self)
        self._filter.setSourceModel(self.model)
        self.view = self._view()
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Search"))
        self.search.setAccessibleName(self.tr("Search the images' names"))
        self.search.setClearButtonEnabled(True)
        self.statuses = self._status_box()
        self._message = QLabel()
        self._left_out = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self._left_out.setAccessibleName(self.tr("Files that are left out"))
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(6)
        self._bar.setAccessibleName(self.tr("Images done"))
        self._bar.setToolTip(self.tr("Number of finished images in the folder"))
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE)
        self._pause.timeout.connect(self._narrow)
        self.search.textChanged.connect(self._pause.start)
        self.statuses.currentIndexChanged.connect(self._narrow)
        self._lay_out(actions)
        folder.begun.connect(self._begin)
        folder.folder_chosen.connect(self.show_progress)
        folder.status_changed.connect(self.show_progress)

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
        box.setAccessibleName(self.tr("Images to list"))
        box.setToolTip(self.tr("List all images, or those of one state"))
        box.addItem(self.tr("All"), frozenset(ImageStatus))
        box.addItem(self.tr("Unfinished"), _UNDONE)
        for status in ImageStatus:
            word = self.model.word(status)
            box.addItem(word[:1].upper() + word[1:], frozenset({status}))
        return box

    def _lay_out(self, actions: Actions) -> None:
        narrowing = QHBoxLayout()
        narrowing.addWidget(self.search, 1)
        narrowing.addWidget(self.statuses)
        buttons = WrappingRow()
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
        layout.addWidget(self._message)
        layout.addWidget(self._left_out)
        layout.addWidget(self._bar)
        layout.addWidget(buttons)

    def add_below(self, *panels: QWidget) -> None:
        """Put panels for the whole folder under the list."""
        for panel in panels:
            self._rows.addWidget(panel)

    def sizeHint(self) -> QSize:
        """Request the width of a name."""
        return QSize(_WIDTH, super().sizeHint().height())

    @property
    def message(self) -> str:
        """The progress in words."""
        return self._message.text()

    def names(self) -> list[str]:
        """Return the names that are listed now."""
        rows = range(self._filter.rowCount())
        return [str(self._filter.index(row, 0).data()) for row in rows]

    def list_first(self, paths: list[Path]) -> None:
        """List these images first, in this order; without any, as the folder has them."""
        self._filter.rank(paths)

    def _begin(self) -> None:
        self.list_first([])
        self.search.clear()
        self._pause.stop()
        self.statuses.setCurrentIndex(0)
        self._narrow()
        self.show_progress()

    def _narrow(self) -> None:
        self._pause.stop()
        current = self.view.currentIndex().data(PATH_ROLE)
        self._filter.show_only(self.statuses.currentData(), self.search.text())
        if current is not None:
            self.show_open(current)

    def show_progress(self) -> None:
        """Show how many pictures are done."""
        done, total = self._folder.workspace.n_done, len(self._folder.workspace.images)
        self._message.setText(self.tr("{} of {} done").format(done, total))
        self._bar.setMaximum(max(total, 1))
        self._bar.setValue(done)
        left_out = self._folder.workspace.left_out
        self._left_out.setVisible(left_out.total > 0)
        reasons = [
            f"{count} {sanitize(suffix) or '?'}" for suffix, count in left_out.others.items()
        ]
        if left_out.companions:
            text = self.tr("strokes, truths and results: {}")
            reasons.insert(0, text.format(left_out.companions))
        if left_out.hidden:
            reasons.insert(0, self.tr("{} hidden").format(left_out.hidden))
        text = self.tr("Left out: {}").format(", ".join(reasons[:_REASONS]))
        self._left_out.setText(text + (" …" if len(reasons) > _REASONS else ""))
        self._left_out.setToolTip(as_plain(", ".join(reasons)))

    def show_open(self, path: Path) -> None:
        """Highlight the picture that is open, or is being opened."""
        row = self._folder.workspace.index(path)
        index = QModelIndex() if row is None else self._filter.mapFromSource(self.model.index(row))
        self.view.setCurrentIndex(index)
        if index.isValid():
            self.view.scrollTo(index)

    def _choose(self, index: QModelIndex) -> None:
        self.chosen.emit(index.data(PATH_ROLE))
