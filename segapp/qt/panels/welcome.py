"""What stands where no picture is yet: ways to get one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from segapp.qt.files.thumbnails import SIZE, filling, thumbnail

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.qt.actions.actions import Actions

_MOST_RECENT = 4


class Welcome(QWidget):
    """An invitation over the empty canvas: open, drop, paste, samples, recent files."""

    chosen = Signal(object)  # Path

    def __init__(self, canvas: QWidget, actions: Actions) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self.setObjectName("welcome")
        title = QLabel(self.tr("Open a picture to begin"))
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * 1.6)
        title.setFont(font)
        commands = QHBoxLayout()
        commands.setSpacing(8)
        commands.addStretch(1)
        for name in ("open", "open_folder", "paste"):
            commands.addWidget(_command(actions, name))
        commands.addStretch(1)
        self._samples, self._recent = QHBoxLayout(), QHBoxLayout()
        self._samples.setSpacing(6)
        self._recent.setSpacing(6)
        self._buttons: dict[Path, QToolButton] = {}  # of the recent files
        empty = QPixmap(SIZE)
        empty.fill(Qt.GlobalColor.transparent)
        self._blank = QIcon(empty)  # keeps a thumbnail's place
        self._recent_title = _small(self.tr("Recent"))
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.setSpacing(10)
        column.addStretch(1)
        column.addWidget(title, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addLayout(commands)
        told = _small(self.tr("or drop an image, a project or a folder here"))
        column.addWidget(told, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(14)
        self._samples_title = _small(self.tr("Samples to try"))
        column.addWidget(self._samples_title, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addLayout(self._samples)
        column.addSpacing(8)
        column.addWidget(self._recent_title, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addLayout(self._recent)
        column.addStretch(1)
        canvas.installEventFilter(self)
        self.resize(canvas.size())

    def show_samples(self, paths: list[Path]) -> None:
        """Offer the bundled pictures."""
        self._samples.addStretch(1)
        for path in paths:
            button = self._picture_button(path, sample_name(path))
            button.setIcon(QIcon(filling(thumbnail(path), self.devicePixelRatioF())))
            button.setAccessibleName(self.tr("Sample {}").format(sample_name(path)))
            button.setToolTip(self.tr("Open a picture that comes with the program"))
            self._samples.addWidget(button)
        self._samples.addStretch(1)

    def show_recent(self, paths: list[Path]) -> None:
        """Offer the files that were opened last; their thumbnails come later."""
        while (item := self._recent.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.deleteLater()
        self._buttons = {}
        self._recent.addStretch(1)
        for path in paths[:_MOST_RECENT]:
            button = self._picture_button(path, path.name)
            button.setToolTip(str(path))
            button.setAccessibleName(self.tr("Recent file {}").format(path.name))
            self._buttons[path] = button
            self._recent.addWidget(button)
        self._recent.addStretch(1)
        self._recent_title.setVisible(bool(paths))

    def show_thumbnail(self, path: Path, icon: QIcon) -> None:
        """Show what a recent file looks like."""
        if path in self._buttons:
            self._buttons[path].setIcon(icon)

    def _picture_button(self, path: Path, name: str) -> QToolButton:
        button = QToolButton()
        metrics = button.fontMetrics()
        shown = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, SIZE.width() + 8)
        button.setText(shown.replace("&", "&&"))
        button.setIcon(self._blank)
        button.setIconSize(SIZE)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.clicked.connect(lambda _=False, each=path: self.chosen.emit(each))
        return button

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fill the canvas."""
        if event.type() == QEvent.Type.Resize and watched is self._canvas:
            self.resize(self._canvas.size())
        return super().eventFilter(watched, event)


def sample_name(path: Path) -> str:
    """Return what a bundled picture is called."""
    names = {
        "coffee": _tr("Coffee"),
        "astronaut": _tr("Astronaut"),
        "cells": _tr("Cells"),
        "fruit": _tr("Fruit"),
        "leaf": _tr("Leaf"),
    }
    return names.get(path.stem, path.stem.capitalize())


def _tr(text: str) -> str:
    return QCoreApplication.translate("Welcome", text)


def _command(actions: Actions, name: str) -> QToolButton:
    button = QToolButton()
    button.setObjectName("invitation")
    button.setDefaultAction(actions[name])
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    button.setIconSize(QSize(20, 20))
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    button.setAccessibleName(actions.name_of(name))
    return button


def _small(text: str) -> QLabel:
    label = QLabel(text)
    label.setProperty("tone", "faint")
    return label
