"""List of classes: names, colours and mouse buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QRectF, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QIcon, QPainter, QPainterPath, QPalette, QPen, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QApplication,
    QDockWidget,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from segapp.model.classes import DIGITS, shortcut_keys
from segapp.qt.i18n import class_name
from segapp.qt.panels.brush_panel import PaintBox

if TYPE_CHECKING:
    from PySide6.QtCore import QPersistentModelIndex, QPoint

    from segapp.model.document import Document
    from segapp.qt.actions import Actions


COLOUR_ROLE = Qt.ItemDataRole.UserRole + 1
BUTTON_ROLE = Qt.ItemDataRole.UserRole + 2  # "left", "right", "both" or ""
KEY_ROLE = Qt.ItemDataRole.UserRole + 3  # the digit that chooses it, or ""
# Heights in pixels of a row and of its colour.
_HEIGHT = 28
_SWATCH = 14
# Width in pixels at the right of a row, for the key and the mouse.
_SYMBOLS = 64


class ClassDelegate(QStyledItemDelegate):
    """Delegate that paints a row and places the editor of its name."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """Return a size with room around the text."""
        return QSize(super().sizeHint(option, index).width(), _HEIGHT)

    def updateEditorGeometry(
        self,
        editor: QWidget,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Place the editor over the name."""
        del index
        editor.setGeometry(option.rect.adjusted(8 + _SWATCH + 6, 2, -_SYMBOLS, -2))

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw the style's background, then colour, name, key and mouse."""
        row = QStyleOptionViewItem(option)
        self.initStyleOption(row, index)
        chosen = bool(row.state & QStyle.StateFlag.State_Selected)
        name, row.text = row.text, ""
        style = QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, row, painter, row.widget)
        frame = QRectF(row.rect)
        role = QPalette.ColorRole.HighlightedText if chosen else QPalette.ColorRole.Text
        text = row.palette.color(role)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        _draw_swatch(painter, frame, QColor(*index.data(COLOUR_ROLE)), text, chosen=chosen)
        painter.setPen(text)
        room = frame.adjusted(8 + _SWATCH + 8, 0, -_SYMBOLS, 0)
        shown = row.fontMetrics.elidedText(name, Qt.TextElideMode.ElideRight, int(room.width()))
        beside = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        beside |= Qt.AlignmentFlag.AlignAbsolute  # the name beside its colour, in every script
        painter.drawText(room, beside, shown)
        if index.data(KEY_ROLE):
            _draw_key(painter, frame, index.data(KEY_ROLE), text)
        if index.data(BUTTON_ROLE):
            _draw_mouse(painter, frame, index.data(BUTTON_ROLE), text)
        painter.restore()


def _faded(colour: QColor, alpha: int) -> QColor:
    return QColor(colour.red(), colour.green(), colour.blue(), alpha)


def _draw_swatch(
    painter: QPainter, frame: QRectF, colour: QColor, text: QColor, *, chosen: bool
) -> None:
    """Draw the class's colour, with a ring that separates it from the row."""
    painter.setBrush(colour)
    painter.setPen(QPen(text, 1.6) if chosen else QPen(_faded(text, 110), 1))
    top = frame.center().y() - _SWATCH / 2
    painter.drawEllipse(QRectF(frame.left() + 8, top, _SWATCH, _SWATCH))


def _draw_key(painter: QPainter, frame: QRectF, digit: str, text: QColor) -> None:
    """Draw the digit that chooses the class as a key."""
    key = QRectF(frame.right() - 26, frame.center().y() - 9, 18, 18)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(_faded(text, 110), 1))
    painter.drawRoundedRect(key, 3, 3)
    painter.setPen(_faded(text, 200))
    painter.drawText(key, Qt.AlignmentFlag.AlignCenter, digit)


def _draw_mouse(painter: QPainter, frame: QRectF, button: str, text: QColor) -> None:
    """Draw a mouse with the class's button filled."""
    body = QRectF(frame.right() - 50, frame.center().y() - 9, 13, 18)
    outline = QPainterPath()
    outline.addRoundedRect(body, 6, 6)
    middle = body.center().x()
    filled = QPainterPath()
    for side, left in (("left", body.left()), ("right", middle + 0.5)):
        if button in (side, "both"):
            filled.addRect(QRectF(left, body.top(), body.width() / 2 - 0.5, 8))
    painter.fillPath(outline.intersected(filled), text)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(_faded(text, 200), 1.2))
    painter.drawPath(outline)


