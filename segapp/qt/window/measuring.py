"""Measures the parts of the present answer while somebody looks at the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QRectF, Signal

from segapp.files.export import formats
from segapp.files.export.measures import columns, parts_of, rows
from segapp.qt.canvas.selection import outline_of
from segapp.qt.files import file_dialogs
from segapp.qt.files.default_folder import saving_folder
from segapp.qt.files.remembered_choices import remember_choices, remembered_choices
from segapp.qt.panels.measures_panel import MeasuresPanel
from segapp.qt.session.jobs import Jobs, details_of
from segapp.values.export_choices import ExportChoices
from segapp.values.wording import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from PySide6.QtWidgets import QMainWindow

    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session
    from segapp.qt.window.docks import Docks
    from segapp.values.measures import Part, Parts
    from segapp.values.updates import Answer

    _Measured = tuple[Answer, bool]
    """What was measured, and whether touching parts were split."""


class Measuring(QObject):
    """Fills the table in a thread; a hidden one costs nothing, an old answer shows nothing."""

    said = Signal(str)

    def __init__(
        self,
        session: Session,
        preferences: Preferences,
        docks: Docks,
        canvas: Canvas,
        window: QMainWindow,
    ) -> None:
        super().__init__(window)
        self._session, self._preferences = session, preferences
        self._canvas, self._window = canvas, window
        self.panel = MeasuresPanel()
        self.dock = docks.add_tab(window, "measures", self.tr("Measures"), self.panel)
        self._measured: tuple[_Measured, Parts] | None = None
        self._under_way: _Measured | None = None
        self._jobs = Jobs("measures", self)
        self._jobs.arrived.connect(self._take)
        self._jobs.failed.connect(self._fail)
        self._writing = Jobs("measures file", self)
        self._writing.arrived.connect(self._tell_written)
        self._writing.failed.connect(self._fail)
        self._show_choices()
        panel = self.panel
        panel.shown.connect(self._show_choices)
        panel.shown.connect(self.measure)
        panel.choices_changed.connect(self._choose)
        panel.part_chosen.connect(self._outline)
        panel.part_wanted.connect(self._go_near)
        panel.export_wanted.connect(self._export)
        session.answers.answer_changed.connect(self.measure)
        session.document_changed.connect(self.measure)

    def measure(self) -> None:
        """Measure the present answer, unless nobody looks or that is done already."""
        if not self.panel.isVisible():
            return
        answer, picture = self._session.answers.answer, self._session.picture
        if answer is None or picture is None:
            self._jobs.cancel()
            self._measured = self._under_way = None
            self.panel.withdraw(self.tr("There is no answer to measure."))
            return
        split, document = self._choices.split, self._session.document
        if self._measured is not None and self._measured[0] == (answer, split):
            return
        if self._under_way == (answer, split) and self._jobs.busy:
            return
        self._under_way = (answer, split)
        self.panel.withdraw(self.tr("Measuring …"))

        def work() -> Iterator[object]:
            yield (answer, split), parts_of(answer.labelling, document, picture, split=split)

        self._jobs.start(work)

    def close(self, timeout: float | None = None) -> bool:
        """Stop the threads and wait so long; say whether they have ended."""
        ended = [jobs.close(timeout) for jobs in (self._jobs, self._writing)]
        return all(ended)

    def _take(self, ticket: int, measured: tuple[_Measured, Parts]) -> None:
        del ticket
        self._measured = measured
        self._show()

    def _show(self) -> None:
        picture = self._session.picture
        if self._measured is not None and picture is not None:
            scale = self._choices.scale
            listed = list(rows(self._measured[1], self._session.document, scale))
            self.panel.show_rows(columns(scale, picture), listed)

    def _show_choices(self) -> None:
        """Take what was chosen here or elsewhere last."""
        self._choices = remembered_choices(self._preferences)
        self.panel.scale_box.show_choice(self._choices.scale, split=self._choices.split)

    def _choose(self) -> None:
        box = self.panel.scale_box
        self._choices = ExportChoices(self._choices.edge, box.scale, split=box.split.isChecked())
        remember_choices(self._preferences, self._choices)
        self._show()
        self.measure()

    def _outline(self, part: Part | None) -> None:
        """Show where a part is."""
        if part is None or self._measured is None:
            self._canvas.set_selection(())
            return
        parts = self._measured[1]
        left, top, width, height = part.box
        box = parts.index_map[top : top + height, left : left + width]
        self._canvas.set_selection(outline_of(box == parts.parts.index(part), left, top))
        self._canvas.viewport.bring_box_into_sight(QRectF(left, top, width, height))

    def _go_near(self, part: Part | None) -> None:
        if part is not None:
            self._canvas.viewport.show_box(QRectF(*part.box))

    def _export(self) -> None:
        answer, picture, state = (
            self._session.answers.answer,
            self._session.picture,
            self._session.state,
        )
        if answer is None or picture is None or state is None:
            return
        folder = saving_folder(state.path, self._preferences.folder("export/folder"))
        proposed = folder / f"{state.path.stem}-measures.csv"
        path = file_dialogs.ask_table(self._window, proposed)
        if path is None:
            return
        self._preferences.set_folder("export/folder", path.parent)
        form, document = formats(self._choices)["measures"], self._session.document

        def work() -> Iterator[object]:
            (written,) = form.write(path, answer.labelling, document, picture)
            yield written

        self._writing.start(work)

    def _tell_written(self, ticket: int, path: Path) -> None:
        del ticket
        self.said.emit(self.tr("Wrote {}").format(shown(path.name)))

    def _fail(self, ticket: int, error: Exception) -> None:
        del ticket
        sentence = str(error) or type(error).__name__
        file_dialogs.complain(self._window, sentence, details_of(error))
