"""Status bar, and cards over the canvas: hint, preview badge, welcome."""

from __future__ import annotations

import math
import time
from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QObject,
    QPointF,
    QSize,
    Qt,
    QTimer,
    QUrl,
    Signal,
)
from PySide6.QtGui import QColor, QDesktopServices, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QStatusBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from segapp.app.state import Progress, Stage
from segapp.model.validation import sanitize
from segapp.qt.files.folder import SIZE, filling, thumbnail
from segapp.qt.i18n import as_plain, class_name, number, short_number
from segapp.qt.widgets import Card

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtGui import QPaintEvent

    from segapp.model.document import Document
    from segapp.model.picture import Picture
    from segapp.qt.actions import Actions


# Colours that are distinct for colour-blind users; the text beside the dot says the same.
_COLOURS = {
    Stage.EMPTY: None,
    Stage.WAITING: QColor(230, 159, 0),
    Stage.RUNNING: QColor(86, 180, 233),
    Stage.FOLLOWING: QColor(86, 180, 233),
    Stage.OUTDATED: QColor(230, 159, 0),
    Stage.UNFINISHED: QColor(230, 159, 0),
    Stage.CURRENT: QColor(0, 158, 115),
    Stage.FAILED: QColor(213, 94, 0),
}


_MAX_VALUES = 6  # channels of a pixel that fit
# Seconds before the progress bar appears, so that it does not flicker.
_BAR_DELAY = 0.25


