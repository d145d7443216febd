"""Comparison of the images of a folder, and of an answer with its ground truth."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from segapp.batch.cases import load_truth
from segapp.batch.robot_user import IGNORED, iou, score
from segapp.imaging.components import component_at
from segapp.io.folder_files import ImageStatus
from segapp.model.settings import wants_encoder
from segapp.model.validation import SegappError, sanitize, sentence
from segapp.qt.canvas.layers import boundary_lines
from segapp.qt.files import file_dialogs
from segapp.qt.files.preferences import opening_folder
from segapp.qt.i18n import as_plain, class_name, number, translate
from segapp.qt.session.jobs import Jobs, unexpected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray
    from PySide6.QtWidgets import QToolButton, QWidget

    from segapp.app.folder_learning import (
        FolderMemory,
        ImagesRead,
        LabelledImage,
        Similar,
        Usefulness,
    )
    from segapp.app.project_store import ProjectStore
    from segapp.engine.folder_model import Suspect
    from segapp.qt.actions import Actions
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.files.files import Files
    from segapp.qt.panels.folder_export import FolderTask
    from segapp.qt.session.session import Session

    Found = ImagesRead | list[Suspect] | list[Usefulness] | list[Similar]


_ENOUGH = 0.12
"""Mean doubt of the most useful image below which a further one changes little."""
_MOST_LISTED = 200
_REACH = 20.0  # least half side of the frame around a place, in image pixels


class PlaceList(QDialog):
    """Places in images of a folder, to be gone through with two keys."""

    chosen = Signal(object)  # the place

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._note = QLabel(wordWrap=True)
        self.rows = QListWidget()
        self.rows.setAccessibleName(self.tr("Places in the folder's images"))
        self.rows.setAccessibleDescription(self.tr("Press Return to open the image at a place"))
        self.rows.itemActivated.connect(lambda _: self.mend())
        self.right = QPushButton(self.tr("&Right (R)"))
        self.right.setToolTip(self.tr("The result is right here: take the place off the list"))
        self.mend_button = QPushButton(self.tr("&Mend (M)"))
        self.mend_button.setToolTip(self.tr("Open the image at this place, to paint a stroke"))
        for button, call in ((self.right, self.dismiss), (self.mend_button, self.mend)):
            button.setAutoDefault(False)
            button.clicked.connect(call)
        self.rows.installEventFilter(self)  # which would look for a text that begins so
        buttons = QHBoxLayout()
        buttons.addWidget(self.right)
        buttons.addWidget(self.mend_button)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.addWidget(self._note)
        column.addWidget(self.rows, 1)
        column.addLayout(buttons)
        self.resize(440, 420)

    def show_places(self, title: str, note: str, places: list[tuple[str, object]]) -> None:
        """List places, each with its text; the first one is chosen."""
        self.setWindowTitle(title)
        self._note.setText(note)
        self.rows.clear()
        for text, place in places:
            item = QListWidgetItem(text)
            item.setData(Qt.ItemDataRole.UserRole, place)
            self.rows.addItem(item)
        self.rows.setCurrentRow(0)
        self.show()
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle the two keys of the list."""
        if watched is self.rows and isinstance(event, QKeyEvent):
            call = {Qt.Key.Key_R: self.dismiss, Qt.Key.Key_M: self.mend}.get(Qt.Key(event.key()))
            if call is not None and event.type() == QEvent.Type.ShortcutOverride:
                event.accept()  # these are keys of the main window as well
                return True
            if call is not None and event.type() == QEvent.Type.KeyPress:
                call()
                return True
        return super().eventFilter(watched, event)

    def dismiss(self) -> None:
        """Take the chosen place off the list, and choose the next one."""
        self.rows.takeItem(self.rows.currentRow())

    def mend(self) -> None:
        """Open the image at the chosen place."""
        item = self.rows.currentItem()
        if item is not None:
            self.chosen.emit(item.data(Qt.ItemDataRole.UserRole))


