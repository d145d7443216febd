"""Commands about classes: add, rename, recolour, delete, and choose by digit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QActionGroup, QColor
from PySide6.QtWidgets import QColorDialog, QMenu, QWidget

from segapp.qt.panels.class_delegate import KEYS
from segapp.qt.panels.class_panel import swatch, unused_colour, unused_name
from segapp.values.document import ClassInfo

if TYPE_CHECKING:
    from segapp.qt.actions.actions import Actions
    from segapp.qt.panels.class_panel import ClassPanel
    from segapp.qt.session.session import Session
    from segapp.qt.window.brush_state import BrushState


class ClassCommands(QObject):
    """Turns wishes about classes into edits of the document."""

    def __init__(
        self,
        session: Session,
        brush: BrushState,
        panel: ClassPanel,
        menu: QMenu,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._brush, self._panel = session, brush, panel
        self._menu, self._window = menu, window
        self._group = QActionGroup(self)
        self._shown: tuple[ClassInfo, ...] = ()
        panel.left_chosen.connect(brush.choose_left)
        panel.right_chosen.connect(brush.choose_right)
        panel.renamed.connect(self._rename)
        brush.changed.connect(self._show_brush)
        session.picture_changed.connect(lambda: brush.begin(session.document))
        session.document_changed.connect(self._show_classes)
        self._show_classes()
        self._show_brush()

    def connect_actions(self, actions: Actions) -> None:
        """Let the menu's commands arrive here."""
        actions["swap"].triggered.connect(self._brush.swap)
        actions["add_class"].triggered.connect(self._add)
        actions["rename_class"].triggered.connect(self._panel.edit_name)
        actions["recolour_class"].triggered.connect(self._recolour)
        actions["delete_class"].triggered.connect(self._delete)

    def _show_classes(self) -> None:
        document = self._session.document
        self._brush.keep_to(document)
        if document.classes != self._shown:
            self._shown = document.classes
            self._panel.show_document(document)
            self._fill_menu()

    def _fill_menu(self) -> None:
        for action in self._group.actions():
            self._menu.removeAction(action)
            self._window.removeAction(action)
            action.deleteLater()
        for index, info in enumerate(self._shown[:KEYS]):
            action = QAction(swatch(info.colour), info.name.replace("&", "&&"), self._group)
            action.setCheckable(True)
            action.setShortcut(str(index + 1))
            action.setChecked(index == self._brush.brush.left)
            action.triggered.connect(lambda _=False, row=index: self._brush.choose_left(row))
            self._menu.addAction(action)

    def _show_brush(self) -> None:
        brush = self._brush.brush
        self._panel.show_buttons(brush.left, brush.right)
        self._panel.show_radius(brush.radius)
        for index, action in enumerate(self._group.actions()):
            action.setChecked(index == brush.left)
        self._brush.keep_to(self._session.document)

    def _add(self) -> None:
        document = self._session.document
        name = unused_name(document, self.tr("class {}"))
        info = ClassInfo(name, unused_colour(document))
        self._session.edit(self.tr("adding {}").format(name), document.with_class(info))
        if len(self._session.document.classes) > len(document.classes):
            self._brush.choose_left(len(document.classes))

    def _rename(self, index: int, name: str) -> None:
        info = self._session.document.classes[index]
        self._change(self.tr("renaming {}").format(info.name), index, replace(info, name=name))

    def _recolour(self) -> None:
        index = self._panel.chosen
        info = self._session.document.classes[index]
        colour = QColorDialog.getColor(
            QColor(*info.colour), self._window, self.tr("Colour of {}").format(info.name)
        )
        if colour.isValid():
            chosen = (colour.red(), colour.green(), colour.blue())
            name = self.tr("recolouring {}").format(info.name)
            self._change(name, index, replace(info, colour=chosen))

    def _change(self, name: str, index: int, info: ClassInfo) -> None:
        self._session.edit(name, self._session.document.with_class_changed(index, info))

    def _delete(self) -> None:
        document, index = self._session.document, self._panel.chosen
        if len(document.classes) > 2:
            name = self.tr("deleting {}").format(document.classes[index].name)
            self._session.edit(name, document.without_class(index))
