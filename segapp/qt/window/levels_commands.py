"""Levels and channels: the chip in the status bar, the panel, and what follows a change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.qt.panels.levels_panel import LevelsPanel
from segapp.qt.panels.status import depth_text

if TYPE_CHECKING:
    from PySide6.QtWidgets import QToolButton, QWidget

    from segapp.qt.actions.actions import Actions
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.files.files import Files
    from segapp.qt.session.session import Session
    from segapp.values.showing import Showing


class LevelsCommands(QObject):
    """A change is an edit like a stroke: undo takes it back, and the answer follows."""

    channels_offered = Signal(bool)  # whether the picture has more than is seen

    def __init__(
        self,
        session: Session,
        files: Files,
        canvas: Canvas,
        chip: QToolButton,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._files, self._canvas, self._chip = session, files, canvas, chip
        self.panel = LevelsPanel(window)
        self.panel.changed.connect(self._change)
        self.panel.looked.connect(self._look)
        session.rendering.looked.connect(canvas.show_anew)
        session.picture_changed.connect(self._show)
        session.shown_anew.connect(self._show_anew)
        session.picture_changed.connect(self._offer_channels)

    def connect_actions(self, actions: Actions) -> None:
        """Open the panel by the command, and by the chip."""
        actions["levels"].triggered.connect(self.open)
        self._chip.clicked.connect(actions["levels"].trigger)

    def open(self) -> None:
        """Show the panel beside the picture."""
        self.panel.show_picture(self._session.picture)
        self.panel.show()
        self.panel.raise_()
        self.panel.activateWindow()

    def _offer_channels(self) -> None:
        picture = self._session.picture
        self.channels_offered.emit(picture is not None and picture.holds_more)

    def _show_anew(self) -> None:
        if self._session.layer is not None:
            self._canvas.show_anew(self._session.layer)
        self._show()

    def _show(self) -> None:
        picture = self._session.picture
        self._chip.setVisible(picture is not None)
        if picture is not None:
            self._chip.setText(depth_text(picture))
        if self.panel.isVisible():
            self.panel.show_picture(picture)

    def _look(self, showing: Showing) -> None:
        if self._session.picture is not None:
            self._session.rendering.look(self._session.picture, showing)

    def _change(self, showing: Showing) -> None:
        session, state = self._session, self._session.state
        if state is None:
            return
        session.edit(self.tr("change of levels"), replace(session.document, showing=showing))
        if self._files.work.row(state.path) is not None:
            self._files.start.remember(showing)
