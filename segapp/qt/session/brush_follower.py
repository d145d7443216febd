"""The answer follows the brush: looks at the stroke in the making, one after the other."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from segapp.qt.session.picture_state import Content
from segapp.qt.session.progress import Stage
from segapp.values.document import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from segapp.qt.session.session import Session
    from segapp.values.document import Mark

# Milliseconds in which the window paints a look before the next one wants the interpreter, too:
# each of its calls into Qt would wait for its turn.
_BREATH = 30
# Of the radius: discs so near to each other look like their neighbours' path.
_STEP = 0.4


class BrushFollower(QObject):
    """Asks for the next look when the last one is there; the newest state of the stroke wins.

    What grows in the meantime is asked for once, when its turn comes: a brush is never slowed by
    looks that nobody would see.

    Parameters
    ----------
    stroke
        Returns the stroke in the making as it is now, None when nothing is being drawn.
    """

    def __init__(
        self, session: Session, stroke: Callable[[], Mark | None], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session, self._stroke = session, stroke
        self._seen: Mark | None = None
        self._breath = QTimer(self, singleShot=True, interval=_BREATH)
        self._breath.timeout.connect(self.look)
        session.answers.followed.connect(self._breath.start)
        session.document_changed.connect(self._begin_anew)

    def look(self) -> None:
        """Look at the stroke in the making, unless that is being done or was done already."""
        answers = self._session.answers
        busy = answers.is_following or self._breath.isActive()
        if not answers.live or busy or self._session.state is None:
            return
        mark = self._stroke()
        if mark is None or mark == self._seen:
            return
        self._seen = mark
        document = self._session.document.with_stroke(thinned(mark))
        answers.follow(Content(document, self._session.settings))

    def forget(self) -> None:
        """Take back what a stroke would have changed that was dropped."""
        self._begin_anew()
        if self._session.answers.progress.stage is Stage.FOLLOWING:
            self._session.answers.catch_up()

    def end(self) -> None:
        """Look no more: the window closes, perhaps in the middle of a stroke."""
        self._breath.stop()

    def _begin_anew(self) -> None:
        self._seen = None
        self._breath.stop()


def thinned(mark: Mark) -> Mark:
    """Leave out points that hardly widen what the brush covers: a look need not be exact."""
    if isinstance(mark, Patch):
        return mark
    kept = [0]
    x, y = mark.points[0]
    for index, (to_x, to_y) in enumerate(mark.points):
        if math.hypot(to_x - x, to_y - y) >= mark.radius * _STEP:
            kept.append(index)
            x, y = to_x, to_y
    if kept[-1] != len(mark.points) - 1:
        kept.append(len(mark.points) - 1)
    points = tuple(mark.points[index] for index in kept)
    pressures = tuple(mark.pressures[index] for index in kept) if mark.pressures else ()
    return replace(mark, points=points, pressures=pressures)
