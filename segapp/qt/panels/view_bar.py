"""Legends and choices of the present view mode, below the image."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QLinearGradient, QPainter
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from segapp.imaging.overlay import (
    ViewMode,
    bright_margin,
    codeword_distances,
    confidence_colours,
    shade_by_distance,
)
from segapp.qt.dialogs.cutout_choices import BackdropBox, EdgeBox
from segapp.qt.i18n import class_name, number
from segapp.qt.widgets.layouts import WrappingRow

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PySide6.QtCore import QPointF
    from PySide6.QtGui import QAction, QPaintEvent

    from segapp.model.classes import ClassInfo
    from segapp.model.labelling import Labelling

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
