"""Cards over the canvas: hint, preview badge, welcome."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from segapp.model.validation import sanitize
from segapp.qt.files.thumbnails import SIZE, filling, thumbnail
from segapp.qt.i18n import as_plain, class_name
from segapp.qt.widgets.layouts import Card

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.model.document import Document
    from segapp.qt.actions.actions import Actions


class Hint(Card):
    """Instructions for the first strokes, until the first answer from two classes."""

    def __init__(self, canvas: QWidget) -> None:
        super().__init__(canvas, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom)
        self._ended = True
        self._close = QToolButton()
        self._close.setText("✕")
        self._close.setAutoRaise(True)
        self._close.setAccessibleName(self.tr("Close the hint"))
        self._close.setToolTip(self.tr("Close the hint; F1 shows all keys"))
        self._close.clicked.connect(self.end)
        self.row.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)

    def begin(self) -> None:
        """Begin to show instructions."""
        self._ended = False

    def end(self) -> None:
        """Hide the instructions for good."""
        self._ended = True
        self.hide()

    def guide(self, document: Document, left: int, right: int, *, answered: bool) -> None:
        """Show the next step for a document and the classes of the two buttons."""
        if self._ended:
            return
        marked = document.strokes.labels
        if answered and len(marked) != 1:
            self.end()
            return
        names = [escape(class_name(document.classes[index].name)) for index in (left, right)]
        if not marked:
            text = self.tr(
                "Paint over the object with the <b>left</b> button. <b>F1</b> shows all keys."
            )
        elif answered and document.is_answerable(marked):
            text = self.tr(
                "Correct the result: the <b>left</b> button adds to {}, the <b>right</b> one "
                "removes. <b>N</b> shows where a stroke helps most."
            ).format(names[0])
        elif document.is_answerable(marked):
            text = self.tr("Learning from your strokes …")
        elif left in marked and right not in marked:
            text = self.tr("Now mark the surroundings with the <b>right</b> button ({}).").format(
                names[1]
            )
        elif right in marked and left not in marked:
            text = self.tr("Now mark the object with the <b>left</b> button ({}).").format(
                names[0]
            )
        else:
            text = self.tr("Now choose another class and mark what belongs to it.")
        self.set_text(text)
        self.show()
        self.place()


class PreviewBadge(Card):
    """Marker of a preview, in the lower left corner."""

    def __init__(self, canvas: QWidget) -> None:
        super().__init__(canvas, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)
        self.row.setContentsMargins(12, 4, 12, 4)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.set_text(self.tr("Preview, not final"))

    def show_for(self, *, is_preview: bool) -> None:
        """Show or hide the badge."""
        if is_preview != self.isVisible():
            self.setVisible(is_preview)
            if is_preview:
                self.place()


_MAX_RECENT = 4


class Welcome(QWidget):
    """Welcome page over the empty canvas: commands, samples, recent files."""

    chosen = Signal(object)  # Path

    def __init__(self, canvas: QWidget, actions: Actions) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self.setObjectName("welcome")
        title = QLabel(self.tr("Open an image to begin"))
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
        hint = _small(self.tr("or drop an image, a project or a folder here"))
        column.addWidget(hint, 0, Qt.AlignmentFlag.AlignHCenter)
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
        """Show the bundled pictures."""
        self._samples.addStretch(1)
        for path in paths:
            button = self._picture_button(path, sample_name(path))
            button.setIcon(QIcon(filling(thumbnail(path), self.devicePixelRatioF())))
            button.setAccessibleName(self.tr("Sample {}").format(sample_name(path)))
            button.setToolTip(self.tr("Open an image that comes with the program"))
            self._samples.addWidget(button)
        self._samples.addStretch(1)

    def show_recent(self, paths: list[Path]) -> None:
        """Show the recent files; `show_thumbnail` adds their thumbnails."""
        while (item := self._recent.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.deleteLater()
        self._buttons = {}
        self._recent.addStretch(1)
        for path in paths[:_MAX_RECENT]:
            button = self._picture_button(path, path.name)
            button.setToolTip(as_plain(sanitize(path)))
            button.setAccessibleName(self.tr("Recent file {}").format(sanitize(path.name)))
            self._buttons[path] = button
            self._recent.addWidget(button)
        self._recent.addStretch(1)
        self._recent_title.setVisible(bool(paths))

    def show_thumbnail(self, path: Path, icon: QIcon) -> None:
        """Show the thumbnail of a recent file."""
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
    """Return the title of a bundled picture."""
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
