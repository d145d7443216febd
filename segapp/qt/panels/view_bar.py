"""Bars below the image: legends and choices of a view, and sliders of a stack."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QLinearGradient, QPainter, QPalette
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QMenu,
    QProgressBar,
    QSizePolicy,
    QSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from segapp.imaging.overlay import (
    ViewMode,
    bright_margin,
    codeword_distances,
    confidence_colours,
    shade_by_distance,
)
from segapp.qt.dialogs.export_dialog import BackdropBox, EdgeBox
from segapp.qt.i18n import class_name, number
from segapp.qt.widgets import WrappingRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from PySide6.QtCore import QPointF
    from PySide6.QtGui import QAction, QPaintEvent

    from segapp.io.stacks import StackAxes
    from segapp.model.classes import ClassInfo
    from segapp.model.labelling import Labelling
    from segapp.qt.actions import Actions


_BAR = QSize(180, 14)
_STOPS = 17
# Shades of a class in the legend: at its codeword, and one, two, three bits from it.
_SHADES = 4
_MOST_LISTED = 6  # classes; the others are counted


class ColourBar(QWidget):
    """Colours of the confidence, from undecided to certain."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(_BAR)
        self.setAccessibleName(self.tr("Colours of the confidence"))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the colours from left to right."""
        del event
        shares = np.linspace(0, 1, _STOPS)
        gradient = QLinearGradient(0, 0, self.width(), 0)
        for share, colour in zip(shares, confidence_colours(shares).tolist(), strict=True):
            gradient.setColorAt(share, QColor(*colour))
        painter = QPainter(self)
        painter.fillRect(self.rect(), gradient)
        painter.end()


class ConfidenceLegend(QWidget):
    """Colour bar of the margin, with its values at both ends."""

    def __init__(self) -> None:
        super().__init__()
        self._certain = QLabel()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(QLabel(self.tr("uncertain (margin 0)")))
        row.addWidget(ColourBar())
        row.addWidget(self._certain)
        row.addStretch(1)

    @property
    def text(self) -> str:
        """The text at the certain end."""
        return self._certain.text()

    def show_margins(self, labelling: Labelling) -> None:
        """Show the margin that is painted brightest."""
        bright = number(bright_margin(labelling), 2)
        self._certain.setText(self.tr("certain (margin {} or more)").format(bright))


class CodeLegend(QLabel):
    """Codewords of the classes, and the code under the pointer."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("Legend of the hash codes"))
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setWordWrap(True)
        self._labelling: Labelling | None = None
        self._classes: tuple[ClassInfo, ...] = ()
        self._codewords: NDArray[np.int8] | None = None
        self._at: QPointF | None = None

    def show_codes(
        self,
        labelling: Labelling,
        classes: tuple[ClassInfo, ...],
        codewords: NDArray[np.int8] | None,
    ) -> None:
        """Show the codewords of a labelling."""
        self._labelling, self._classes = labelling, classes
        fits = codewords is not None and codewords.shape[2] == labelling.n_bits
        self._codewords = codewords if fits else None
        self.point_at(self._at)

    def point_at(self, at: QPointF | None) -> None:
        """Show the code of a pixel and its Hamming distances to the codewords."""
        self._at = at
        if self._labelling is None:
            return
        height, width = self._labelling.labels.shape
        inside = at is not None and 0 <= at.x() < width and 0 <= at.y() < height
        if at is None or not inside:
            text = self.tr("Point at the image to read a code")
        else:
            text = self._describe(self._labelling.hash_codes[_pixel(at)][0, 0])
        self.setText(f"{self._listed()}<br>{text}")

    def _describe(self, code: np.uint32) -> str:
        bits = _bits(int(code), self._labelling.n_bits if self._labelling is not None else 0)
        if self._codewords is None:
            return self.tr("Code {}").format(bits)
        distances = codeword_distances(np.array([code]), self._codewords)[0]
        parts = [
            self.tr("{} to {}").format(distance, escape(class_name(info.name)))
            for info, distance in zip(self._classes, distances, strict=False)
            if distance <= self._codewords.shape[2]
        ]
        return self.tr("Code {}: {}").format(f"<b>{bits}</b>", ", ".join(parts))

    def _listed(self) -> str:
        if self._codewords is None:
            return self.tr("<b>Hash codes</b>: each has its own colour")
        n_bits = self._codewords.shape[2]
        entries = []
        for info, words in zip(self._classes, self._codewords, strict=False):
            if not words.any():
                continue
            colours = np.repeat([info.colour], _SHADES, axis=0)
            squares = "".join(
                f"<span style='color:rgb({r},{g},{b})'>■</span>"
                for r, g, b in shade_by_distance(colours, np.arange(_SHADES), n_bits).tolist()
            )
            codes = ", ".join("".join("1" if bit > 0 else "0" for bit in word) for word in words)
            entries.append(f"{squares}&nbsp;{escape(class_name(info.name))}&nbsp;{codes}")
        if len(entries) > _MOST_LISTED:
            rest = self.tr("… and {} more").format(len(entries) - _MOST_LISTED)
            entries = [*entries[:_MOST_LISTED], rest]
        title = self.tr("<b>Nearest codeword</b>: darker = more bits differ")
        return "&nbsp;&nbsp; ".join((title, *entries))


