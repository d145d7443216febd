"""Levels, channels and colour maps of a picture, with a histogram."""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QPointF, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPalette, QPolygonF
from PySide6.QtWidgets import (
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from segapp.io.deep_images import DISPLAY_PERCENTILES, percentiles
from segapp.model.display import DEFAULT_DISPLAY, GAMMAS, ColourMap, DisplaySettings, Levels
from segapp.qt.i18n import number, short_number
from segapp.qt.panels.status import depth_text
from segapp.qt.widgets import ChoiceBox, NumberBox

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PySide6.QtGui import QMouseEvent, QPaintEvent
    from PySide6.QtWidgets import QToolButton

    from segapp.model.picture import Picture
    from segapp.qt.actions import Actions
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.files.files import Files
    from segapp.qt.session.session import Session


BINS = 256
_MAX_VALUES = 1 << 20  # of a channel that are counted
_ROOM = 12  # pixels below the curve, for the handles
_SIDE = 7  # pixels beside the curve, for half a handle
_NEAR = 14  # pixels within which a press takes a handle


class Handle(Enum):
    """Handles of the histogram."""

    BLACK = "black"
    GAMMA = "gamma"
    WHITE = "white"


def span_of(values: NDArray[np.generic], levels: Levels) -> tuple[float, float]:
    """Return the range of a channel's values and levels."""
    some = _some(values)
    finite = some[np.isfinite(some)]
    ends = [end for end in (levels.black, levels.white) if math.isfinite(end)]
    ends += [float(finite.min()), float(finite.max())] if finite.size else []
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    return (low, high) if high > low else (low, low + 1.0)


def counts_of(values: NDArray[np.generic], span: tuple[float, float]) -> NDArray[np.float64]:
    """Count the values, a sample of a large picture's, in bins of equal width."""
    some = _some(values).astype(np.float64)
    counts, _ = np.histogram(some[np.isfinite(some)], BINS, span)
    return counts.astype(np.float64)


def _some(values: NDArray[np.generic]) -> NDArray[np.generic]:
    step = max(1, math.isqrt(values.size // _MAX_VALUES))
    return values[::step, ::step]


class HistogramView(QWidget):
    """Histograms with handles for black, gamma and white."""

    dragged = Signal(object)  # Levels
    chosen = Signal(object)  # Levels

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._curves: tuple[tuple[QColor, NDArray[np.float64]], ...] = ()
        self._span = (0.0, 1.0)
        self._levels = Levels(0.0, 1.0)
        self._held: Handle | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(110)
        self.setAccessibleName(self.tr("How often each value occurs"))
        self.setToolTip(self.tr("Drag the black, the grey and the white handle"))

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        return QSize(320, 140)

    def show_curves(
        self,
        curves: tuple[tuple[QColor, NDArray[np.float64]], ...],
        span: tuple[float, float],
        levels: Levels,
    ) -> None:
        """Show histograms over a range of values, with handles at the levels."""
        self._curves, self._span, self._levels = curves, span, levels
        text = self.tr("black at {}, white at {}, gamma {}")
        numbers = (short_number(levels.black, 5), short_number(levels.white, 5))
        self.setAccessibleDescription(text.format(*numbers, number(levels.gamma, 2)))
        self.update()

    # Dragging ---------------------------------------------------------------------------

    def position_of(self, handle: Handle) -> float:
        """Return the position of a handle in pixels from the left."""
        levels = self._levels
        if handle is Handle.GAMMA:  # at the value that becomes half as bright as white
            share = 0.5**levels.gamma
            return self._x(levels.black + share * (levels.white - levels.black))
        return self._x(levels.black if handle is Handle.BLACK else levels.white)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Grab the nearest handle."""
        x = event.position().x()
        if event.button() is not Qt.MouseButton.LeftButton:
            return
        order = (Handle.GAMMA, Handle.BLACK, Handle.WHITE)
        nearest = min(order, key=lambda handle: abs(self.position_of(handle) - x))
        if abs(self.position_of(nearest) - x) <= _NEAR:
            self._held = nearest

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the grabbed handle."""
        if self._held is not None:
            self._levels = self._moved(self._held, self._value(event.position().x()))
            self.update()
            self.dragged.emit(self._levels)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Release the handle."""
        del event
        if self._held is not None:
            self._held = None
            self.chosen.emit(self._levels)

    def _moved(self, handle: Handle, value: float) -> Levels:
        levels = self._levels
        least = (self._span[1] - self._span[0]) / 1e4
        if handle is Handle.BLACK:
            return replace(levels, black=min(value, levels.white - least))
        if handle is Handle.WHITE:
            return replace(levels, white=max(value, levels.black + least))
        width = levels.white - levels.black
        share = (value - levels.black) / width if width else 0.5
        share = min(max(share, 1e-4), 1 - 1e-4)
        gamma = math.log(share) / math.log(0.5)
        return replace(levels, gamma=round(min(max(gamma, GAMMAS[0]), GAMMAS[1]), 3))

    # Drawing ----------------------------------------------------------------------------

    def _x(self, value: float) -> float:
        low, high = self._span
        share = min(max((value - low) / (high - low), 0.0), 1.0) if math.isfinite(value) else 0.0
        return _SIDE + share * (self.width() - 2 * _SIDE)

    def _value(self, x: float) -> float:
        low, high = self._span
        share = (x - _SIDE) / max(self.width() - 2 * _SIDE, 1)
        return low + min(max(share, 0.0), 1.0) * (high - low)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the histograms, shade the clipped ranges, draw the handles."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(_SIDE, 1, self.width() - 2 * _SIDE, self.height() - _ROOM - 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.palette().color(QPalette.ColorRole.Base))
        painter.drawRoundedRect(frame, 3, 3)
        highest = max((float(curve.max()) for _, curve in self._curves), default=0.0) or 1.0
        for colour, curve in self._curves:
            filled = QColor(colour)
            filled.setAlpha(110 if len(self._curves) > 1 else 220)
            painter.setBrush(filled)
            # The square root makes few bright pixels visible beside much background.
            heights = np.sqrt(curve / highest) * (frame.height() - 4)
            step = frame.width() / len(curve)
            points = [QPointF(frame.left(), frame.bottom())]
            for index, height in enumerate(heights.tolist()):
                y = frame.bottom() - height
                points.append(QPointF(frame.left() + index * step, y))
                points.append(QPointF(frame.left() + (index + 1) * step, y))
            painter.drawPolygon(QPolygonF([*points, QPointF(frame.right(), frame.bottom())]))
        cut = QColor(self.palette().color(QPalette.ColorRole.Window))
        cut.setAlpha(150)
        black, white = self.position_of(Handle.BLACK), self.position_of(Handle.WHITE)
        painter.fillRect(
            QRectF(frame.left(), frame.top(), black - frame.left(), frame.height()), cut
        )
        painter.fillRect(QRectF(white, frame.top(), frame.right() - white, frame.height()), cut)
        for handle, shade in ((Handle.GAMMA, 128), (Handle.BLACK, 0), (Handle.WHITE, 255)):
            self._draw_handle(painter, self.position_of(handle), frame.bottom(), shade)
        painter.end()

    def _draw_handle(self, painter: QPainter, x: float, y: float, shade: int) -> None:
        painter.setPen(self.palette().color(QPalette.ColorRole.Dark))
        painter.drawLine(QPointF(x, 1), QPointF(x, y))
        painter.setBrush(QColor(shade, shade, shade))
        corners = (QPointF(x, y), QPointF(x - 6, y + 10), QPointF(x + 6, y + 10))
        painter.drawPolygon(QPolygonF(list(corners)))


_COLOURS = ("#d8483a", "#3da35d", "#3b7dd8")
_TOGETHER, _COLOURED = -1, "coloured"
_LARGEST = 1e300


def _spin(name: str) -> NumberBox:
    spin = NumberBox()
    spin.setRange(-_LARGEST, _LARGEST)
    spin.setKeyboardTracking(False)
    spin.setAccessibleName(name)
    spin.setToolTip(name)
    spin.setMinimumWidth(90)
    spin.setMaximumWidth(120)
    return spin


class LevelsPanel(QDialog):
    """Editor of the display settings, in a window beside the picture."""

    changed = Signal(object)  # DisplaySettings
    previewed = Signal(object)  # DisplaySettings, while a handle is dragged

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Tool)
        self.setWindowTitle(self.tr("Levels"))
        self._picture: Picture | None = None
        self._display = DEFAULT_DISPLAY
        self.one = ChoiceBox(self.tr("Channel that is shown"))
        self.colour_map = ChoiceBox(self.tr("Colours of the channel"))
        names = (self.tr("Red"), self.tr("Green"), self.tr("Blue"))
        self.three = [ChoiceBox(name) for name in names]
        self.target = ChoiceBox(self.tr("Channel whose levels are set"))
        self.histogram = HistogramView()
        self.black, self.white = _spin(self.tr("Black")), _spin(self.tr("White"))
        self.gamma = _spin(self.tr("Gamma"))
        self.gamma.setDecimals(2)
        self.gamma.setSingleStep(0.05)
        self.gamma.setRange(*GAMMAS)
        self._form = QFormLayout()
        self._form.addRow(self.tr("Show"), self.one)
        self._form.addRow(self.tr("Colours"), self.colour_map)
        for name, box in zip(names, self.three, strict=True):
            self._form.addRow(name, box)
        self._form.addRow(self.tr("Levels of"), self.target)
        layout = QVBoxLayout(self)
        layout.addLayout(self._form)
        layout.addWidget(self.histogram, 1)
        layout.addLayout(self._numbers())
        layout.addLayout(self._buttons())
        self._connect()

    # Building ---------------------------------------------------------------------------

    def _numbers(self) -> QHBoxLayout:
        row = QHBoxLayout()
        for text, spin in (
            (self.tr("Black"), self.black),
            (self.tr("Gamma"), self.gamma),
            (self.tr("White"), self.white),
        ):
            label = QLabel(text)
            label.setBuddy(spin)
            row.addWidget(label)
            row.addWidget(spin)
        return row

    def _buttons(self) -> QHBoxLayout:
        self.auto = QPushButton(self.tr("Auto"))
        self.auto.setToolTip(self.tr("Cut the darkest and the brightest thousandth"))
        self.full = QPushButton(self.tr("Full Range"))
        self.full.setToolTip(self.tr("From the smallest value to the largest"))
        self.reset = QPushButton(self.tr("Reset"))
        self.reset.setToolTip(self.tr("Show the image as stored"))
        row = QHBoxLayout()
        for button in (self.auto, self.full, self.reset):
            button.setAutoDefault(False)
            row.addWidget(button)
        return row

    def _maps(self) -> list[tuple[str, object]]:
        return [
            (self.tr("grey"), ColourMap.GREY),
            (self.tr("grey, inverted"), ColourMap.INVERTED),
            (self.tr("red"), ColourMap.RED),
            (self.tr("green"), ColourMap.GREEN),
            (self.tr("blue"), ColourMap.BLUE),
            (self.tr("cyan"), ColourMap.CYAN),
            (self.tr("magenta"), ColourMap.MAGENTA),
            (self.tr("yellow"), ColourMap.YELLOW),
            (self.tr("fire"), ColourMap.FIRE),
            (self.tr("viridis"), ColourMap.VIRIDIS),
        ]

    def _connect(self) -> None:
        self.one.activated.connect(self._choose_channels)
        self.colour_map.activated.connect(
            lambda: self._emit(
                replace(self._display, colour_map=ColourMap(self.colour_map.chosen))
            )
        )
        for box in self.three:
            box.activated.connect(self._choose_three)
        self.target.activated.connect(self._show_levels)
        self.histogram.dragged.connect(self._drag)
        self.histogram.chosen.connect(self._set_levels)
        for spin in (self.black, self.white, self.gamma):
            spin.valueChanged.connect(self._take_numbers)
        self.auto.clicked.connect(lambda: self._set_each(full=False))
        self.full.clicked.connect(lambda: self._set_each(full=True))
        self.reset.clicked.connect(lambda: self._emit(DEFAULT_DISPLAY))

    # Showing ----------------------------------------------------------------------------

    def show_picture(self, picture: Picture | None) -> None:
        """Show the display settings of a picture."""
        self._picture = picture
        self.setEnabled(picture is not None)
        if picture is None:
            return
        self._display = picture.display
        measured = picture.raw_image
        count, shown = measured.n_channels, self._shown()
        named = [(self.tr("channel {}").format(c + 1), c) for c in range(count)]
        ways: list[tuple[str, object]] = [(self.tr("as in the file"), ())]
        ways.append((self.tr("channels as colours"), _COLOURED))
        ways += [(text, (channel,)) for text, channel in named]
        coloured = len(self._display.channels) == 3
        self.one.fill(ways, _COLOURED if coloured else self._display.channels)
        for place, box in enumerate(self.three):
            box.fill([(self.tr("none"), None), *named], shown[place] if coloured else None)
            self._form.setRowVisible(box, coloured)
        self._form.setRowVisible(self.one, count > 1)
        self._form.setRowVisible(self.colour_map, len(shown) == 1)
        self.colour_map.fill(self._maps(), self._display.colour_map)
        rows = [row for row in named if row[1] in shown]
        if not coloured and len(shown) == 3:
            names = (self.tr("red"), self.tr("green"), self.tr("blue"))
            rows = [(names[place], place) for place in range(3)]
        if len(rows) > 1:
            rows.insert(0, (self.tr("all shown channels"), _TOGETHER))
        self.target.fill(rows, self.target.chosen)
        self._form.setRowVisible(self.target, len(rows) > 1)
        self._show_levels()

    def _shown(self) -> tuple[int | None, ...]:
        picture = self._picture
        if picture is None:
            return ()
        return self._display.visible_channels(
            picture.raw_image.n_channels, picture.raw_image.default_channels
        )

    def _targets(self) -> tuple[int, ...]:
        """Return the channels whose levels are edited."""
        shown = tuple(sorted({channel for channel in self._shown() if channel is not None}))
        chosen = self.target.chosen
        return (chosen,) if isinstance(chosen, int) and chosen in shown else shown

    def _levels_of(self, channel: int) -> Levels:
        """Return the present levels of a channel."""
        if self._picture is not None:
            for shown, levels in zip(self._shown(), self._picture.levels, strict=False):
                if shown == channel and levels is not None and math.isfinite(levels.black):
                    return levels
        return Levels(0, 255) if self._picture and not self._picture.levels else Levels(0, 1)

    def _show_levels(self) -> None:
        targets = self._targets()
        if self._picture is None or not targets:
            return
        values = self._picture.raw_image.values
        each = [self._levels_of(channel) for channel in targets]
        levels = Levels(
            min(one.black for one in each), max(one.white for one in each), each[0].gamma
        )
        spans = [span_of(values[:, :, channel], levels) for channel in targets]
        span = min(low for low, _ in spans), max(high for _, high in spans)
        self.histogram.show_curves(
            tuple((self._colour(c), counts_of(values[:, :, c], span)) for c in targets),
            span,
            levels,
        )
        is_whole = values.dtype.kind in "ui"
        step = max((span[1] - span[0]) / 100, 1.0 if is_whole else 0.0)
        for spin in (self.black, self.white):
            spin.setDecimals(0 if is_whole else 6)
            spin.setSingleStep(step)
        self._show_numbers(levels)

    def _colour(self, channel: int) -> QColor:
        shown = self._shown()
        if len(shown) == 3:
            return QColor(_COLOURS[shown.index(channel)])
        return self.palette().color(QPalette.ColorRole.Accent)

    def _show_numbers(self, levels: Levels) -> None:
        for spin, value in (
            (self.black, levels.black),
            (self.white, levels.white),
            (self.gamma, levels.gamma),
        ):
            with QSignalBlocker(spin):
                spin.setValue(value)

    # Choosing ---------------------------------------------------------------------------

    def _choose_channels(self) -> None:
        chosen, count = self.one.chosen, len(self.three)
        if self._picture is not None:
            count = self._picture.raw_image.n_channels
        colours = tuple(c if c < count else None for c in range(3))
        channels: tuple[int | None, ...] = chosen if isinstance(chosen, tuple) else colours
        self._emit(replace(self._display, channels=channels))

    def _choose_three(self) -> None:
        meant = [box.chosen for box in self.three]
        chosen = tuple(channel if isinstance(channel, int) else None for channel in meant)
        if any(channel is not None for channel in chosen):
            self._emit(replace(self._display, channels=chosen))
        else:
            self.show_picture(self._picture)  # at least one channel is needed

    def _take_numbers(self) -> None:
        black, white = sorted((self.black.value(), self.white.value()))
        self._set_levels(Levels(black, white, self.gamma.value()))

    def _drag(self, levels: Levels) -> None:
        self._show_numbers(levels)
        self.previewed.emit(self._with(dict.fromkeys(self._targets(), levels)))

    def _set_levels(self, levels: Levels) -> None:
        self._emit(self._with(dict.fromkeys(self._targets(), levels)))

    def _set_each(self, *, full: bool) -> None:
        """Set the levels of each channel by its percentiles or full range."""
        if self._picture is None:
            return
        found = {}
        for channel in self._targets():
            part = self._picture.raw_image.values[:, :, channel : channel + 1]
            ends = percentiles(part, DISPLAY_PERCENTILES)
            if ends is not None:
                low, high = (ends.least, ends.largest) if full else ends.values
                found[channel] = Levels(low, high)
        self._emit(self._with(found))

    def _with(self, levels: dict[int, Levels]) -> DisplaySettings:
        display = self._display
        for channel in {c for c in self._shown() if c is not None}:
            # The other channels get explicit levels, which would else be recomputed.
            display = display.with_levels(channel, levels.get(channel, self._levels_of(channel)))
        return display

    def _emit(self, display: DisplaySettings) -> None:
        if display != self._display:
            self._display = display
            self.changed.emit(display)


class LevelsCommands(QObject):
    """Commands of the levels panel; changes are edits that undo takes back."""

    channels_offered = Signal(bool)  # whether the picture has channels that are not shown

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
        self.panel.previewed.connect(self._look)
        session.picture_renderer.previewed.connect(canvas.replace_layer)
        session.picture_changed.connect(self._show)
        session.display_changed.connect(self._show_anew)
        session.picture_changed.connect(self._offer_channels)

    def connect_actions(self, actions: Actions) -> None:
        """Open the panel by the command, or by a click on the status bar."""
        actions["levels"].triggered.connect(self.open)
        self._chip.clicked.connect(actions["levels"].trigger)

    def open(self) -> None:
        """Open the panel."""
        self.panel.show_picture(self._session.picture)
        self.panel.show()
        self.panel.raise_()
        self.panel.activateWindow()

    def _offer_channels(self) -> None:
        picture = self._session.picture
        self.channels_offered.emit(picture is not None and picture.exceeds_rgb8)

    def _show_anew(self) -> None:
        if self._session.layer is not None:
            self._canvas.replace_layer(self._session.layer)
        self._show()

    def _show(self) -> None:
        picture = self._session.picture
        self._chip.setVisible(picture is not None)
        if picture is not None:
            self._chip.setText(depth_text(picture))
        if self.panel.isVisible():
            self.panel.show_picture(picture)

    def _look(self, display: DisplaySettings) -> None:
        if self._session.picture is not None:
            self._session.picture_renderer.preview(self._session.picture, display)

    def _change(self, display: DisplaySettings) -> None:
        session, state = self._session, self._session.state
        if state is None:
            return
        session.edit(self.tr("change of levels"), replace(session.document, display=display))
        if self._files.workspace.index(state.path) is not None:
            self._files.folder.share_display(display)
