"""Explanations of pixels on the canvas, by a card and by strokes that glow."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage

from segapp.imaging.rasterise import mark_patch
from segapp.qt.canvas.painting import Glow
from segapp.qt.i18n import class_name, translate
from segapp.qt.panels.model_panel import kernel_title
from segapp.qt.widgets.layouts import Card

if TYPE_CHECKING:
    from segapp.model.document import Patch
    from segapp.model.explanation import PixelExplanation
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.session.session import Session

_FOR, _AGAINST = QColor(255, 214, 64), QColor(120, 190, 255)
"""Colours of strokes that speak for the class, and against it."""
_LEAST_SHARE = 0.01  # of a stroke that glows
_LEAST_OPACITY = 90
_FULL_SHARE = 0.5  # share from which on a stroke glows fully
_LONGEST_SIDE = 512  # pixels of a glow's image


class ExplainCard(Card):
    """The reasons for a pixel's class, at the lower edge of the canvas."""

    def __init__(self, canvas: Canvas) -> None:
        super().__init__(canvas, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName(self.tr("Explanation of a pixel"))

    def show_text(self, text: str) -> None:
        """Show a text until the card is hidden."""
        self.set_text(text)
        self.show()
        self.place()


class ExplainController(QObject):
    """Explanation of a pixel that the tool has clicked, or the key points at."""

    def __init__(self, session: Session, canvas: Canvas, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._canvas = session, canvas
        self.card = ExplainCard(canvas)

    def explain(self, at: QPointF | None) -> None:
        """Explain a pixel of the answer; None ends the explanation."""
        picture = self._session.picture
        if at is None or picture is None:
            self.end()
            return
        height, width = picture.size
        if not (0 <= at.x() < width and 0 <= at.y() < height):
            self.end()
        elif not self._session.answers.explain(at.x(), at.y(), self._show):
            self._canvas.set_glow(())
            self.card.show_text(self.tr("There is no result to explain yet: paint strokes first."))

    def end(self) -> None:
        """Hide the explanation."""
        if self.card.isVisible():
            self.card.hide()
            self._canvas.set_glow(())
            self._session.answers.end_explanation()

    def _show(self, explanation: PixelExplanation) -> None:
        names = [escape(class_name(info.name)) for info in self._session.document.classes]
        text = translate(explanation.sentence(names))
        others = [share for share in explanation.stroke_shares().values() if share < 0]
        if others:
            text += " " + self.tr("Strokes against it: {}.").format(f"{-sum(others):.0%}")
        self.card.show_text(text + self._details(explanation))
        self._canvas.set_glow(tuple(self._glows(explanation)))

    def _details(self, explanation: PixelExplanation) -> str:
        """Return kernels and bits as a second, smaller line."""
        code = explanation.code
        if code is None:
            return ""
        kernels = sorted(explanation.kernels, key=lambda kernel: -abs(kernel[1]))[:3]
        counted = ", ".join(f"{kernel_title(name)} {value:+.2f}" for name, value in kernels)
        bits = "".join("1" if value >= 0 else "0" for value in code.values)
        words = [
            "".join("1" if bit > 0 else "0" for bit in word) for word in (code.word, code.other)
        ]
        line = self.tr("Kernels: {}. Code {}, codewords {} and {}, deciding bits {}.").format(
            counted, bits, *words, ", ".join(str(bit + 1) for bit in code.deciding)
        )
        return f"<div style='font-size:small'>{line}</div>"

    def _glows(self, explanation: PixelExplanation) -> list[Glow]:
        picture, glows = self._session.picture, list[Glow]()
        strokes = tuple(self._session.document.strokes)
        for index, share in explanation.stroke_shares().items():
            if picture is None or index >= len(strokes) or abs(share) < _LEAST_SHARE:
                continue
            patch = mark_patch(strokes[index], picture.size)
            if patch is not None:
                glows.append(_glow(patch, share, f"{index + 1}: {share:.0%}"))
        return glows


def _glow(patch: Patch, share: float, name: str) -> Glow:
    """Return a patch in the colour of its share."""
    step = -(-max(patch.width, patch.height) // _LONGEST_SIDE)
    mask = patch.mask()[::step, ::step]
    colour = QColor(_FOR if share > 0 else _AGAINST)
    strength = min(abs(share) / _FULL_SHARE, 1.0)
    colour.setAlpha(round(_LEAST_OPACITY + (255 - _LEAST_OPACITY) * strength))
    pixels = np.where(mask, np.uint32(colour.rgba()), np.uint32(0))
    height, width = pixels.shape
    image = QImage(pixels.tobytes(), width, height, 4 * width, QImage.Format.Format_ARGB32)
    box = QRectF(patch.left, patch.top, patch.width, patch.height)
    return Glow(image.copy(), box, name)