def _pixel(at: QPointF) -> tuple[slice, slice]:
    x, y = int(at.x()), int(at.y())
    return slice(y, y + 1), slice(x, x + 1)


def _bits(code: int, n_bits: int) -> str:
    """Return the bits of a code, the first one first."""
    return "".join("1" if code >> bit & 1 else "0" for bit in range(n_bits))


class CutoutBar(WrappingRow):
    """Edge and background of the cut-out, and the brush for hair."""

    changed = Signal()

    def __init__(self, refine: QAction, drop: QAction) -> None:
        super().__init__()
        self.edge, self.backdrop = EdgeBox(), BackdropBox()
        self.edge.changed.connect(self.changed)
        self.backdrop.changed.connect(self.changed)
        for part in (self.edge, self.backdrop):
            self.add(part)
        for action in (refine, drop):
            button = QToolButton()
            button.setObjectName("choice")
            button.setDefaultAction(action)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self.add(button)


class ViewBar(QWidget):
    """Legend or choices of the view mode; hidden where it has none."""

    def __init__(self, refine: QAction, drop: QAction) -> None:
        super().__init__()
        self.confidence, self.codes = ConfidenceLegend(), CodeLegend()
        self.cutout = CutoutBar(refine, drop)
        self._parts: dict[ViewMode, QWidget] = {
            ViewMode.CONFIDENCE: self.confidence,
            ViewMode.CODES: self.codes,
            ViewMode.CUTOUT: self.cutout,
        }
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 5, 10, 5)
        for part in self._parts.values():
            column.addWidget(part)
        self.show_mode(None)

    def show_mode(self, mode: ViewMode | None) -> None:
        """Show the part of a view mode."""
        for of, part in self._parts.items():
            part.setVisible(of is mode)
        self.setVisible(mode in self._parts)


_STRIP = 7  # pixels
_MENU = ("propagate", "propagate_next", "propagate_sure", "interpolate")


class ConfidenceStrip(QWidget):
    """A colour for each page: marked, answered with some confidence, or not answered."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(_STRIP)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Confidence of the pages"))
        self.setToolTip(
            self.tr("Black: marked; from dark to bright: how certain a result is; grey: none yet")
        )
        self._image = QImage()

    def show_pages(self, confidences: NDArray[np.float32]) -> None:
        """Show a confidence for each page: 2 for a marked one, below 0 for none."""
        colours = confidence_colours(np.clip(confidences, 0, 1))[:, :3].astype(np.uint8)
        for chosen, role in (
            (confidences < 0, QPalette.ColorRole.Mid),
            (confidences > 1, QPalette.ColorRole.WindowText),
        ):
            colour = self.palette().color(role)
            colours[chosen] = colour.red(), colour.green(), colour.blue()
        row = np.ascontiguousarray(colours[np.newaxis])
        self._image = QImage(
            row.data, row.shape[1], 1, 3 * row.shape[1], QImage.Format.Format_RGB888
        ).copy()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Stretch the colours along the slider."""
        del event
        painter = QPainter(self)
        painter.drawImage(self.rect(), self._image)
        painter.setPen(QColor(128, 128, 128))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()


class AxisSlider(QWidget):
    """A slider along one axis, with its name and place."""

    moved = Signal(int)

    def __init__(self, name: str, tip: str) -> None:
        super().__init__()
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName(tip)
        self.slider.setToolTip(tip)
        self.slider.setPageStep(1)
        self.slider.valueChanged.connect(self._tell)
        self.strip = ConfidenceStrip()
        self._place = QLabel()
        self._place.setMinimumWidth(self._place.fontMetrics().horizontalAdvance("0000 / 0000"))
        self._place.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(0)
        grid.addWidget(QLabel(name), 0, 0)
        grid.addWidget(self.slider, 0, 1)
        grid.addWidget(self._place, 0, 2)
        grid.addWidget(self.strip, 1, 1)
        grid.setColumnStretch(1, 1)
        self.strip.hide()

    def _tell(self, value: int) -> None:
        self._place.setText(f"{value + 1} / {self.slider.maximum() + 1}")
        self.moved.emit(value)

    def set_length(self, length: int) -> None:
        """Show an axis of a length, or nothing where there is a single place."""
        self.slider.blockSignals(True)  # noqa: FBT003 - Qt's
        self.slider.setMaximum(max(length - 1, 0))
        self.slider.blockSignals(False)  # noqa: FBT003 - Qt's
        self.setVisible(length > 1)

    def set_place(self, value: int) -> None:
        """Show a place without telling of it."""
        self.slider.blockSignals(True)  # noqa: FBT003 - Qt's
        self.slider.setValue(value)
        self.slider.blockSignals(False)  # noqa: FBT003 - Qt's
        self._place.setText(f"{value + 1} / {self.slider.maximum() + 1}")