class _Dot(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._stage = Stage.EMPTY
        self.setFixedSize(QSize(12, 12))

    def show_stage(self, stage: Stage) -> None:
        self._stage = stage
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(_COLOURS[self._stage] or self.palette().color(QPalette.ColorRole.Mid))
        painter.drawEllipse(1, 1, 10, 10)
        painter.end()


class _Elided(QLabel):
    """A label that elides its text instead of widening the window."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setMinimumWidth(60)

    def setText(self, text: str) -> None:
        super().setText(text)
        self.setToolTip(as_plain(text))

    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        painter = QPainter(self)
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        shown = self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideRight, self.width()
        )
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, shown)
        painter.end()


def _button(actions: Actions, name: str) -> QToolButton:
    button = QToolButton()
    button.setDefaultAction(actions[name])
    button.setAccessibleName(actions.name_of(name))
    button.setAutoRaise(True)
    button.setIconSize(QSize(16, 16))
    button.setFixedSize(QSize(24, 22))  # until the icon is set, the text would be wider
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


def _chip(name: str) -> QToolButton:
    button = QToolButton()
    button.setAccessibleName(name)
    button.setToolTip(name)
    button.setAutoRaise(True)
    button.setFixedHeight(22)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.hide()
    return button


def measured_text(picture: Picture, x: int, y: int) -> str:
    """Return the raw values of a pixel, at most those of the first channels."""
    values = picture.raw_image.at(x, y)
    told = [short_number(value, 6) if isinstance(value, float) else str(value) for value in values]
    return " | ".join(told[:_MAX_VALUES] + ["…"] * (len(told) > _MAX_VALUES))


def depth_text(picture: Picture) -> str:
    """Return depth and levels: "16-bit, 177–1208"; several levels if channels differ."""
    levels = list(dict.fromkeys(one for one in picture.levels if one is not None))
    spans = [
        f"{short_number(one.black, 5)}–{short_number(one.white, 5)}"
        for one in levels
        if math.isfinite(one.black)
    ]
    return ", ".join([picture.raw_image.dtype_text, *([" | ".join(spans)] if spans else [])])


class StatusBar(QStatusBar):
    """Status bar with a `Progress`, the pixel under the pointer, and the zoom."""

    def __init__(self, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._progress = Progress()
        self._loading = ""  # the text about the file that is being read
        self._dot = _Dot()
        self._text = _Elided()
        self._text.setAccessibleName(self.tr("State of the result"))
        self._bar = QProgressBar()
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(140, 8)
        self._bar.setAccessibleName(self.tr("Progress of learning"))
        self._bar.setToolTip(self.tr("Progress of learning from the strokes"))
        self._elapsed = QLabel()
        self._elapsed.setMinimumWidth(self.fontMetrics().horizontalAdvance("000.0 s "))
        self._pixel = QLabel()
        self.chip = _chip(self.tr("Levels and channels of the image"))
        self.truth = _chip(self.tr("Agreement with the truth"))
        self._zoom = QLabel()
        state = QWidget()
        row = QHBoxLayout(state)
        row.setContentsMargins(10, 2, 4, 2)
        row.setSpacing(8)
        row.addWidget(self._dot)
        row.addWidget(self._text, 1)
        row.addWidget(self._bar)
        row.addWidget(self._elapsed)
        self.addWidget(state, 1)
        self.addPermanentWidget(self._folder_button())
        self.addPermanentWidget(self._pixel)
        self.addPermanentWidget(self.truth)
        self.addPermanentWidget(self.chip)
        self._zoom.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._zoom.setMinimumWidth(self.fontMetrics().horizontalAdvance("6400 %"))
        for part in ("zoom_out", self._zoom, "zoom_in", "fit", "actual_size"):
            self.addPermanentWidget(_button(actions, part) if isinstance(part, str) else part)
        self._timer = QTimer(self)
        self._timer.setInterval(100)
        self._timer.timeout.connect(self._tick)
        self.show_progress(Progress())

    def _folder_button(self) -> QPushButton:
        self.folder = QPushButton(self.tr("Show in folder"))
        self.folder.setToolTip(self.tr("Open the folder of the written file"))
        self.folder.hide()
        self._written_to: Path | None = None
        self.folder.clicked.connect(self._open_folder)
        self.messageChanged.connect(self.folder.hide)  # with another message, or none
        return self.folder

    def show_loading(self, text: str) -> None:
        """Show a text while a file is read; an empty one removes it, but no other message."""
        if text:
            self.showMessage(text)
        elif self.currentMessage() == self._loading:
            self.clearMessage()
        self._loading = text

    def show_written(self, text: str, folder: Path, duration: int) -> None:
        """Show a text about written files for some time, and a way to their folder."""
        self.showMessage(text, duration)
        self._written_to = folder
        self.folder.show()

    def _open_folder(self) -> None:
        if self._written_to is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._written_to)))

    @property
    def state_text(self) -> str:
        """The text about the answer."""
        return self._text.text()

    @property
    def elapsed_text(self) -> str:
        """The shown learning time."""
        return self._elapsed.text()

    @property
    def fraction(self) -> float:
        """The value of the progress bar, from 0 to 1."""
        return self._bar.value() / self._bar.maximum()

    def show_progress(self, progress: Progress) -> None:
        """Show the stage, and the progress bar while the learner runs."""
        running = progress.stage is Stage.RUNNING
        self._progress = progress
        self._dot.show_stage(progress.stage)
        self._text.setText(progress.text)
        if not running:
            self._bar.hide()
            self._elapsed.hide()
        self._bar.setValue(round(progress.fraction * 1000))
        if running:
            self._tick()
            self._timer.start()
        else:
            self._timer.stop()

    def _tick(self) -> None:
        seconds = time.monotonic() - self._progress.started
        if seconds > _BAR_DELAY:
            self._bar.show()
            self._elapsed.show()
        self._elapsed.setText(self.tr("{} s").format(number(seconds, 1)))

    def show_pointer(
        self, at: QPointF | None, width: int, height: int, picture: Picture | None = None
    ) -> None:
        """Show position and values of a pixel, or the picture's size."""
        if width <= 0:
            self._pixel.clear()
        elif at is None or not (0 <= at.x() < width and 0 <= at.y() < height):
            self._pixel.setText(self.tr("{} × {} px").format(width, height))
        else:
            x, y = int(at.x()), int(at.y())
            values = "" if picture is None else f":  {measured_text(picture, x, y)}"
            self._pixel.setText(f"{x}, {y}{values}")

    def show_zoom(self, scale: float) -> None:
        """Show the zoom, in screen pixels per image pixel."""
        percent = scale * 100
        self._zoom.setText(f"{number(percent, 0 if percent >= 10 else 1)} %")

    def end(self) -> None:
        """Stop the timer and clear the message."""
        self._timer.stop()
        self.clearMessage()


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
            button = self._picture_button(path, sanitize(path.name))
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
