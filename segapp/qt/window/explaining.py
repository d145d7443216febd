"""Explanations of pixels, and proposed outlines, under the pointer."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QImage

from segapp.imaging.rasterise import mark_patch
from segapp.model.answer import DEFAULT_PROPOSAL, PROPOSAL_SIZES
from segapp.model.document import Patch, Stroke
from segapp.model.labelling import InitialLabels, Labelling
from segapp.qt.canvas.brush import BrushTarget, Tool
from segapp.qt.canvas.layers import scaled_boundary_lines
from segapp.qt.canvas.painting import Glow
from segapp.qt.i18n import class_name, number, translate
from segapp.qt.panels.model_panel import kernel_title
from segapp.qt.session.answer_service import ProposalJob
from segapp.qt.widgets import Card

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from segapp.model.answer import ObjectProposal
    from segapp.model.document import Document, Mark
    from segapp.model.explanation import PixelExplanation
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.panels.brush_panel import BrushState
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
        counted = ", ".join(
            f"{kernel_title(name)} {'+' * (value >= 0)}{number(value, 2)}"
            for name, value in kernels
        )
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


_CORE = 0.35
"""Depth from which on a proposal is marked, as a share of the largest: its outline is a guess."""
_RETRY = 60
"""Milliseconds until the next try while the learner is at work."""


class ProposalController(QObject):
    """Proposals while nothing is marked, and at any time while a key is held.

    One is computed at a time, the next one for the pointer's newest position. A stroke stops
    them, so that the brush is never slowed down.
    """

    passed_on = Signal(object)  # Mark of the canvas that takes no proposal

    def __init__(
        self,
        session: Session,
        canvas: Canvas,
        brush: BrushState,
        with_mark: Callable[[Mark], Document],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._session, self._canvas, self._brush = session, canvas, brush
        self._with_mark = with_mark
        self._on, self._held = True, False
        self._at: QPointF | None = None
        self._asked: tuple[int, int, int] | None = None  # x, y and size
        self._running = False
        self._size = DEFAULT_PROPOSAL
        self._notches = 0.0
        self._again = QTimer(self, singleShot=True, interval=_RETRY)
        self._again.timeout.connect(self._update)
        self.proposal: ObjectProposal | None = None
        session.answers.progress_changed.connect(self._update)

    def set_on(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Propose objects, or never."""
        self._on = on
        self._update()

    def hold(self, held: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Propose objects although something is marked, for as long as a key is held."""
        self._held = held
        self._update()

    def point(self, at: QPointF | None) -> None:
        """Propose the object at a point of the image; None withdraws the last one."""
        self._at = at
        self._update()

    def resize(self, notches: float) -> None:
        """Propose a larger object for notches above 0, or a smaller one."""
        self._notches += notches
        steps = int(self._notches)
        self._notches -= steps
        self._size = min(max(self._size + steps, 0), len(PROPOSAL_SIZES) - 1)
        self._update()

    def end(self) -> None:
        """Propose nothing more: the window closes."""
        self.set_on(on=False)

    def reset(self) -> None:
        """Withdraw the proposal: the image or its strokes have changed."""
        self._asked = None
        self._show(None)
        self._update()

    def take(self, mark: Mark) -> None:
        """Take the proposal in place of a click of the left button; pass other marks on."""
        proposal, label = self.proposal, self._brush.brush.left
        is_click = isinstance(mark, Stroke) and len(mark.points) == 1
        if proposal is None or not is_click or mark.label != label or not self._is_wanted():
            self.passed_on.emit(mark)
            return
        self._show(None)
        self._session.answers.full_size(proposal, lambda mask: self._add(mask, label))

    def _add(self, mask: NDArray[np.bool_], label: int) -> None:
        """Begin with a proposal's labels, or mark its core beside other strokes."""
        document = self._session.document
        name = self.tr("taking an object")
        if self._is_empty():
            labels = np.where(mask, label, document.background).astype(np.uint8)
            ones, zeros = np.ones(mask.shape, np.float32), np.zeros(mask.shape, np.uint32)
            labelling = Labelling(labels, ones, zeros, len(document.classes), 1)
            initial = InitialLabels.from_labelling(labelling, self.tr("the click"))
            self._session.edit(name, replace(document, initial=initial))
        else:
            from scipy import ndimage  # which the window's start does without

            depth = ndimage.distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1]
            core = Patch.of_mask(np.asarray(depth > _CORE * depth.max()), label)
            self._session.edit(name, self._with_mark(core))

    def _is_empty(self) -> bool:
        document = self._session.document
        return not document.strokes and document.initial is None and not document.retouches

    def _is_wanted(self) -> bool:
        brush = self._brush.brush
        plain = brush.tool is Tool.BRUSH and brush.target is BrushTarget.STROKES
        plain = plain and brush.left != self._session.document.background
        return self._on and plain and (self._held or self._is_empty())

    def _update(self) -> None:
        """Propose for the present position, unless that is done or under way."""
        at, picture = self._at, self._session.picture
        self._again.stop()
        if at is None or picture is None or not self._is_wanted():
            self._asked = None
            self._show(None)
            return
        if self._running or self._canvas.unfinished_stroke() is not None:
            return
        wanted = int(at.x()), int(at.y()), self._size
        if wanted == self._asked:
            return
        self._asked, self._running = wanted, True
        job = ProposalJob(self._take, self._end)
        if not self._session.answers.propose(at.x(), at.y(), self._size, job):
            self._asked, self._running = None, False
            self._show(None)
            self._again.start()

    def _take(self, proposal: ObjectProposal) -> None:
        if self._is_wanted():
            self._show(proposal)

    def _end(self) -> None:
        self._running = False
        self._update()

    def _show(self, proposal: ObjectProposal | None) -> None:
        if proposal is not self.proposal:
            self.proposal = proposal
            lines = (
                () if proposal is None else scaled_boundary_lines(proposal.mask, proposal.times)
            )
            self._canvas.set_proposal(lines)
