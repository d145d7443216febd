"""Offers to find everything alike, where somebody marks many small objects one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt

from segapp.qt.panels.offer import Offer
from segapp.values.alike_marks import mark_many
from segapp.values.settings import preset_of, preset_with

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from segapp.qt.session.session import Session


class AlikeOffer(QObject):
    """Asks once for each picture, beside the work, as long as one object is looked for."""

    def __init__(self, session: Session, canvas: QWidget) -> None:
        super().__init__(canvas)
        self._session = session
        self.offer = Offer(canvas, Qt.AlignmentFlag.AlignBottom)
        self._answered: set[Path] = set()
        session.answers.answer_changed.connect(self._look)
        session.settings_changed.connect(self._look)
        session.picture_changed.connect(self.offer.withdraw)

    def _look(self) -> None:
        state, answer = self._session.state, self._session.answers.answer
        if state is None or state.path in self._answered:
            return
        if preset_of(self._session.settings) != "best":
            self.offer.withdraw()
        elif answer is not None and mark_many(self._session.document, answer.labelling.labels):
            self.offer.make(
                self.tr("Many small marks: find everything that looks like them?"),
                (
                    (self.tr("Find all alike"), lambda: self._answer(wanted=True)),
                    (self.tr("No"), lambda: self._answer(wanted=False)),
                ),
            )

    def _answer(self, *, wanted: bool) -> None:
        if self._session.state is not None:
            self._answered.add(self._session.state.path)
        if wanted:
            self._session.set_settings(preset_with("alike", self._session.settings))
