"""Levels, channels and colours of the open picture, in a window of their own beside it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import (
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from segapp.files.display_depth import SHOWN_SHARE
from segapp.files.order_statistics import percentiles
from segapp.qt.number_box import NumberBox
from segapp.qt.panels.choice_box import ChoiceBox
from segapp.qt.panels.histogram import Histogram, counts_of, span_of
from segapp.values.colour_maps import ColourMap
from segapp.values.levels import GAMMAS, Levels
from segapp.values.showing import AS_IT_COMES, Showing

if TYPE_CHECKING:
    from segapp.values.picture import Picture

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
    """Shows how a picture is shown, and lets it be changed; the picture stays in view."""

    changed = Signal(object)  # Showing
    looked = Signal(object)  # Showing, while a handle is still held

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Tool)
        self.setWindowTitle(self.tr("Levels"))
        self._picture: Picture | None = None
        self._showing = AS_IT_COMES
        self.one = ChoiceBox(self.tr("Channel that is shown"))
        self.colour_map = ChoiceBox(self.tr("Colours of the channel"))
        names = (self.tr("Red"), self.tr("Green"), self.tr("Blue"))
        self.three = [ChoiceBox(name) for name in names]
        self.target = ChoiceBox(self.tr("Whose levels are set"))
        self.histogram = Histogram()
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
        self.full.setToolTip(self.tr("From the least value to the largest"))
        self.reset = QPushButton(self.tr("Reset"))
        self.reset.setToolTip(self.tr("Show the picture as it comes"))
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
                replace(self._showing, colour_map=ColourMap(self.colour_map.chosen))
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
        self.reset.clicked.connect(lambda: self._emit(AS_IT_COMES))

    # Showing ----------------------------------------------------------------------------

    def show_picture(self, picture: Picture | None) -> None:
        """Show how a picture is shown."""
        self._picture = picture
        self.setEnabled(picture is not None)
        if picture is None:
            return
        self._showing = picture.showing
        measured = picture.measured
        count, shown = measured.n_channels, self._shown()
        named = [(self.tr("channel {}").format(c + 1), c) for c in range(count)]
        ways: list[tuple[str, object]] = [(self.tr("as the file has it"), ())]
        ways.append((self.tr("channels as colours"), _COLOURED))
        ways += [(text, (channel,)) for text, channel in named]
        coloured = len(self._showing.channels) == 3
        self.one.fill(ways, _COLOURED if coloured else self._showing.channels)
        for place, box in enumerate(self.three):
            box.fill([(self.tr("none"), None), *named], shown[place] if coloured else None)
            self._form.setRowVisible(box, coloured)
        self._form.setRowVisible(self.one, count > 1)
        self._form.setRowVisible(self.colour_map, len(shown) == 1)
        self.colour_map.fill(self._maps(), self._showing.colour_map)
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
        return self._showing.shown(picture.measured.n_channels, picture.measured.usual)

    def _targets(self) -> tuple[int, ...]:
        """Return the channels whose levels are set."""
        shown = tuple(sorted({channel for channel in self._shown() if channel is not None}))
        chosen = self.target.chosen
        return (chosen,) if isinstance(chosen, int) and chosen in shown else shown

    def _levels_of(self, channel: int) -> Levels:
        """Return a channel's levels as they came out."""
        if self._picture is not None:
            for shown, levels in zip(self._shown(), self._picture.levels, strict=False):
                if shown == channel and levels is not None and math.isfinite(levels.black):
                    return levels
        return Levels(0, 255) if self._picture and not self._picture.levels else Levels(0, 1)

    def _show_levels(self) -> None:
        targets = self._targets()
        if self._picture is None or not targets:
            return
        values = self._picture.measured.values
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
            count = self._picture.measured.n_channels
        colours = tuple(c if c < count else None for c in range(3))
        channels: tuple[int | None, ...] = chosen if isinstance(chosen, tuple) else colours
        self._emit(replace(self._showing, channels=channels))

    def _choose_three(self) -> None:
        meant = [box.chosen for box in self.three]
        chosen = tuple(channel if isinstance(channel, int) else None for channel in meant)
        if any(channel is not None for channel in chosen):
            self._emit(replace(self._showing, channels=chosen))
        else:
            self.show_picture(self._picture)  # nothing at all cannot be shown

    def _take_numbers(self) -> None:
        black, white = sorted((self.black.value(), self.white.value()))
        self._set_levels(Levels(black, white, self.gamma.value()))

    def _drag(self, levels: Levels) -> None:
        self._show_numbers(levels)
        self.looked.emit(self._with(dict.fromkeys(self._targets(), levels)))

    def _set_levels(self, levels: Levels) -> None:
        self._emit(self._with(dict.fromkeys(self._targets(), levels)))

    def _set_each(self, *, full: bool) -> None:
        """Set levels by the values themselves, each channel by its own."""
        if self._picture is None:
            return
        found = {}
        for channel in self._targets():
            part = self._picture.measured.values[:, :, channel : channel + 1]
            ends = percentiles(part, SHOWN_SHARE)
            if ends is not None:
                low, high = (ends.least, ends.largest) if full else ends.values
                found[channel] = Levels(low, high)
        self._emit(self._with(found))

    def _with(self, levels: dict[int, Levels]) -> Showing:
        showing = self._showing
        for channel in {c for c in self._shown() if c is not None}:
            # Others keep what they have: they would not be looked at anew for each change.
            showing = showing.with_levels(channel, levels.get(channel, self._levels_of(channel)))
        return showing

    def _emit(self, showing: Showing) -> None:
        if showing != self._showing:
            self._showing = showing
            self.changed.emit(showing)