class StackBar(QWidget):
    """The axes of a stack, and the commands on all of its pages."""

    page_chosen = Signal(int)
    channel_chosen = Signal(int)
    stop_requested = Signal()

    def __init__(self, actions: Actions) -> None:
        super().__init__()
        self.setObjectName("stack_bar")
        self._axes: StackAxes | None = None
        self.time_axis = AxisSlider("T", self.tr("Point of time"))
        self.slice_axis = AxisSlider("Z", self.tr("Slice"))
        self.channel_axis = AxisSlider("C", self.tr("Channel that is shown"))
        self.time_axis.moved.connect(self._choose)
        self.slice_axis.moved.connect(self._choose)
        self.channel_axis.moved.connect(self.channel_chosen)
        self._progress = QProgressBar()
        self._progress.setTextVisible(False)
        self._progress.setFixedHeight(6)
        self._progress.setAccessibleName(self.tr("Progress of the propagation"))
        self._progress.setToolTip(self.tr("Progress of the propagation"))
        self._message = QLabel()
        self._stop = QToolButton()
        self._stop.setText(self.tr("Stop"))
        self._stop.setToolTip(self.tr("Stop; finished pages are kept"))
        self._stop.clicked.connect(self.stop_requested)
        commands = QHBoxLayout()
        commands.setContentsMargins(0, 0, 0, 0)
        for name in ("play", "propagate", "unsure_page", "undo_propagation"):
            commands.addWidget(_button(actions, name))
        commands.addWidget(self._message)
        commands.addWidget(self._progress, 1)
        commands.addWidget(self._stop)
        commands.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 4, 8, 4)
        column.setSpacing(2)
        for part in (self.time_axis, self.slice_axis, self.channel_axis):
            column.addWidget(part)
        column.addLayout(commands)
        self.end_progress()
        self.hide()

    def show_stack(self, axes: StackAxes | None, n_channels: int) -> None:
        """Show the axes of a stack; None hides the bar."""
        self._axes = axes
        self.setVisible(axes is not None)
        if axes is None:
            return
        self.time_axis.set_length(axes.times)
        self.slice_axis.set_length(axes.slices)
        self.channel_axis.set_length(n_channels)
        self.time_axis.strip.setVisible(axes.times > 1)
        self.slice_axis.strip.setVisible(axes.slices > 1)

    def show_page(self, page: int, channel: int) -> None:
        """Show the open page."""
        if self._axes is not None:
            time, depth = self._axes.place(page)
            self.time_axis.set_place(time)
            self.slice_axis.set_place(depth)
            self.channel_axis.set_place(channel)

    def show_confidences(self, confidences: Mapping[int, float], page: int) -> None:
        """Show the confidence of the pages along both axes through the open page."""
        axes = self._axes
        if axes is None:
            return
        time, depth = axes.place(page)
        along = [axes.page(t, depth) for t in range(axes.times)]
        across = [axes.page(time, z) for z in range(axes.slices)]
        for part, pages in ((self.time_axis, along), (self.slice_axis, across)):
            values = [confidences.get(each, -1.0) for each in pages]
            part.strip.show_pages(np.array(values, np.float32))

    def _choose(self) -> None:
        if self._axes is not None:
            place = self.time_axis.slider.value(), self.slice_axis.slider.value()
            self.page_chosen.emit(self._axes.page(*place))

    def show_progress(self, text: str, done: int, total: int) -> None:
        """Show the progress of a propagation."""
        self._message.setText(text)
        self._progress.setMaximum(max(total, 1))
        self._progress.setValue(done)
        for part in (self._message, self._progress, self._stop):
            part.show()

    def end_progress(self) -> None:
        """Hide the progress."""
        for part in (self._message, self._progress, self._stop):
            part.hide()


def _button(actions: Actions, name: str) -> QToolButton:
    button = QToolButton()
    button.setDefaultAction(actions[name])
    button.setIconSize(QSize(16, 16))
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName(actions.name_of(name))
    if name == _MENU[0]:
        menu = QMenu(button)
        for each in _MENU:
            menu.addAction(actions[each])
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
    return button
