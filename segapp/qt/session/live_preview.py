"""Live preview of the answer while a stroke is being painted."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from segapp.app.state import Content, Stage
from segapp.model.document import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from segapp.model.document import Document, Mark
    from segapp.qt.session.session import Session

# Milliseconds between two previews, in which the window paints the first one: while a thread
# computes, each of the window's calls into Qt waits for its turn at the interpreter.
_PAUSE = 30
# Of the radius: discs so near to each other look like the path between their neighbours.
_POINT_DISTANCE = 0.4


class LivePreview(QObject):
    """The previews of an unfinished stroke, one at a time.

    While one is computed the stroke grows; the next one shows its newest state. So the brush is
    never slowed down by previews that would be replaced at once.

    Parameters
    ----------
    stroke
        Returns the unfinished stroke as it is now, None when nothing is being painted.
    with_mark
        Returns the document with a mark.
    """

    def __init__(
        self,
        session: Session,
        stroke: Callable[[], Mark | None],
        with_mark: Callable[[Mark], Document],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._stroke, self._with_mark = session, stroke, with_mark
        self._previewed: Mark | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE)
        self._pause.timeout.connect(self.update)
        session.answers.live_preview_ended.connect(self._pause.start)
        session.document_changed.connect(self._reset)

    def update(self) -> None:
        """Preview the unfinished stroke, unless a preview is under way or it is unchanged."""
        answers = self._session.answers
        busy = answers.is_previewing or self._pause.isActive()
        if not answers.live or busy or self._session.state is None:
            return
        mark = self._stroke()
        if mark is None or mark == self._previewed:
            return
        self._previewed = mark
        document = self._with_mark(thin_out(mark))
        answers.show_live_preview(Content(document, self._session.settings))

    def discard(self) -> None:
        """Withdraw the preview of a stroke that was dropped."""
        self._reset()
        if self._session.answers.progress.stage is Stage.FOLLOWING:
            self._session.answers.catch_up()

    def stop(self) -> None:
        """Preview no more: the window closes, perhaps in the middle of a stroke."""
        self._pause.stop()

    def _reset(self) -> None:
        self._previewed = None
        self._pause.stop()


def thin_out(mark: Mark) -> Mark:
    """Leave out points that hardly widen the path, as a preview may."""
    if isinstance(mark, Patch):
        return mark
    kept = [0]
    x, y = mark.points[0]
    for index, (to_x, to_y) in enumerate(mark.points):
        if math.hypot(to_x - x, to_y - y) >= mark.radius * _POINT_DISTANCE:
            kept.append(index)
            x, y = to_x, to_y
    if kept[-1] != len(mark.points) - 1:
        kept.append(len(mark.points) - 1)
    points = tuple(mark.points[index] for index in kept)
    pressures = tuple(mark.pressures[index] for index in kept) if mark.pressures else ()
    return replace(mark, points=points, pressures=pressures)
