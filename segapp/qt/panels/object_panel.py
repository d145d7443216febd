"""List of the objects of a class, with their shades, names and flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QAbstractListModel,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSignalBlocker,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLabel,
    QListView,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from segapp.qt.i18n import as_plain
from segapp.qt.panels.class_panel import swatch

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from PySide6.QtCore import QPoint

    from segapp.model.classes import Key
    from segapp.qt.actions import Actions

    Index = QModelIndex | QPersistentModelIndex

_COMMANDS = ("select_object", "cut_object", "join_objects", "new_object", "delete_object")
_MENU = ("rename_object", "join_objects", "crowd_object", "occluded_object", "delete_object")


@dataclass(frozen=True, slots=True)
class ObjectRow:
    """An object as the list shows it.

    Parameters
    ----------
    title
        Its name, or class and number.
    held
        Whether marks or an anchor hold it; otherwise it is as connectivity and necks make it.
    """

    key: Key
    title: str
    name: str
    colour: tuple[int, int, int]
    area: int
    crowd: bool
    occluded: bool
    held: bool


class ObjectList(QAbstractListModel):
    """Model of the rows; the text that is edited is the name."""

    renamed = Signal(object, str)  # a key and the name

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: Sequence[ObjectRow] = ()

    def show_rows(self, rows: Sequence[ObjectRow]) -> None:
        """Show other objects, or the same ones with other values."""
        if [row.key for row in rows] == [row.key for row in self.rows]:
            self.rows = rows
            self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))
            return
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        """Count the objects."""
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Let names be edited."""
        return super().flags(index) | Qt.ItemFlag.ItemIsEditable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return title and flags, the name to edit, the shade or the font."""
        row = self.rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                flags = [self.tr("crowd")] * row.crowd + [self.tr("occluded")] * row.occluded
                return "   ".join([row.title, self.tr("{} px").format(row.area), *flags])
            case Qt.ItemDataRole.EditRole:
                return row.name
            case Qt.ItemDataRole.DecorationRole:
                return swatch(row.colour)
            case Qt.ItemDataRole.FontRole if not row.held:
                font = QFont()
                font.setItalic(True)
                return font
            case Qt.ItemDataRole.ToolTipRole:
                return (
                    self.tr("Double-click to name; right-click for more")
                    if row.held
                    else self.tr(
                        "Proposed: its number is kept once it is accepted, named or marked"
                    )
                )
            case _:
                return None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Emit a new name."""
        name = str(value).strip()
        if role != Qt.ItemDataRole.EditRole or name == self.rows[index.row()].name:
            return False
        self.renamed.emit(self.rows[index.row()].key, name)
        return True


class ObjectPanel(QWidget):
    """The objects of the chosen class, their number, and buttons to edit them."""

    selected = Signal(object)  # the keys of the chosen rows
    activated = Signal(object)  # a key to zoom to
    renamed = Signal(object, str)
    move_requested = Signal(int)  # the selection, to a class

    def __init__(self, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self._classes: Sequence[str] = ()
        self.count = QLabel(textFormat=Qt.TextFormat.PlainText)
        # Its text must not widen the panel, and so move the image.
        self.count.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.count.setAccessibleName(self.tr("Number of objects"))
        actions["accept_objects"].setIconText(self.tr("Accept"))
        self.accept = self._button("accept_objects", with_text=True)
        self.split = self._button("split_class", with_text=True)
        self._model = ObjectList(self)
        self._model.renamed.connect(self.renamed)
        self.view = QListView()
        self.view.setModel(self._model)
        self.view.setUniformItemSizes(True)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.view.setAccessibleName(self.tr("Objects of the class"))
        self.view.setAccessibleDescription(
            self.tr("Select objects to join, name, move or delete them")
        )
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._open_menu)
        self.view.selectionModel().selectionChanged.connect(self._select)
        self.view.activated.connect(
            lambda index: self.activated.emit(self._model.rows[index.row()].key)
        )
        self.view.setMinimumHeight(56)
        head = QHBoxLayout()
        head.addWidget(self.count, 1)
        head.addWidget(self.accept)
        tools = QHBoxLayout()
        tools.setSpacing(2)
        tools.addWidget(self.split)
        tools.addStretch(1)
        for name in _COMMANDS:
            tools.addWidget(self._button(name))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addWidget(self.view, 1)
        layout.addLayout(tools)
        self.hide()  # until there are objects to tell apart

    def _button(self, name: str, *, with_text: bool = False) -> QToolButton:
        button = QToolButton()
        button.setDefaultAction(self._actions[name])
        button.setAutoRaise(not with_text)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if with_text:
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        else:
            button.setIconSize(QSize(18, 18))
            button.setFixedWidth(26)
        return button

    def show_objects(self, title: str, rows: Sequence[ObjectRow], classes: Sequence[str]) -> None:
        """Show the objects of a class; ``classes`` are the names that objects can move to.

        A single object that nothing marks as one needs no list: it is its class.
        """
        self._classes = classes
        chosen = set(self.keys())
        with QSignalBlocker(self.view.selectionModel()):
            self._model.show_rows(rows)
        self.choose([key for key in (row.key for row in rows) if key in chosen])
        proposed = sum(not row.held for row in rows)
        number = self.tr("one object") if len(rows) == 1 else self.tr("{} objects")
        text = number.format(len(rows))
        if 0 < proposed < len(rows):
            text += self.tr(", {} proposed").format(proposed)
        self.count.setText(text)
        self.count.setToolTip(as_plain(f"{title}: {text}"))
        self.accept.setVisible(proposed > 0)
        self.setVisible(len(rows) > 1 or proposed < len(rows))

    def keys(self) -> list[Key]:
        """Return the chosen objects."""
        rows = sorted(index.row() for index in self.view.selectionModel().selectedRows())
        return [self._model.rows[row].key for row in rows if row < len(self._model.rows)]

    def choose(self, keys: Collection[Key]) -> None:
        """Choose objects without emitting `selected`."""
        chosen = self.view.selectionModel()
        with QSignalBlocker(chosen):
            chosen.clearSelection()
            for row, each in enumerate(self._model.rows):
                if each.key in keys:
                    index = self._model.index(row)
                    chosen.select(index, QItemSelectionModel.SelectionFlag.Select)
                    self.view.scrollTo(index)
        self.view.viewport().update()

    def edit_name(self) -> None:
        """Edit the name of the first chosen object."""
        rows = self.view.selectionModel().selectedRows()
        if rows:
            self.view.setFocus()
            self.view.edit(min(rows, key=QModelIndex.row))

    def _select(self) -> None:
        self.selected.emit(self.keys())

    def _open_menu(self, at: QPoint) -> None:
        if not self.view.indexAt(at).isValid():
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for name in _MENU:
            menu.addAction(self._actions[name])
        move = menu.addMenu(self.tr("Move to class"))
        for label, name in enumerate(self._classes):
            action = move.addAction(name.replace("&", "&&"))
            action.triggered.connect(lambda _=False, row=label: self.move_requested.emit(row))
        menu.popup(self.view.viewport().mapToGlobal(at))
