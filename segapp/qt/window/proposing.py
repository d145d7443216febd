"""Outlines of the object under the pointer, which a click takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QPointF, QTimer, Signal

from segapp.model.answer import DEFAULT_PROPOSAL, PROPOSAL_SIZES
from segapp.model.document import Patch, Stroke
from segapp.model.labelling import InitialLabels, Labelling
from segapp.qt.canvas.brush import BrushTarget, Tool
from segapp.qt.canvas.contours import scaled_boundary_lines
from segapp.qt.session.answer_service import ProposalJob

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from segapp.model.answer import ObjectProposal
    from segapp.model.document import Document, Mark
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.panels.brush_panel import BrushState
    from segapp.qt.session.session import Session

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
