"""Commands about classes: add, rename, recolour, delete, and choose by digit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QActionGroup, QColor
from PySide6.QtWidgets import QColorDialog, QMenu, QWidget

from segapp.imaging.colour import unused_colour
from segapp.io.class_list import match_classes
from segapp.model.classes import TWO_CLASSES, ClassInfo, shortcut_keys
from segapp.qt.i18n import class_name
from segapp.qt.panels.class_panel import swatch, unused_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from segapp.qt.actions import Actions
    from segapp.qt.panels.brush_panel import BrushState
    from segapp.qt.panels.class_panel import ClassPanel
    from segapp.qt.session.session import Session


class _ClassMenu:
    """A submenu that chooses the class of a mouse button."""

    def __init__(self, menu: QMenu, keys: str, choose: Callable[[int], None]) -> None:
        self._menu, self._keys, self._choose = menu, keys, choose
        self._group = QActionGroup(menu)

    def fill(self, classes: tuple[ClassInfo, ...], chosen: int) -> None:
        """List the classes and their digits."""
        for action in self._group.actions():
            self._menu.removeAction(action)
            self._group.removeAction(action)
            action.deleteLater()
        for index, (info, key) in enumerate(zip(classes, shortcut_keys(classes), strict=True)):
            if not key:
                continue
            action = QAction(
                swatch(info.colour), class_name(info.name).replace("&", "&&"), self._group
            )
            action.setCheckable(True)
            action.setShortcut(self._keys.format(key))
            action.setData(index)
            action.triggered.connect(lambda _=False, row=index: self._choose(row))
            self._menu.addAction(action)
        self.check(chosen)

    def check(self, chosen: int) -> None:
        """Check the class of the button."""
        for action in self._group.actions():
            action.setChecked(action.data() == chosen)


class ClassCommands(QObject):
    """Commands that edit the classes of the document."""

    def __init__(
        self,
        session: Session,
        brush: BrushState,
        panel: ClassPanel,
        menus: tuple[QMenu, QMenu],
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._brush, self._panel = session, brush, panel
        self._window = window
        self._left = _ClassMenu(menus[0], "{}", brush.choose_left)
        self._right = _ClassMenu(menus[1], "Shift+{}", brush.choose_right)
        self._shown: tuple[ClassInfo, ...] = ()
        panel.left_chosen.connect(brush.choose_left)
        panel.right_chosen.connect(brush.choose_right)
        panel.renamed.connect(self._rename)
        panel.key_chosen.connect(self._set_key)
        panel.moved.connect(self._move)
        brush.changed.connect(self._show_brush)
        session.picture_changed.connect(self._begin)
        session.document_changed.connect(self._show_classes)
        self._show_classes()
        self._show_brush()

    def connect_actions(self, actions: Actions) -> None:
        """Connect the commands."""
        actions["swap"].triggered.connect(self._brush.swap)
        actions["add_class"].triggered.connect(self._add)
        actions["rename_class"].triggered.connect(self._panel.edit_name)
        actions["recolour_class"].triggered.connect(self._recolour)
        actions["background_class"].triggered.connect(self._set_background)
        actions["delete_class"].triggered.connect(self._delete)
        actions["class_up"].triggered.connect(lambda: self._move_by(-1))
        actions["class_down"].triggered.connect(lambda: self._move_by(1))

    def _begin(self) -> None:
        """Reset the buttons' classes, unless another picture has the same list."""
        document = self._session.document
        if document.classes != self._shown or document.classes == TWO_CLASSES:
            self._shown = ()
            self._brush.begin(document)

    def _show_classes(self) -> None:
        document = self._session.document
        if document.classes != self._shown:
            self._follow(document.classes)
        self._brush.keep_to(document)
        if document.classes != self._shown:
            self._shown = document.classes
            self._panel.show_document(document)
            self._left.fill(document.classes, self._brush.brush.left)
            self._right.fill(document.classes, self._brush.brush.right)

    def _follow(self, classes: tuple[ClassInfo, ...]) -> None:
        """Keep the buttons' classes when the list is reordered."""
        places = [place for place in match_classes(self._shown, classes) if place is not None]
        if len(self._shown) == len(classes) and sorted(places) == list(range(len(classes))):
            brush = self._brush.brush
            self._brush.follow(places[brush.left], places[brush.right])

    def _show_brush(self) -> None:
        brush = self._brush.brush
        self._panel.show_buttons(brush.left, brush.right)
        self._panel.paint_box.show_brush(brush)
        self._left.check(brush.left)
        self._right.check(brush.right)
        self._brush.keep_to(self._session.document)

    def _add(self) -> None:
        self._panel.end_name()
        document = self._session.document
        name = unused_name(document, self.tr("class {}"))
        picture, used = self._session.picture, [each.colour for each in document.classes]
        info = ClassInfo(name, unused_colour(used, picture.rgb if picture else None))
        self._session.edit(self.tr("adding {}").format(name), document.with_class(info))
        if len(self._session.document.classes) > len(document.classes):
            self._brush.choose_left(len(document.classes))
            self._panel.edit_name()

    def _rename(self, index: int, name: str) -> None:
        info = self._session.document.classes[index]
        self._change(
            self.tr("renaming {}").format(class_name(info.name)), index, replace(info, name=name)
        )

    def _set_key(self, index: int, key: str) -> None:
        document = self._session.document
        name = self.tr("key of {}").format(class_name(document.classes[index].name))
        self._session.edit(name, document.with_key(index, key))

    def _set_background(self) -> None:
        document, index = self._session.document, self._panel.chosen
        name = self.tr("{} as background").format(class_name(document.classes[index].name))
        self._session.edit(name, document.with_background(index))

    def _move_by(self, steps: int) -> None:
        index = self._panel.chosen + steps
        if 0 <= index < len(self._session.document.classes):
            self._move(self._panel.chosen, index)

    def _move(self, index: int, place: int) -> None:
        document = self._session.document
        name = self.tr("moving {}").format(class_name(document.classes[index].name))
        self._session.edit(name, document.with_class_moved(index, place))
        self._panel.show_document(self._session.document)  # also after a failed move

    def _recolour(self) -> None:
        index = self._panel.chosen
        info = self._session.document.classes[index]
        colour = QColorDialog.getColor(
            QColor(*info.colour),
            self._window,
            self.tr("Colour of {}").format(class_name(info.name)),
        )
        if colour.isValid():
            chosen = (colour.red(), colour.green(), colour.blue())
            name = self.tr("recolouring {}").format(class_name(info.name))
            self._change(name, index, replace(info, colour=chosen))

    def _change(self, name: str, index: int, info: ClassInfo) -> None:
        self._session.edit(name, self._session.document.with_class_changed(index, info))

    def _delete(self) -> None:
        document, index = self._session.document, self._panel.chosen
        if len(document.classes) > 2:
            name = self.tr("deleting {}").format(class_name(document.classes[index].name))
            self._session.edit(name, document.without_class(index))
