"""What stands where no picture is yet: ways to get one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QIcon, QImageReader, QPixmap
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.qt.actions.actions import Actions

_THUMBNAIL = QSize(84, 64)
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
        self._samples, self._recent = QHBoxLayout(), QVBoxLayout()
        self._samples.setSpacing(6)
        self._recent.setSpacing(0)
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
            button = QToolButton()
            button.setText(path.stem.capitalize())
            button.setIcon(_thumbnail(path, self.devicePixelRatioF()))
            button.setIconSize(_THUMBNAIL)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
            button.setAutoRaise(True)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            button.setAccessibleName(self.tr("Sample {}").format(path.stem))
            button.clicked.connect(lambda _=False, each=path: self.chosen.emit(each))
            self._samples.addWidget(button)
        self._samples.addStretch(1)

    def show_recent(self, paths: list[Path]) -> None:
        """Offer the files that were opened last."""
        while (item := self._recent.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.deleteLater()
        for path in paths[:_MOST_RECENT]:
            button = QPushButton(path.name.replace("&", "&&"))
            button.setToolTip(str(path))
            button.setFlat(True)
            button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
            button.clicked.connect(lambda _=False, each=path: self.chosen.emit(each))
            self._recent.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)
        self._recent_title.setVisible(bool(paths))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fill the canvas."""
        if event.type() == QEvent.Type.Resize and watched is self._canvas:
            self.resize(self._canvas.size())
        return super().eventFilter(watched, event)


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
    label.setProperty("faint", True)  # noqa: FBT003 - the style sheet's
    return label


def _thumbnail(path: Path, ratio: float) -> QIcon:
    """Read a picture small, cut to the thumbnail's shape."""
    reader = QImageReader(str(path))
    wanted = _THUMBNAIL * ratio
    size = reader.size().scaled(wanted, Qt.AspectRatioMode.KeepAspectRatioByExpanding)
    reader.setScaledSize(size)
    image = reader.read()
    left = (image.width() - wanted.width()) // 2
    top = (image.height() - wanted.height()) // 2
    image = image.copy(left, top, wanted.width(), wanted.height())
    image.setDevicePixelRatio(ratio)
    return QIcon(QPixmap.fromImage(image))