class ClassNotice(QWidget):
    """A notice about differences between the picture's and the folder's classes."""

    def __init__(self, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setAccessibleName(self.tr("Classes of image and folder"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 0, 10, 6)
        layout.setSpacing(4)
        layout.addWidget(self._text)
        self.buttons: dict[str, QToolButton] = {}
        for name in ("share_classes", "take_classes"):
            button = QToolButton()
            button.setDefaultAction(actions[name])
            button.setText(actions.name_of(name))
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            layout.addWidget(button)
            self.buttons[name] = button
        self.hide()

    @property
    def text(self) -> str:
        """The shown text."""
        return self._text.text()

    def show_state(self, *, differs: bool, listed: bool) -> None:
        """Show the notice if the classes differ; ``listed`` if the folder has a list."""
        self.setVisible(differs)
        self.buttons["take_classes"].setVisible(listed)
        self._text.setText(
            self.tr("This image has its own classes.")
            if listed
            else self.tr("The other images do not have these classes.")
        )


def swatch(colour: tuple[int, int, int], ratio: float = 1.0) -> QIcon:
    """Return a round icon of a class's colour."""
    side = 18
    drawn = QPixmap(round(side * ratio), round(side * ratio))
    drawn.setDevicePixelRatio(ratio)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(QColor(*colour))
    painter.setPen(QPen(QColor(0, 0, 0, 90), 1))
    painter.drawEllipse(2, 2, side - 4, side - 4)
    painter.end()
    return QIcon(drawn)


def unused_name(document: Document, pattern: str) -> str:
    """Return the first numbered name that no class has."""
    used = {info.name for info in document.classes}
    number = len(document.classes) + 1
    while pattern.format(number) in used:
        number += 1
    return pattern.format(number)


class ClassPanel(QWidget):
    """List of the document's classes, which emits the user's changes."""

    left_chosen = Signal(int)
    right_chosen = Signal(int)
    renamed = Signal(int, str)
    key_chosen = Signal(int, str)
    moved = Signal(int, int)  # a class and its new index

    def __init__(self, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self._left, self._right = 0, 1
        self.paint_box = PaintBox()
        self.notice = ClassNotice(actions)
        self._list = QListWidget()
        self._list.setAccessibleName(self.tr("Classes"))
        self._list.setItemDelegate(ClassDelegate(self._list))
        self._list.setToolTip(
            self.tr(
                "The mouse shows which button paints a class. The digit chooses it for the "
                "left button, Shift and the digit for the right one. Drag to change the order."
            )
        )
        self._list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._list.customContextMenuRequested.connect(self._open_menu)
        self._list.currentRowChanged.connect(self._choose)
        self._list.itemChanged.connect(self._take_name)
        self._list.setDragDropMode(QListWidget.DragDropMode.InternalMove)
        self._list.model().rowsMoved.connect(self._take_move)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 4, 10, 10)
        layout.setSpacing(8)
        layout.addWidget(self.paint_box)
        layout.addWidget(self._list, 1)
        layout.addWidget(self.notice)
        layout.addLayout(self._button_row())
        self.objects = QVBoxLayout()  # of the object panel, below the classes
        layout.addLayout(self.objects, 2)

    def _button_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(2)
        row.addStretch(1)
        for name in ("add_class", "rename_class", "class_up", "class_down", "delete_class"):
            button = QToolButton()
            button.setDefaultAction(self._actions[name])
            button.setAutoRaise(True)
            button.setIconSize(QSize(18, 18))
            button.setFixedWidth(26)  # until the icon is set, the text would widen the panel
            row.addWidget(button)
        return row

    def show_document(self, document: Document) -> None:
        """Show names and colours."""
        with QSignalBlocker(self._list):
            self._list.clear()
            for info, key in zip(document.classes, shortcut_keys(document.classes), strict=True):
                item = QListWidgetItem(class_name(info.name))
                item.setData(KEY_ROLE, key)
                item.setData(COLOUR_ROLE, info.colour)
                flags = item.flags() | Qt.ItemFlag.ItemIsEditable
                item.setFlags(flags & ~Qt.ItemFlag.ItemIsDropEnabled)  # between, never upon
                item.setData(Qt.ItemDataRole.UserRole, info.name)
                item.setToolTip(self.tr("Double-click to rename; right-click for more"))
                self._list.addItem(item)
            self._list.setCurrentRow(self._left)
        self._actions.enable("delete_class", when=len(document.classes) > 2)
        self.show_buttons(self._left, self._right)

    def show_buttons(self, left: int, right: int) -> None:
        """Show the class of each mouse button."""
        self._left, self._right = left, right
        self._actions.enable("class_up", when=left > 0)
        self._actions.enable("class_down", when=left + 1 < self._list.count())
        words = {left: self.tr("left button"), right: self.tr("right button")}
        sides = {left: "left", right: "right"}
        if left == right:
            words, sides = {left: self.tr("both buttons")}, {left: "both"}
        with QSignalBlocker(self._list):
            self._list.setCurrentRow(left)
            for row in range(self._list.count()):
                item = self._list.item(row)
                item.setData(BUTTON_ROLE, sides.get(row, ""))
                text = ", ".join(part for part in (item.text(), words.get(row)) if part)
                item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{row + 1}: {text}")
        self._list.viewport().update()

    @property
    def chosen(self) -> int:
        """The class of the left button."""
        return self._left

    def end_name(self) -> None:
        """Commit the name that is being edited: a button without focus does not."""
        field = self._list.viewport().findChild(QLineEdit)
        if field is not None:
            delegate = self._list.itemDelegate()
            delegate.commitData.emit(field)
            delegate.closeEditor.emit(field, QAbstractItemDelegate.EndEditHint.NoHint)
            field.setParent(None)  # it is deleted later, and `findChild` would find it

    def edit_name(self) -> None:
        """Edit the name of the chosen class."""
        item, holder = self._list.currentItem(), self.parentWidget()
        if isinstance(holder, QDockWidget):
            holder.show()  # a hidden editor takes no keys
            holder.raise_()
        if self._list.viewport().findChild(QLineEdit) is not None:  # it is being edited
            return
        if item is not None:
            self._list.scrollToItem(item)
            self._list.setFocus()
            self._list.editItem(item)

    def _choose(self, row: int) -> None:
        if row >= 0:
            self.left_chosen.emit(row)

    def _take_name(self, item: QListWidgetItem) -> None:
        before, name = item.data(Qt.ItemDataRole.UserRole), item.text().strip()
        shown = class_name(before)
        if name and name not in (before, shown):
            self.renamed.emit(self._list.row(item), name)
        elif name != shown:
            item.setText(shown)

    def _take_move(self, _: QModelIndex, row: int, last: int, __: QModelIndex, to: int) -> None:
        """Emit the new index of a dragged class, after the list has handled the drop."""
        del last
        QTimer.singleShot(0, lambda: self.moved.emit(row, to if to < row else to - 1))

    def _open_menu(self, at: QPoint) -> None:
        item = self._list.itemAt(at)
        if item is None:
            return
        row = self._list.row(item)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        left = menu.addAction(self.tr("Paint with the left button"))
        left.triggered.connect(lambda: self.left_chosen.emit(row))
        right = menu.addAction(self.tr("Paint with the right button"))
        right.triggered.connect(lambda: self.right_chosen.emit(row))
        menu.addSeparator()
        keys = menu.addMenu(self.tr("Key"))
        for digit in DIGITS:
            key = keys.addAction(digit)
            key.triggered.connect(lambda _=False, chosen=digit: self.key_chosen.emit(row, chosen))
        for name in (
            "rename_class",
            "recolour_class",
            "background_class",
            "class_up",
            "class_down",
            "delete_class",
        ):
            menu.addAction(self._actions[name])
        self._list.setCurrentRow(row)
        menu.popup(self._list.viewport().mapToGlobal(at))
