"""Commands on strokes, retouches and locks, and those of the Cut-Out view."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

from PySide6.QtCore import QObject, QPointF, Qt, Signal
from PySide6.QtWidgets import QMessageBox

from segapp.engine.suggestion import suggests_many_objects
from segapp.imaging.overlay import ViewMode
from segapp.imaging.rasterise import outline_marks, rasterize_marks
from segapp.imaging.retouch import class_lock, component_fill, component_lock
from segapp.io.masks import load_mask, mark_with_mask, retouch_with_mask
from segapp.model.document import NO_MARKS, Patch, Stroke
from segapp.model.settings import preset_of, preset_with
from segapp.model.validation import SegappError, sanitize
from segapp.qt.canvas.brush import BrushTarget, Tool
from segapp.qt.canvas.layers import boundary_lines
from segapp.qt.files import file_dialogs
from segapp.qt.files.preferences import opening_folder, remember_choices, remembered_choices
from segapp.qt.session.jobs import Jobs, unexpected
from segapp.qt.widgets import Banner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from segapp.io.masks import Mask
    from segapp.model.document import Document, Mark
    from segapp.model.picture import Picture
    from segapp.qt.actions import Actions
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.panels.brush_panel import BrushState
    from segapp.qt.panels.view_bar import CutoutBar
    from segapp.qt.session.session import Session
    from segapp.qt.window.labelling_view import LabellingView
    from segapp.qt.window.object_commands import ObjectCommands


class MarkCommands(QObject):
    """Commands that add marks from the canvas or a file, and lock parts of the answer."""

    message = Signal(str)

    def __init__(
        self, session: Session, brush: BrushState, objects: ObjectCommands, window: QWidget
    ) -> None:
        super().__init__(window)
        self._session, self._brush, self._window = session, brush, window
        self._objects = objects
        self._pointer: QPointF | None = None

    def connect_actions(self, actions: Actions) -> None:
        """Connect the commands."""
        targets = {"retouch": BrushTarget.RESULT, "refine_edge": BrushTarget.HAIR}
        for name, target in targets.items():
            actions[name].toggled.connect(partial(self._aim, target))
        actions["lock_class"].triggered.connect(self.lock_class)
        actions["lock_part"].triggered.connect(self.lock_part)
        actions["drop_retouches"].triggered.connect(self.drop_retouches)
        actions["import_mask"].triggered.connect(self._import_mask)

    def _aim(self, target: BrushTarget, on: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Paint another part of the document, or the strokes again."""
        if on or self._brush.brush.target is target:
            self._brush.set_target(target if on else BrushTarget.STROKES)

    def take(self, mark: Mark) -> None:
        """Add a mark of the canvas as a stroke, a retouch or hair."""
        brush = self._brush.brush
        if brush.target is BrushTarget.RESULT:
            self._retouch(mark)
            return
        if brush.target is BrushTarget.HAIR:
            label = None if mark.label in (None, brush.right) else 0
            document = self._session.document.with_hair(replace(mark, label=label))
            self._session.edit(self.tr("refining the edge"), document)
            return
        if brush.tool is Tool.CUT:
            if isinstance(mark, Stroke):
                self._objects.draw_line(mark)
            return
        if self._is_outline(mark):
            classes, other = self._session.document.classes, self._inside_label(mark)
            name = self.tr("drawing around {}").format(classes[other].name)
            self._session.edit(name, self.with_mark(mark))
        else:
            self._session.add_stroke(mark, self.with_mark(mark))

    def with_mark(self, mark: Mark) -> Document:
        """Return the document with a mark of the canvas, which may be an outline."""
        document, picture = self._session.document, self._session.picture
        marks: tuple[Mark, ...] = (mark,)
        if picture is not None and self._is_outline(mark):
            marks = outline_marks(document, mark, picture.size, self._inside_label(mark))
        return self._objects.numbered(document, marks)

    def _is_outline(self, mark: Mark) -> TypeGuard[Patch]:
        around = self._brush.brush.tool in (Tool.AROUND, Tool.AROUND_BOX)
        return around and isinstance(mark, Patch)

    def _inside_label(self, outside: Patch) -> int:
        brush = self._brush.brush
        return brush.left if outside.label == brush.right else brush.right

    def fill(self, at: QPointF, label: int | None) -> None:
        """Mark the connected component of the answer at a point with a class."""
        answer, picture = self._session.answers.answer, self._session.picture
        if picture is None:
            return
        if answer is None:
            self.message.emit(self.tr("There is no result to fill yet"))
            return
        pixel = _pixel(at, picture)
        if pixel is not None:
            self.take(component_fill(answer.labelling.labels, *pixel, label))

    def point(self, at: QPointF | None) -> None:
        """Set the pointer's position in the picture, None outside of it."""
        self._pointer = at

    def lock_class(self) -> None:
        """Keep the answer's pixels of the left button's class."""
        answer, index = self._session.answers.answer, self._brush.brush.left
        name = self._session.document.classes[index].name
        if answer is None or not (answer.labelling.labels == index).any():
            self.message.emit(self.tr("{} has no pixels to lock").format(name))
            return
        self._session.edit(
            self.tr("locking {}").format(name),
            self._session.document.with_retouch(class_lock(answer.labelling.labels, index)),
        )
        self.message.emit(self.tr("{} stays unchanged").format(name))

    def lock_part(self) -> None:
        """Keep the answer's connected component under the pointer."""
        answer, picture = self._session.answers.answer, self._session.picture
        pixel = None
        if self._pointer is not None and picture is not None:
            pixel = _pixel(self._pointer, picture)
        if answer is None or pixel is None:
            self.message.emit(self.tr("Point at a part of the result, and press the key again"))
            return
        mark = component_lock(answer.labelling.labels, *pixel)
        document = self._session.document
        name = document.classes[int(answer.labelling.labels[pixel[1], pixel[0]])].name
        self._session.edit(
            self.tr("locking a part of {}").format(name), document.with_retouch(mark)
        )
        self.message.emit(self.tr("This part of {} stays unchanged").format(name))

    def drop_retouches(self) -> None:
        """Remove all retouches and locks."""
        self._session.edit(
            self.tr("dropping retouches"), replace(self._session.document, retouches=NO_MARKS)
        )

    def _retouch(self, mark: Mark) -> None:
        self._session.edit(self.tr("retouching"), self._session.document.with_retouch(mark))

    def _import_mask(self) -> None:
        state, picture = self._session.state, self._session.picture
        if state is None or picture is None:
            return
        title = self.tr("Import mask")
        path = file_dialogs.ask_mask(self._window, title, opening_folder(state.path))
        if path is None:
            return
        try:
            mask = load_mask(path, state.path, picture.size)
            chosen = self._ask_use(sanitize(path.name))
            if chosen is None:
                return
            document = chosen(self._session.document, mask)
        except SegappError as error:
            file_dialogs.complain(self._window, str(error))
            return
        self._session.edit(self.tr("importing {}").format(sanitize(path.name)), document)

    def _ask_use(self, name: str) -> Callable[[Document, Mask], Document] | None:
        """Ask whether a mask becomes a retouch or marks to learn from."""
        box = QMessageBox(self._window)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setWindowTitle(self.tr("Import mask"))
        box.setText(self.tr("How should {} be used?").format(name))
        box.setInformativeText(
            self.tr(
                "As it is: painted over the result, pixel by pixel. As marks: the "
                "inside of each part is learnt from, and outlines are found again."
            )
        )
        as_it_is = box.addButton(self.tr("As It Is"), QMessageBox.ButtonRole.AcceptRole)
        as_marks = box.addButton(self.tr("As Marks"), QMessageBox.ButtonRole.AcceptRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(as_it_is)
        box.exec()
        if box.clickedButton() is as_it_is:
            return retouch_with_mask
        return mark_with_mask if box.clickedButton() is as_marks else None


def _pixel(at: QPointF, picture: Picture) -> tuple[int, int] | None:
    """Return ``x`` and ``y`` of the pixel at a point; None outside of the picture."""
    height, width = picture.size
    x, y = math.floor(at.x()), math.floor(at.y())
    return (x, y) if 0 <= x < width and 0 <= y < height else None


class AlikeSuggestion(QObject):
    """Suggestion of the preset "alike" for pictures with many small marked objects.

    It is made once for each picture. A thread counts the objects; any change cancels it.
    """

    def __init__(self, session: Session, canvas: QWidget) -> None:
        super().__init__(canvas)
        self._session = session
        self.banner = Banner(canvas, Qt.AlignmentFlag.AlignBottom)
        self._declined: set[Path] = set()  # and accepted ones
        self._jobs = Jobs("marks alike", self)
        session.answers.answer_changed.connect(self._check)
        session.settings_changed.connect(self._check)
        session.document_changed.connect(self._jobs.cancel)
        session.picture_changed.connect(self._reset)

    def close(self, timeout: float | None = None) -> bool:
        """Stop the thread, wait for it, and return whether it has ended."""
        return self._jobs.close(timeout)

    def _check(self) -> None:
        state, answer = self._session.state, self._session.answers.answer
        self._jobs.cancel()
        if state is None or state.path in self._declined:
            return
        if preset_of(self._session.settings) != "best":
            self.banner.hide()
        elif answer is not None and not self.banner.isVisible():
            document, labels = self._session.document, answer.labelling.labels

            def work() -> Iterator[bool]:
                yield suggests_many_objects(document, labels)

            self._jobs.run(work, self._suggest, unexpected)  # no error is the user's

    def _suggest(self, many: bool) -> None:  # noqa: FBT001 - the item of a job
        if many:
            self.banner.ask(
                self.tr("Many small marks: find everything similar?"),
                (
                    (self.tr("Find all similar"), lambda: self._answer(wanted=True)),
                    (self.tr("No"), lambda: self._answer(wanted=False)),
                ),
            )

    def _reset(self) -> None:
        self._jobs.cancel()
        self.banner.hide()

    def _answer(self, *, wanted: bool) -> None:
        self._jobs.cancel()
        if self._session.state is not None:
            self._declined.add(self._session.state.path)
        if wanted:
            self._session.set_settings(preset_with("alike", self._session.settings))


class CutoutCommands(QObject):
    """The choices of the Cut-Out view, which exports share, and its brush for hair."""

    def __init__(
        self,
        session: Session,
        preferences: Preferences,
        view: LabellingView,
        canvas: Canvas,
        brush: BrushState,
        bar: CutoutBar,
    ) -> None:
        super().__init__(bar)
        self._session, self._preferences, self._view = session, preferences, view
        self._canvas, self._brush, self._bar = canvas, brush, bar
        self._outlined = False
        bar.changed.connect(self._choose)
        brush.changed.connect(self._show_hair)
        session.document_changed.connect(self._show_hair)

    def connect_actions(self, actions: Actions) -> None:
        """Connect the commands."""
        refine = actions["refine_edge"]
        refine.toggled.connect(self._show_cutout)
        self._view_action = actions["view_cut-out"]
        for mode in ViewMode:
            if mode is not ViewMode.CUTOUT:
                actions[f"view_{mode.value}"].triggered.connect(lambda: refine.setChecked(False))
        actions["drop_hair"].triggered.connect(self._drop_hair)
        self.show_choices()

    def show_choices(self) -> None:
        """Show the stored choices, after an export has changed them."""
        choices = remembered_choices(self._preferences)
        self._bar.edge.show_choice(choices.edge)
        self._bar.backdrop.show_choice(choices.backdrop)
        self._view.set_cutout(choices)

    def _choose(self) -> None:
        choices = replace(
            remembered_choices(self._preferences),
            edge=self._bar.edge.edge,
            backdrop=self._bar.backdrop.backdrop,
        )
        remember_choices(self._preferences, choices)
        self._view.set_cutout(choices)

    def _show_cutout(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Show the cut-out when its brush is chosen, as nothing else shows what it does."""
        if on:
            self._view_action.trigger()

    def _drop_hair(self) -> None:
        document = replace(self._session.document, hair=())
        self._session.edit(self.tr("dropping hair"), document)

    def _show_hair(self) -> None:
        """Outline what is painted as hair while its brush is chosen."""
        picture, hair = self._session.picture, self._session.document.hair
        on = self._brush.brush.target is BrushTarget.HAIR
        if on and picture is not None and hair:
            painted = rasterize_marks(hair, picture.size) >= 0
            self._canvas.set_selection(boundary_lines(painted, 0, 0))
        elif self._outlined:
            self._canvas.set_selection(())
        self._outlined = on
