"""Commands on objects: new, select, join, cut, accept, name, move, delete."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy
from PySide6.QtCore import QObject, QPointF, QRectF, Signal

from segapp.imaging.objects import objects_of, shaded_labels
from segapp.imaging.retouch import (
    keys_along,
    object_under,
    with_accepted,
    with_anchor,
    with_cut,
    with_joined,
    with_moved,
    with_numbers,
    without_objects,
)
from segapp.qt.canvas.brush import Tool
from segapp.qt.canvas.layers import boundary_lines
from segapp.qt.i18n import class_name
from segapp.qt.panels.object_panel import ObjectRow
from segapp.qt.session.jobs import Jobs, unexpected

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from numpy.typing import NDArray

    from segapp.model.classes import Key, ObjectInfo, ObjectMap
    from segapp.model.document import Document, Mark, Stroke
    from segapp.model.labelling import Labelling
    from segapp.qt.actions import Actions
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.panels.brush_panel import BrushState
    from segapp.qt.panels.object_panel import ObjectPanel
    from segapp.qt.session.session import Session

_SHAPES = frozenset({Tool.BOX, Tool.LASSO, Tool.POLYGON, Tool.AROUND, Tool.AROUND_BOX})
"""Tools that enclose an object, so that each shape is one."""


@dataclass(frozen=True, slots=True, eq=False)
class _Listed:
    """The objects of an answer, with their areas, colours and boxes."""

    labelling: Labelling
    found: ObjectMap
    areas: tuple[int, ...]
    colours: tuple[tuple[int, int, int], ...]
    boxes: tuple[tuple[slice, slice], ...]


def _listed(labelling: Labelling, document: Document, rgb: NDArray[np.uint8]) -> _Listed:
    found = objects_of(labelling, document, rgb)
    shaded = shaded_labels(labelling.labels, found, document.classes)
    return _Listed(
        labelling,
        found,
        tuple(np.bincount(found.index_map.ravel(), minlength=len(found.keys) + 1)[1:].tolist()),
        tuple(shaded.classes[shade].colour for shade in shaded.shades),
        tuple(scipy.ndimage.find_objects(found.index_map, max_label=len(found.keys))),
    )


class ObjectCommands(QObject):
    """The objects of the present answer, and edits of them.

    The answer's objects are listed in a thread; an edit that comes before they are is made with
    those of the answer before it.
    """

    message = Signal(str)
    selection_changed = Signal(object)  # the keys
    counted = Signal()  # the list is that of the present answer

    def __init__(
        self,
        session: Session,
        brush: BrushState,
        canvas: Canvas,
        panel: ObjectPanel,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._session, self._brush = session, brush
        self._canvas, self._panel = canvas, panel
        self._listed: _Listed | None = None
        self._pending: Labelling | None = None
        self._current: dict[int, int] = {}  # the object that is painted, by class
        self._selected: tuple[Key, ...] = ()
        self._jobs = Jobs("objects", self)
        panel.selected.connect(self.select)
        panel.activated.connect(self._go_near)
        panel.renamed.connect(self._rename)
        panel.move_requested.connect(self._move)
        canvas.select_requested.connect(self._click)
        brush.changed.connect(self._show)
        session.picture_changed.connect(self._begin)
        session.document_changed.connect(self._follow)
        session.answers.answer_changed.connect(self._follow)

    def connect_actions(self, actions: Actions) -> None:
        """Connect the commands."""
        self._actions = actions
        actions["new_object"].triggered.connect(self._new)
        actions["join_objects"].triggered.connect(lambda: self._join(self._selected))
        actions["accept_objects"].triggered.connect(self._accept)
        actions["split_class"].triggered.connect(self._split)
        actions["rename_object"].triggered.connect(self._panel.edit_name)
        actions["delete_object"].triggered.connect(self._delete)
        actions["move_object"].triggered.connect(lambda: self._move(self._brush.brush.left))
        actions["crowd_object"].triggered.connect(
            lambda on: self._flag(self.tr("crowd"), lambda info: replace(info, crowd=on))
        )
        actions["occluded_object"].triggered.connect(
            lambda on: self._flag(self.tr("occlusion"), lambda info: replace(info, occluded=on))
        )
        self._show()

    # Listing ------------------------------------------------------------------------------

    @property
    def found(self) -> ObjectMap | None:
        """The objects of the last answer, as far as they are known."""
        return self._listed.found if self._listed is not None else None

    @property
    def selected(self) -> tuple[Key, ...]:
        """The chosen objects."""
        return self._selected

    def _begin(self) -> None:
        self._jobs.cancel()
        self._listed = self._pending = None
        self._current = {}
        self.select(())
        self._show()

    def _follow(self) -> None:
        """List the objects of the answer, unless they are listed."""
        answer, document = self._session.answers.answer, self._session.document
        known = self._listed.labelling if self._listed is not None else None
        picture = self._session.picture
        if (
            answer is None
            or picture is None
            or answer.labelling is known
            or answer.labelling is self._pending
        ):
            if answer is None and self._session.answers.shown is None:
                self._listed = None
            self._show()
            return
        labelling = self._pending = answer.labelling

        def work() -> Iterator[_Listed]:
            yield _listed(labelling, document, picture.rgb)

        self._jobs.run(work, self._take, unexpected)

    def _take(self, listed: _Listed) -> None:
        self._listed, self._pending = listed, None
        self.select(key for key in self._selected if key in listed.found.keys)
        self._show()
        self.counted.emit()

    def _show(self) -> None:
        """Show the objects of the left button's class."""
        document, label = self._session.document, self._brush.brush.left
        label = min(label, len(document.classes) - 1)
        info, listed = document.classes[label], self._listed
        held = document.object_keys()
        rows = []
        if listed is not None and not info.is_background:
            for place, key in enumerate(listed.found.keys):
                if key[0] == label:
                    colour, area = listed.colours[place], listed.areas[place]
                    rows.append(_row(document, key, colour, area, held=key in held))
        names = [class_name(each.name) for each in document.classes]
        self._panel.show_objects(names[label], rows, names)
        self._panel.choose(self._selected)
        if hasattr(self, "_actions"):
            self._enable(info.split, is_background=info.is_background)

    def _enable(self, split: bool, *, is_background: bool) -> None:  # noqa: FBT001
        actions, document = self._actions, self._session.document
        is_open = self._session.picture is not None
        actions.enable("new_object", "split_class", when=is_open and not is_background)
        actions["split_class"].setChecked(split and not is_background)
        actions.enable("accept_objects", when=self._listed is not None)
        chosen = [document.object_info(key) for key in self._selected]
        actions.enable("join_objects", when=len(chosen) > 1)
        one_or_more = "rename_object move_object delete_object crowd_object occluded_object"
        actions.enable(*one_or_more.split(), when=bool(chosen))
        actions["crowd_object"].setChecked(bool(chosen) and all(each.crowd for each in chosen))
        occluded = bool(chosen) and all(each.occluded for each in chosen)
        actions["occluded_object"].setChecked(occluded)

    # Selection ----------------------------------------------------------------------------

    def select(self, keys: Collection[Key] | Iterator[Key]) -> None:
        """Choose objects, and go on painting a single one."""
        self._selected = tuple(keys)
        if len(self._selected) == 1:
            label, number = self._selected[0]
            self._current[label] = number
            if self._brush.brush.left != label:
                self._brush.choose_left(label)
        self._outline()
        self._show()
        self.selection_changed.emit(self._selected)

    def _click(self, at: QPointF, add: bool) -> None:  # noqa: FBT001 - a Qt slot
        found = self.found
        if found is None:
            self.message.emit(self.tr("There is no result yet whose objects could be chosen"))
            return
        x, y = int(at.x()), int(at.y())
        height, width = found.index_map.shape
        key = found.at(x, y) if 0 <= x < width and 0 <= y < height else None
        if key is None:
            self.select(self._selected if add else ())
        elif not add:
            self.select((key,))
        elif key in self._selected:
            self.select(each for each in self._selected if each != key)
        else:
            self.select((*self._selected, key))

    def _outline(self) -> None:
        """Show the contours of the chosen objects."""
        listed = self._listed
        lines: tuple[object, ...] = ()
        if listed is not None:
            for place, key in enumerate(listed.found.keys):
                if key in self._selected:
                    rows, columns = listed.boxes[place]
                    mask = listed.found.index_map[rows, columns] == place + 1
                    lines = (*lines, *boundary_lines(mask, columns.start, rows.start))
        self._canvas.set_selection(lines)  # type: ignore[arg-type] # of QLineF

    def _go_near(self, key: Key) -> None:
        listed = self._listed
        if listed is not None and key in listed.found.keys:
            rows, columns = listed.boxes[listed.found.keys.index(key)]
            size = columns.stop - columns.start, rows.stop - rows.start
            self._canvas.viewport.show_box(QRectF(columns.start, rows.start, *size))

    # Marks --------------------------------------------------------------------------------

    def numbered(self, document: Document, marks: tuple[Mark, ...]) -> Document:
        """Add marks of the canvas to the object that is painted, or a shape to its own.

        A shape that lies in an object goes on with it, any other one begins a new one.
        """
        for mark in marks:
            label = mark.label
            if label is None or document.classes[label].is_background:
                document = document.with_stroke(mark)
                continue
            number = self._current.get(label, 0)
            if self._brush.brush.tool in _SHAPES:
                under = None if self.found is None else object_under(mark, self.found, label)
                number = self._next(document, label) if under is None else under[1]
                self._current[label] = number
            if number and self.found is not None and not self._holds(document, label):
                document = with_numbers(document, self.found, label)
            document = document.with_stroke(replace(mark, object_number=number))
        return document

    def _holds(self, document: Document, label: int) -> bool:
        return any(own == label for own, _ in document.object_keys())

    def _next(self, document: Document, label: int) -> int:
        """Return a number that no object of a class has, held or proposed."""
        proposed = [key[1] for key in (self.found.keys if self.found else ()) if key[0] == label]
        return max(document.next_object(label), 1 + max(proposed, default=0))

    def draw_line(self, line: Stroke) -> None:
        """Cut objects along a line, or join them where it erases."""
        found, document = self.found, self._session.document
        self._canvas.set_document(document)  # without the line
        if found is None:
            self.message.emit(self.tr("There is no result yet whose objects could be cut"))
            return
        keys = keys_along(line, found)
        if line.label is None:
            labels = [key[0] for key in keys]
            label = max(labels, key=labels.count, default=0)
            self._join([key for key in keys if key[0] == label])
        elif keys:
            cut = replace(line, label=None)
            self._session.edit(self.tr("cutting objects"), with_cut(document, found, cut))
        else:
            self.message.emit(self.tr("Draw the line across objects"))

    def _new(self) -> None:
        """Let the next stroke begin a new object of the left button's class."""
        document, label = self._session.document, self._brush.brush.left
        self._current[label] = self._next(document, label)
        self.select(())
        if self._brush.brush.tool in (Tool.SELECT, Tool.CUT):
            self._brush.set_tool(Tool.BRUSH)
        name = class_name(document.classes[label].name)
        self.message.emit(self.tr("Paint {} {}").format(name, self._current[label]))

    # Edits --------------------------------------------------------------------------------

    def _join(self, keys: Collection[Key]) -> None:
        found, document = self.found, self._session.document
        if found is None or len(keys) < 2 or len({key[0] for key in keys}) != 1:
            self.message.emit(self.tr("Choose several objects of one class to join them"))
            return
        joined = with_joined(document, found, keys)
        self._session.edit(self.tr("joining objects"), joined)
        self.select(key for key in keys if key in joined.object_keys())

    def _accept(self) -> None:
        if self.found is not None:
            label = self._brush.brush.left
            accepted = with_accepted(self._session.document, self.found, label)
            self._session.edit(self.tr("accepting objects"), accepted)

    def _split(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot
        document, label = self._session.document, self._brush.brush.left
        info = replace(document.classes[label], split=on)
        name = self.tr("necks of {}").format(class_name(info.name))
        self._session.edit(name, document.with_class_changed(label, info))

    def _rename(self, key: Key, name: str) -> None:
        self._change(self.tr("naming an object"), (key,), lambda info: replace(info, name=name))

    def _flag(self, title: str, change: Callable[[ObjectInfo], ObjectInfo]) -> None:
        self._change(title, self._selected, change)

    def _change(
        self, title: str, keys: Collection[Key], change: Callable[[ObjectInfo], ObjectInfo]
    ) -> None:
        document = self._session.document
        for key in keys:
            if self.found is not None:
                document = with_anchor(document, self.found, key)
            document = document.with_object(change(document.object_info(key)))
        self._session.edit(title, document)

    def _move(self, label: int) -> None:
        document = self._session.document
        keys = [key for key in self._selected if key[0] != label]
        if not keys:
            self.message.emit(self.tr("Choose another class by its digit, then move the objects"))
            return
        for key in keys:
            if self.found is not None and key in self.found.keys:
                document = with_moved(document, self.found, key, label)
        self._session.edit(self.tr("moving objects"), document)
        self.select(())

    def _delete(self) -> None:
        if self.found is not None and self._selected:
            left = without_objects(self._session.document, self.found, self._selected)
            self._session.edit(self.tr("deleting objects"), left)
            self.select(())

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the thread; return whether it has ended."""
        return self._jobs.close(timeout)


def _row(
    document: Document, key: Key, colour: tuple[int, int, int], area: int, *, held: bool
) -> ObjectRow:
    info = document.object_info(key)
    title = info.name or f"{class_name(document.classes[key[0]].name)} {key[1]}"
    return ObjectRow(key, title, info.name, colour, area, info.crowd, info.occluded, held)
