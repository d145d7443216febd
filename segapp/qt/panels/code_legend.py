"""A card that explains the view of hash codes: classes, shades, the code under the pointer."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Qt

from segapp.qt.language import class_name
from segapp.qt.panels.card import Card
from segapp.values.overlay import code_distances, shaded

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PySide6.QtCore import QPointF
    from PySide6.QtWidgets import QWidget

    from segapp.values.document import ClassInfo
    from segapp.values.labelling import Labelling

# Shades that are shown: at the codeword, and one, two, three bits away from it.
_SHADES = 4


class CodeLegend(Card):
    """Stands in the canvas's upper left corner as long as codes are shown."""

    def __init__(self, canvas: QWidget) -> None:
        super().__init__(canvas, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.setAccessibleName(self.tr("Legend of the hash codes"))
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._labelling: Labelling | None = None
        self._classes: tuple[ClassInfo, ...] = ()
        self._codewords: NDArray[np.int8] | None = None
        self._at: QPointF | None = None

    def explain(
        self,
        labelling: Labelling,
        classes: tuple[ClassInfo, ...],
        codewords: NDArray[np.int8] | None,
    ) -> None:
        """Explain the codes of a labelling."""
        self._labelling, self._classes = labelling, classes
        fits = codewords is not None and codewords.shape[2] == labelling.n_bits
        self._codewords = codewords if fits else None
        self.point_at(self._at)
        self.show()
        self.place()

    def point_at(self, at: QPointF | None) -> None:
        """Tell the code at a place of the picture and how far it is from the codewords."""
        self._at = at
        if self._labelling is None:
            return
        height, width = self._labelling.labels.shape
        inside = at is not None and 0 <= at.x() < width and 0 <= at.y() < height
        if at is None or not inside:
            told = self.tr("Point at the picture to read a code")
        else:
            told = self._told(self._labelling.hash_codes[_pixel(at)][0, 0])
        self.set_text(self._table() + f"<p style='margin:6px 0 0 0'>{told}</p>")

    def _told(self, code: np.uint32) -> str:
        bits = _bits(int(code), self._labelling.n_bits if self._labelling is not None else 0)
        if self._codewords is None:
            return self.tr("Code {}").format(bits)
        distances = code_distances(np.array([code]), self._codewords)[0]
        parts = [
            self.tr("{} to {}").format(distance, escape(class_name(info.name)))
            for info, distance in zip(self._classes, distances, strict=False)
            if distance <= self._codewords.shape[2]
        ]
        return self.tr("Code {}: {}").format(f"<b>{bits}</b>", ", ".join(parts))

    def _table(self) -> str:
        if self._codewords is None:
            return self.tr("<b>Hash codes</b>: each has a colour of its own")
        n_bits = self._codewords.shape[2]
        rows = []
        for info, words in zip(self._classes, self._codewords, strict=False):
            if not words.any():
                continue
            colours = np.repeat([info.colour], _SHADES, axis=0)
            squares = "".join(
                f"<span style='color:rgb({r},{g},{b})'>■</span>"
                for r, g, b in shaded(colours, np.arange(_SHADES), n_bits).tolist()
            )
            codes = ", ".join("".join("1" if bit > 0 else "0" for bit in word) for word in words)
            rows.append(
                f"<tr><td>{squares}</td><td>&nbsp;{escape(class_name(info.name))}</td>"
                f"<td>&nbsp;&nbsp;{codes}</td></tr>"
            )
        title = self.tr("<b>Nearest codeword</b>, darker by the bits that differ")
        return f"{title}<table>{''.join(rows)}</table>"


def _pixel(at: QPointF) -> tuple[slice, slice]:
    x, y = int(at.x()), int(at.y())
    return slice(y, y + 1), slice(x, x + 1)


def _bits(code: int, n_bits: int) -> str:
    """Write a code as the codewords are written, its first bit first."""
    return "".join("1" if code >> bit & 1 else "0" for bit in range(n_bits))
