"""Comparison of the answer with a ground truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Signal

from segapp.batch.cases import load_truth
from segapp.batch.robot_user import IGNORED, iou, score
from segapp.model.validation import SegappError, sanitize
from segapp.qt.canvas.contours import boundary_lines
from segapp.qt.files import file_dialogs
from segapp.qt.files.preferences import opening_folder
from segapp.qt.i18n import class_name, number
from segapp.qt.session.jobs import Jobs, unexpected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray
    from PySide6.QtWidgets import QToolButton, QWidget

    from segapp.qt.actions.actions import Actions
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.session.session import Session

_Scores = tuple[float, tuple[float, ...]]
"""The score, and the IoU of each class."""


class TruthCommands(QObject):
    """The truth of the open image, with the IoU of each answer in the status bar."""

    message = Signal(str)

    def __init__(
        self, session: Session, canvas: Canvas, chip: QToolButton, window: QWidget
    ) -> None:
        super().__init__(window)
        self._session, self._canvas, self._chip, self._window = session, canvas, chip, window
        self._truth: NDArray[np.int16] | None = None
        self._jobs = Jobs("truth", self)
        chip.setCheckable(True)
        chip.toggled.connect(self._outline)
        session.picture_changed.connect(self._forget)
        session.answers.answer_changed.connect(self._compare)

    def connect_actions(self, actions: Actions) -> None:
        """Connect the command."""
        actions["load_truth"].triggered.connect(self._ask)

    def _ask(self) -> None:
        state = self._session.state
        if state is None:
            return
        title, folder = self.tr("Truth of {}").format(state.path.name), state.path
        path = file_dialogs.ask_image(self._window, title, opening_folder(folder))
        if path is not None:
            self.load(path)

    def load(self, path: Path) -> None:
        """Compare all answers from now on with a file."""
        picture, document = self._session.picture, self._session.document
        if picture is None:
            return
        try:
            n_classes = len(document.classes)
            self._truth = load_truth(path, picture.size, n_classes, document.background)
        except SegappError as error:
            file_dialogs.complain(self._window, str(error))
            return
        self.message.emit(self.tr("Compared with {}").format(sanitize(path.name)))
        self._compare()

    def _forget(self) -> None:
        self._truth = None
        self._jobs.cancel()
        self._chip.setChecked(False)
        self._chip.hide()

    def _compare(self) -> None:
        answer, truth = self._session.answers.answer, self._truth
        if answer is None or truth is None:
            return
        labels, document = answer.labelling.labels, self._session.document
        background, n_classes = document.background, len(document.classes)

        def work() -> Iterator[_Scores]:
            parts = tuple(iou(labels, truth, label) for label in range(n_classes))
            yield score(labels, truth, n_classes, background), parts

        self._jobs.run(work, self._show, unexpected)

    def _show(self, scores: _Scores) -> None:
        total, parts = scores
        self._chip.setText(self.tr("IoU {} %").format(number(100 * total, 1)))
        classes = self._session.document.classes
        lines = [
            f"{class_name(info.name)}: {number(100 * part, 1)} %"
            for info, part in zip(classes, parts, strict=False)
        ]
        click = self.tr("Click to outline what differs from the truth.")
        self._chip.setToolTip("\n".join((*lines, click)))
        self._chip.show()
        self._outline()

    def _outline(self) -> None:
        """Outline the pixels whose class is not that of the truth, or remove the lines."""
        answer, truth = self._session.answers.answer, self._truth
        if answer is None or truth is None or not self._chip.isChecked():
            self._canvas.set_selection(())
            return
        wrong = (answer.labelling.labels != truth) & (truth != IGNORED)
        self._canvas.set_selection(boundary_lines(np.ascontiguousarray(wrong), 0, 0))

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the thread; return whether it has ended."""
        return self._jobs.close(timeout)
