"""Commands on the pages of a stack: play, propagation, projections, export."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import QDialog, QFileDialog, QLabel, QVBoxLayout

from segapp.io.folder_files import ImageStatus
from segapp.model.validation import sentence
from segapp.qt.i18n import translate
from segapp.qt.session.jobs import Jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray
    from PySide6.QtWidgets import QWidget

    from segapp.app.project_store import ProjectStore
    from segapp.app.stack import PageAnswer, PageStep, Stack
    from segapp.io.stacks import StackFile
    from segapp.model.document import Document
    from segapp.qt.actions import Actions
    from segapp.qt.files.files import Files
    from segapp.qt.panels.view_bar import StackBar
    from segapp.qt.session.session import Session

_UNSURE = 0.7
"""Expected overlap below which a page is unsure: *Propagate Until Unsure* ends there."""
_MOST_UNDONE = 16
_LEAST_PAUSE, _USUAL_PAUSE = 40, 80  # milliseconds between pages that are played
_COMMANDS = (
    "play",
    "propagate",
    "propagate_next",
    "propagate_sure",
    "unsure_page",
    "interpolate",
    "project_max",
    "project_mean",
    "export_stack",
    "next_time",
    "previous_time",
)


class StackController(QObject):
    """The open stack: its page, its answers, and the propagation of its marks."""

    message = Signal(str)  # a sentence for the status bar

    def __init__(
        self,
        session: Session,
        files: Files,
        store: ProjectStore,
        bar: StackBar,
        actions: Actions,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._files, self._store = session, files, store
        self._bar, self._actions, self._window = bar, actions, window
        self._stack: Stack | None = None
        self._file: StackFile | None = None
        self._pages: dict[Path, int] = {}
        self._past: list[Mapping[int, PageAnswer]] = []
        self._before: Mapping[int, PageAnswer] = {}
        self._jobs = Jobs("propagation", self)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._play_on)
        bar.page_chosen.connect(self.go_to)
        bar.channel_chosen.connect(self._show_channel)
        bar.stop_requested.connect(self._stop)
        files.folder_changed.connect(self._follow_files)
        session.picture_changed.connect(self._arrive)
        session.document_changed.connect(self._show_state)
        self._show_state()

    def connect_actions(self) -> None:
        """Let the menu's commands arrive here."""
        calls: dict[str, Callable[[], None]] = {
            "propagate": self.propagate,
            "propagate_next": self._propagate_next,
            "propagate_sure": lambda: self.propagate(_UNSURE),
            "undo_propagation": self.undo,
            "unsure_page": self._go_to_unsure,
            "interpolate": self._interpolate,
            "project_max": lambda: self._project(maximum=True),
            "project_mean": lambda: self._project(maximum=False),
            "export_stack": self._export,
            "next_time": lambda: self._step_time(1),
            "previous_time": lambda: self._step_time(-1),
        }
        for name, call in calls.items():
            self._actions[name].triggered.connect(lambda _=False, c=call: c())
        self._actions["play"].toggled.connect(self._play)

    # Pages ----------------------------------------------------------------------------------

    @property
    def stack(self) -> Stack | None:
        """The open stack with its answers."""
        return self._stack

    @property
    def page(self) -> int | None:
        """The open page."""
        state = self._session.state
        return None if state is None else self._pages.get(state.path)

    def _follow_files(self) -> None:
        """Begin another stack, or none."""
        if self._files.stack is self._file:
            return
        self._jobs.cancel()
        self._file, self._past, self._before = self._files.stack, [], {}
        self._actions["play"].setChecked(False)
        if self._file is None:
            self._stack, self._pages = None, {}
        else:
            from segapp.app.stack import Stack  # which loads the learner

            self._stack = Stack(self._file)
            self._pages = {path.absolute(): n for n, path in enumerate(self._file.paths)}
        self._bar.show_stack(None if self._stack is None else self._stack.axes, 1)
        self._show_state()

    def _arrive(self) -> None:
        """Show the place of the page that was opened, and its answer."""
        page, picture = self.page, self._session.picture
        if page is None or picture is None or self._stack is None:
            return
        raw = picture.raw_image
        self._bar.show_stack(self._stack.axes, raw.n_channels if raw.separate_channels else 1)
        self._take_answer()
        self._show_state()

    def _take_answer(self) -> None:
        """Begin an open page that has no marks with its propagated answer."""
        page, document = self.page, self._session.document
        if page is None or self._stack is None or document.strokes or document.retouches:
            return
        answer = self._stack.answers.get(page)
        initial = None if answer is None or not answer.others else answer.labels
        if initial is None and (document.initial is None or page not in self._before):
            return
        if document.initial != initial:
            classes = self._stack.classes.classes if initial is not None else document.classes
            changed = replace(document, classes=classes, initial=initial)
            self._session.edit(self.tr("propagation"), changed)

    def go_to(self, page: int) -> None:
        """Open a page."""
        if self._file is not None and page != self.page:
            self._files.open(self._file.paths[page])

    def _step_time(self, step: int) -> None:
        page = self.page
        if page is not None and self._stack is not None:
            time, depth = self._stack.axes.place(page)
            if 0 <= time + step < self._stack.axes.times:
                self.go_to(self._stack.axes.page(time + step, depth))

    def _play(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot
        rate = self._file.axes.frame_rate if self._file is not None else 0
        pause = max(_LEAST_PAUSE, round(1000 / rate)) if rate else _USUAL_PAUSE
        self._timer.start(pause) if on and self._stack is not None else self._timer.stop()

    def _play_on(self) -> None:
        """Show the next page, the first one after the last."""
        page = self.page
        if page is not None and self._stack is not None and not self._files.is_reading:
            self.go_to((page + 1) % len(self._stack))

    def _show_channel(self, channel: int) -> None:
        document = self._session.document
        display = replace(document.display, channels=(channel,))
        self._session.edit(self.tr("channel"), replace(document, display=display))

    def _show_state(self) -> None:
        """Show confidences, and enable the commands that can do something."""
        stack, page = self._stack, self.page
        self._actions.enable(*_COMMANDS, when=stack is not None and page is not None)
        self._actions.enable("undo_propagation", when=bool(self._past))
        if stack is None or page is None:
            return
        channels = self._session.document.display.channels
        self._bar.show_page(page, (channels[0] or 0) if channels else 0)
        confidences = {
            each: 2.0 if not answer.others else answer.confidence
            for each, answer in stack.answers.items()
        }
        if self._session.document.strokes:
            confidences[page] = 2.0
        self._bar.show_confidences(confidences, page)

    # Propagation ----------------------------------------------------------------------------

    def propagate(self, least_confidence: float = 0.0, within: range | None = None) -> None:
        """Carry the marks of all pages to the others."""
        stack = self._stack
        if stack is None:
            return
        self._before = stack.answers
        open_now, rest = self._known_documents()

        def work() -> Iterator[PageStep | None]:
            documents = dict(open_now)
            for page, path in rest.items():
                found = self._store.search(path)
                if found is not None and found.project is not None:
                    documents[page] = found.project.document
                yield None
            stack.set_documents(documents)
            yield from stack.propagation(least_confidence, within)

        stack.settings = self._session.settings
        self._bar.show_progress(self.tr("Propagating …"), 0, len(stack))
        self._jobs.run(work, self._note, self._fail, self._end)

    def _known_documents(self) -> tuple[dict[int, Document], dict[int, Path]]:
        """Return the documents of the window, and the pages whose projects are on disk."""
        known: dict[int, Document] = {}
        rest: dict[int, Path] = {}
        workspace = self._files.workspace
        for path, page in self._pages.items():
            state = self._session.state_of(path)
            if state is not None:
                known[page] = state.content.document
            elif workspace.status(path) is not ImageStatus.UNTOUCHED:
                rest[page] = path
        return known, rest

    def _note(self, step: PageStep | None) -> None:
        if step is not None:
            text = self.tr("Page {} of {}").format(step.number, step.total)
            self._bar.show_progress(text, step.number, step.total)
            self._show_state()
            if step.page == self.page:
                self._take_answer()

    def _fail(self, error: Exception) -> None:
        self.message.emit(translate(sentence(error)))

    def _end(self) -> None:
        """Keep the answers before as one step of undo."""
        self._bar.end_progress()
        stack = self._stack
        if stack is None or stack.answers == self._before:
            return
        self._past = [*self._past, self._before][-_MOST_UNDONE:]
        unsure = [page for page, each in stack.answers.items() if each.confidence < _UNSURE]
        text = self.tr("pages with a result: {}").format(len(stack.answers))
        if unsure:
            text += self.tr("; unsure: {}").format(len(unsure))
        self.message.emit(text)
        self._take_answer()
        self._show_state()

    def _propagate_next(self) -> None:
        """Propagate to the pages up to the next marked one."""
        page, stack = self.page, self._stack
        if page is None or stack is None:
            return
        marked = {
            each for each, document in self._known_documents()[0].items() if document.strokes
        }
        marked |= set(stack.marked)
        following = min((each for each in marked if each > page), default=len(stack) - 1)
        self.propagate(within=range(page, following + 1))

    def undo(self) -> None:
        """Take the last propagation back on all pages."""
        if self._stack is not None and self._past:
            self._jobs.cancel()
            self._before = self._stack.answers
            *self._past, answers = self._past
            self._stack.restore(answers)
            self._take_answer()
            self._show_state()

    def _stop(self) -> None:
        self._jobs.cancel()

    def _go_to_unsure(self) -> None:
        page = None if self._stack is None else self._stack.least_certain()
        if page is None:
            self.message.emit(self.tr("Propagate first: no page has a result yet"))
        else:
            self.go_to(page)

    def _interpolate(self) -> None:
        """Answer the pages between two marked ones by signed distances."""
        page, stack = self.page, self._stack
        if page is None or stack is None:
            return
        marked = [each for each, answer in stack.answers.items() if not answer.others]
        first = max((each for each in marked if each <= page), default=None)
        last = min((each for each in marked if each > page), default=None)
        if first is None or last is None:
            self.message.emit(self.tr("Mark and propagate a page before and one after this one"))
            return
        ends = first, last

        def work() -> Iterator[None]:
            yield None
            stack.interpolate(*ends)

        self._before = stack.answers
        self._jobs.run(work, lambda _: None, self._fail, self._end)

    # Projections and files ------------------------------------------------------------------

    def _project(self, *, maximum: bool) -> None:
        """Show the maximum or the mean of all pages."""
        stack = self._stack
        if stack is None:
            return

        def work() -> Iterator[NDArray[np.uint8] | None]:
            total: NDArray[np.float32] | None = None
            for page in range(len(stack)):
                rgb = stack.picture(page).rgb.astype(np.float32)
                if total is None:
                    total = rgb
                elif maximum:
                    np.maximum(total, rgb, out=total)
                else:
                    total += rgb
                yield None
            if total is not None:
                yield np.rint(total if maximum else total / len(stack)).astype(np.uint8)

        title = self.tr("Maximum of all pages") if maximum else self.tr("Mean of all pages")
        self._bar.show_progress(title, 0, 0)
        self._jobs.run(
            work, lambda rgb: self._show_projection(title, rgb), self._fail, self._bar.end_progress
        )

    def _show_projection(self, title: str, rgb: NDArray[np.uint8] | None) -> None:
        if rgb is None:
            return
        height, width = rgb.shape[:2]
        image = QImage(rgb.data, width, height, 3 * width, QImage.Format.Format_RGB888).copy()
        room = self._window.size() * 0.8
        dialog, label = QDialog(self._window), QLabel()
        label.setPixmap(
            QPixmap.fromImage(image).scaled(
                room,
                Qt.AspectRatioMode.KeepAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            )
        )
        label.setAccessibleName(title)
        dialog.setWindowTitle(title)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        QVBoxLayout(dialog).addWidget(label)
        dialog.show()

    def _export(self) -> None:
        """Write all pages into a folder that the user chooses."""
        if self._stack is None or self._file is None:
            return
        chosen = QFileDialog.getExistingDirectory(
            self._window, self.tr("Export the stack into a folder"), str(self._file.path.parent)
        )
        if chosen:
            self.export(Path(chosen))

    def export(self, folder: Path) -> None:
        """Write all pages into a folder in all formats that can be written here."""
        stack = self._stack
        if stack is None:
            return
        from segapp.io.export.stacks import STACK_FORMATS

        formats = [name for name in STACK_FORMATS if name != "mp4" or _has_films()]
        written: list[Path] = []

        def work() -> Iterator[Path | None]:
            yield from stack.export_steps(folder, formats)

        def note(path: Path | None) -> None:
            if path is not None:
                written.append(path)

        def end() -> None:
            self._bar.end_progress()
            if written:
                self.message.emit(
                    self.tr("Files written to {1}: {0}").format(len(written), folder.name)
                )

        self._bar.show_progress(self.tr("Exporting …"), 0, 0)
        self._jobs.run(work, note, self._fail, end)

    def close(self, timeout: float | None = None) -> bool:
        """Stop, and wait for the thread; return whether it has ended."""
        self._timer.stop()
        return self._jobs.close(timeout)


def _has_films() -> bool:
    from importlib.util import find_spec

    return find_spec("av") is not None