class FolderReview(QObject):
    """The commands that compare the images of a folder."""

    message = Signal(str)  # a sentence for the status bar
    ranked = Signal(object)  # images, the most useful one first; none for the usual order

    def __init__(
        self,
        session: Session,
        files: Files,
        store: ProjectStore,
        task: FolderTask,
        canvas: Canvas,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._files, self._store = session, files, store
        self._task, self._canvas = task, canvas
        self._jobs = Jobs("folder review", self)
        self._pointer: QPointF | None = None
        self._frame: QRectF | None = None  # to be shown when its image is there
        self._sorting = False
        self._sorted_for: list[LabelledImage] = []
        self.place_list = PlaceList(window)
        self.place_list.chosen.connect(self._open)
        canvas.pointer_moved.connect(self._point)
        files.opened.connect(self._show_frame)
        files.opened.connect(self._sort_again)
        files.folder.begun.connect(self._forget)
        task.stop_requested.connect(self._jobs.cancel)

    def connect_actions(self, actions: Actions) -> None:
        """Connect the commands."""
        actions["review"].triggered.connect(self.review)
        actions["next_useful"].triggered.connect(self.open_useful)
        actions["find_similar"].triggered.connect(self.find_similar)
        actions["sort_useful"].toggled.connect(self.sort_useful)

    def _point(self, at: QPointF | None) -> None:
        self._pointer = at if at is not None else self._pointer

    @cached_property
    def _memory(self) -> FolderMemory:
        from segapp.app.folder_learning import FolderMemory  # which loads the learner

        return FolderMemory()

    def _forget(self) -> None:
        self._jobs.cancel()
        self.__dict__.pop("_memory", None)
        self._sorted_for = []
        self.place_list.close()

    # Commands ---------------------------------------------------------------------------

    def review(self) -> None:
        """List the probable mistakes of the finished images."""
        finished = self._finished()
        if len(finished) < 2:
            self.message.emit(self.tr("Finish at least two images of the folder first"))
            return
        memory, encoder = self._memory, self._encoder()

        def work() -> Iterator[Found]:
            yield from memory.learn(finished, encoder)
            yield memory.review()

        self._run(work, self._list_suspects)

    def open_useful(self) -> None:
        """Open the unfinished image from which the folder's model would learn most."""
        self._rank(self._open_most_useful)

    def sort_useful(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot
        """List the most useful images first, also when more are finished."""
        self._sorting, self._sorted_for = on, []
        if on:
            self._rank(self._list_useful)
        else:
            self.ranked.emit([])

    def _sort_again(self) -> None:
        if self._sorting and not self._jobs.busy and self._finished() != self._sorted_for:
            self._rank(self._list_useful)

    def _rank(self, take: Callable[[list[Usefulness]], None]) -> None:
        """Rank the unfinished images by what they would teach."""
        finished = self._finished()
        done = {labelled.image for labelled in finished}
        left = [path for path in self._files.workspace.images if path not in done]
        if not finished or not left:
            self.message.emit(self.tr("Finish one image, and leave another unfinished"))
            return
        memory, encoder, self._sorted_for = self._memory, self._encoder(), finished

        def work() -> Iterator[Found]:
            yield from memory.learn(finished, encoder)
            yield from memory.rank_useful(left)

        self._run(work, take)

    def find_similar(self) -> None:
        """List the images that have something like the object under the pointer."""
        answer, picture, at = self._session.answers.answer, self._session.picture, self._pointer
        if answer is None or picture is None or at is None:
            self.message.emit(self.tr("Point at an object of the result, and press the key again"))
            return
        height, width = picture.size
        if not (0 <= at.x() < width and 0 <= at.y() < height):
            return
        labels, x, y = answer.labelling.labels, int(at.x()), int(at.y())
        memory, images = self._memory, list(self._files.workspace.images)

        def work() -> Iterator[Found]:
            yield from memory.find_similar(picture, component_at(labels, x, y), images)

        self._run(work, self._list_similar)

    def _finished(self) -> list[LabelledImage]:
        """Return the images flagged as done, or all others with a result where none is."""
        from segapp.app.folder_learning import LabelledImage  # which loads the learner

        workspace = self._files.workspace
        done = [p for p in workspace.images if workspace.status(p) is ImageStatus.DONE]
        finished = []
        for path in done or workspace.images:
            found = self._store.search(path)
            if found is not None and found.project is not None:
                finished.append(LabelledImage(path, found.location.path))
        return finished

    def _encoder(self) -> str:
        settings = self._session.settings
        return settings.encoder if wants_encoder(settings) else ""

    # Results ----------------------------------------------------------------------------

    def _run(self, work: Callable[[], Iterator[Found]], take: Callable[[Any], None]) -> None:
        def show(found: Found) -> None:
            from segapp.app.folder_learning import ImagesRead  # which loads the learner

            if isinstance(found, ImagesRead):
                text = self.tr("Reading {} of {}").format(found.done, found.total)
                self._task.show_progress(text, found.done, found.total)
            else:
                take(found)

        self._task.show_progress(self.tr("Comparing images"), 0, 1)
        self._jobs.run(work, show, self._fail, self._task.hide)

    def _list_suspects(self, suspects: list[Suspect]) -> None:
        if not suspects:
            self.message.emit(self.tr("No probable mistake was found"))
            return
        names = [class_name(info.name) for info in self._memory.classes]
        paths = {path.name: path for path in self._memory.pictures}
        places: list[tuple[str, object]] = []
        for suspect in suspects[:_MOST_LISTED]:
            text = self.tr("{}: {}, likelier {} ({})").format(
                sanitize(suspect.name),
                names[suspect.label],
                names[suspect.likelier],
                number(suspect.score, 2),
            )
            left, top, right, bottom = suspect.box
            places.append(
                (text, (paths[suspect.name], QRectF(left, top, right - left, bottom - top)))
            )
        note = self.tr("Areas of which the other images suggest another class, the surest first.")
        self.place_list.show_places(self.tr("Probable mistakes"), note, places)

    def _list_similar(self, similar: list[Similar]) -> None:
        paths = {path.name: path for path in self._files.workspace.images}
        places: list[tuple[str, object]] = [
            (
                self.tr("{}: {} of the code differ").format(
                    sanitize(each.name), f"{each.distance:.0%}"
                ),
                (paths[each.name], QRectF(each.x, each.y, 0.0, 0.0)),
            )
            for each in similar[:_MOST_LISTED]
        ]
        note = self.tr("Images with areas like the object under the pointer, the likest first.")
        self.place_list.show_places(self.tr("More like this"), note, places)

    def _open_most_useful(self, useful: list[Usefulness]) -> None:
        self.message.emit(self._verdict(useful))
        if useful:
            self._files.open(useful[0].image)

    def _list_useful(self, useful: list[Usefulness]) -> None:
        self.ranked.emit([each.image for each in useful])
        self.message.emit(self._verdict(useful))

    def _verdict(self, useful: list[Usefulness]) -> str:
        """Return a sentence about the most useful image."""
        if not useful:
            return self.tr("No unfinished image could be read")
        best = useful[0]
        if best.doubt < _ENOUGH:
            return self.tr("Enough: no unfinished image would change the folder's model much")
        return self.tr("{} would teach most: {} of it is in doubt").format(
            sanitize(best.image.name), f"{best.doubt:.0%}"
        )

    def _open(self, place: tuple[Path, QRectF]) -> None:
        """Open the image of a place, and frame it there."""
        path, box = place
        reach_x, reach_y = max(_REACH - box.width() / 2, 8.0), max(_REACH - box.height() / 2, 8.0)
        self._frame = box.adjusted(-reach_x, -reach_y, reach_x, reach_y)
        state = self._session.state
        if state is not None and state.path == path:
            self._show_frame()
        else:
            self._files.open(path)

    def _show_frame(self) -> None:
        if self._frame is None:
            return
        frame, self._frame = self._frame, None
        corners = frame.topLeft(), frame.topRight(), frame.bottomRight(), frame.bottomLeft()
        lines = [
            QLineF(one, two) for one, two in zip(corners, (*corners[1:], corners[0]), strict=True)
        ]
        self._canvas.set_selection(tuple(lines))
        self._canvas.viewport.ensure_box_visible(frame)

    def _fail(self, error: Exception) -> None:
        self.message.emit(translate(sentence(error)))

    def close(self, timeout: float | None = None) -> bool:
        """Stop, and wait for the thread; return whether it has ended."""
        return self._jobs.close(timeout)


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
        title, folder = self.tr("Truth of {}").format(sanitize(state.path.name)), state.path
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
        self._chip.setToolTip(as_plain("\n".join((*lines, click))))
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
