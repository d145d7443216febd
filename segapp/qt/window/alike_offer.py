"""Offers to find everything alike, where somebody marks many small objects one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt

from segapp.qt.panels.offer import Offer
from segapp.qt.session.jobs import Jobs
from segapp.values.alike_marks import mark_many
from segapp.values.settings import preset_of, preset_with

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from segapp.qt.session.session import Session


class AlikeOffer(QObject):
    """Asks once for each picture, beside the work, as long as one object is looked for.

    Telling parts apart takes longer than a window may pause: a thread does it. What it finds is
    of the present answer or of none, as any change makes the look before it stale.
    """

    def __init__(self, session: Session, canvas: QWidget) -> None:
        super().__init__(canvas)
        self._session = session
        self.offer = Offer(canvas, Qt.AlignmentFlag.AlignBottom)
        self._answered: set[Path] = set()
        self._jobs = Jobs("marks alike", self)
        self._jobs.arrived.connect(self._take)
        self._jobs.failed.connect(self._fail)
        session.answers.answer_changed.connect(self._look)
        session.settings_changed.connect(self._look)
        session.document_changed.connect(self._jobs.cancel)
        session.picture_changed.connect(self._forget)

    def close(self, timeout: float | None = None) -> bool:
        """Stop the thread and wait so long; say whether it has ended."""
        return self._jobs.close(timeout)

    def _look(self) -> None:
        state, answer = self._session.state, self._session.answers.answer
        self._jobs.cancel()
        if state is None or state.path in self._answered:
            return
        if preset_of(self._session.settings) != "best":
            self.offer.withdraw()
        elif answer is not None and not self.offer.isVisible():
            document, labels = self._session.document, answer.labelling.labels

            def work() -> Iterator[bool]:
                yield mark_many(document, labels)

            self._jobs.start(work)

    def _take(self, ticket: int, many: bool) -> None:  # noqa: FBT001 - a Qt slot
        del ticket
        if many:
            self.offer.make(
                self.tr("Many small marks: find everything that looks like them?"),
                (
                    (self.tr("Find all alike"), lambda: self._answer(wanted=True)),
                    (self.tr("No"), lambda: self._answer(wanted=False)),
                ),
            )

    def _fail(self, ticket: int, error: Exception) -> None:
        del ticket
        raise error  # nothing of it is the user's doing: the window tells it like any mistake

    def _forget(self) -> None:
        self._jobs.cancel()
        self.offer.withdraw()

    def _answer(self, *, wanted: bool) -> None:
        self._jobs.cancel()
        if self._session.state is not None:
            self._answered.add(self._session.state.path)
        if wanted:
            self._session.set_settings(preset_with("alike", self._session.settings))
