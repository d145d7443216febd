"""Export dialog with its options, and the choices of a cut-out."""

from __future__ import annotations

import os
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QLocale, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import (
    QColorDialog,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMessageBox,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from segapp.app.project_store import documents_folder
from segapp.app.state import Stage
from segapp.imaging.matting import MAX_EDGE_WIDTH
from segapp.io.export.formats import DEFAULT_EXPORT, FORMATS, ExportChoices, ExportFormat, formats
from segapp.io.export.rasters import Backdrop, backdrop_pixels
from segapp.model.picture import PIXELS
from segapp.model.validation import SegappError, sanitize
from segapp.qt.dialogs.export_preview import (
    FilePreview,
    FilePreviewBox,
    coarse_preview,
    file_previews,
)
from segapp.qt.files import file_dialogs
from segapp.qt.i18n import as_plain, class_name, translate
from segapp.qt.session.jobs import Jobs
from segapp.qt.widgets import ScaleBox, ScopeBox, WrappingRow, open_at
from shlcore.atomic_file import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segapp.model.classes import ClassInfo
    from segapp.qt.session.session import Session


_WIDTH = 10.0  # pixels of an edge at first


class Edge(Enum):
    """Kinds of edges of a cut-out."""

    AUTOMATIC = "automatic"
    HARD = "hard"
    WIDTH = "width"


class EdgeBox(QWidget):
    """Editor of the width of a soft edge."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.kind = QComboBox()
        self.kind.setAccessibleName(self.tr("Edge"))
        self.kind.setToolTip(self.tr("Edge of the cut-out: hard or soft"))
        for kind, text in (
            (Edge.AUTOMATIC, self.tr("Soft (automatic)")),
            (Edge.HARD, self.tr("Hard")),
            (Edge.WIDTH, self.tr("Soft within")),
        ):
            self.kind.addItem(text, kind)
        self.width_box = QDoubleSpinBox()
        self.width_box.setRange(0.5, MAX_EDGE_WIDTH)
        self.width_box.setDecimals(1)
        self.width_box.setValue(_WIDTH)
        self.width_box.setSuffix(self.tr(" px"))
        self.width_box.setKeyboardTracking(False)
        self.width_box.setAccessibleName(self.tr("Width of the edge"))
        self.width_box.setToolTip(self.tr("Pixels on either side of the outline"))
        row = _row(self)
        row.addWidget(QLabel(self.tr("Edge")))
        row.addWidget(self.kind)
        row.addWidget(self.width_box)
        self._show_width()
        self.kind.currentIndexChanged.connect(self._show_width)
        self.kind.currentIndexChanged.connect(lambda _: self.changed.emit())
        self.width_box.valueChanged.connect(lambda _: self.changed.emit())

    @property
    def edge(self) -> float | None:
        """The chosen width; 0 is hard, and ``None`` follows the image's size."""
        kind = self.kind.currentData()
        return {Edge.AUTOMATIC: None, Edge.HARD: 0.0}.get(kind, self.width_box.value())

    def show_choice(self, edge: float | None) -> None:
        """Show a width without emitting `changed`."""
        kind = Edge.AUTOMATIC if edge is None else Edge.WIDTH if edge else Edge.HARD
        with QSignalBlocker(self.kind), QSignalBlocker(self.width_box):
            self.kind.setCurrentIndex(list(Edge).index(kind))
            self.width_box.setValue(edge or self.width_box.value())
        self._show_width()

    def _show_width(self) -> None:
        self.width_box.setVisible(self.kind.currentData() is Edge.WIDTH)


class BackdropBox(QWidget):
    """Choice of the background that a cut-out is put before."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.backdrop: Backdrop | None = None
        self.choice = QComboBox()
        self.choice.setAccessibleName(self.tr("Background"))
        self.choice.setToolTip(self.tr("Background of the cut-out, here and in the file"))
        for text, backdrop in (
            (self.tr("Transparent"), None),
            (self.tr("White"), (255, 255, 255)),
            (self.tr("Black"), (0, 0, 0)),
        ):
            self.choice.addItem(text, backdrop)
        self._colour = self.choice.count()
        self.choice.addItem(self.tr("Colour…"))
        self.choice.addItem(self.tr("Image…"))
        self.choice.activated.connect(self._choose)
        row = _row(self)
        row.addWidget(QLabel(self.tr("Background")))
        row.addWidget(self.choice)

    def show_choice(self, backdrop: Backdrop | None) -> None:
        """Show a background without emitting `changed`."""
        self.backdrop = backdrop
        image = isinstance(backdrop, Path)
        name = sanitize(backdrop.name) if isinstance(backdrop, Path) else self.tr("Image…")
        self.choice.setItemText(self._colour + 1, name)
        fixed = [self.choice.itemData(row) for row in range(self._colour)]
        row = self._colour + image if backdrop not in fixed else fixed.index(backdrop)
        self.choice.setCurrentIndex(row)

    def _choose(self, row: int) -> None:
        chosen: Backdrop | None = self.backdrop
        if row < self._colour:
            chosen = self.choice.itemData(row)
        elif row == self._colour:
            chosen = self._ask_colour() or chosen
        else:
            chosen = self._ask_image() or chosen
        changed = chosen != self.backdrop
        self.show_choice(chosen)
        if changed:
            self.changed.emit()

    def _ask_colour(self) -> Backdrop | None:
        last = self.backdrop if isinstance(self.backdrop, tuple) else (64, 160, 64)
        colour = QColorDialog.getColor(QColor(*last), self, self.tr("Background"))
        return (colour.red(), colour.green(), colour.blue()) if colour.isValid() else None

    def _ask_image(self) -> Backdrop | None:
        last = self.backdrop.parent if isinstance(self.backdrop, Path) else documents_folder()
        path = file_dialogs.ask_image(self, self.tr("Background"), last)
        if path is None:
            return None
        try:
            backdrop_pixels(path, (1, 1))
        except SegappError as error:
            QMessageBox.warning(self, self.tr("Background"), translate(error))
            return None
        return path.absolute()


def _row(holder: QWidget) -> QHBoxLayout:
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    return row


SOFT = ("cutout", "alpha")
"""The formats with a soft edge."""
IN_UNITS = ("measures", "labels", "labels-ome", "overlay")
"""The formats that tell the size of a pixel."""
OF_OBJECTS = ("mask", *SOFT)
"""The formats of a chosen class."""
_N_OBJECT_CHOICES = 3  # with two classes, which leave no choice


class ExportChoicesBox(QWidget):
    """Editors of the options of a format."""

    changed = Signal()

    def __init__(
        self,
        choices: ExportChoices,
        classes: Sequence[ClassInfo] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.scale_box = ScaleBox()
        self._scale = choices.scale or PIXELS
        self.scale_box.show_scale(self._scale)
        self.edge, self.backdrop = EdgeBox(), BackdropBox()
        self.edge.show_choice(choices.edge)
        self.backdrop.show_choice(choices.backdrop)
        self._only_row = self._make_only_row(classes)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        style = WrappingRow()
        self.per = ScopeBox(choices.per)
        for part in (self.per, self._only_row, self.edge, self.backdrop):
            style.add(part)
        column.addWidget(style)
        column.addWidget(self.scale_box)
        for editor in (self.scale_box, self.edge, self.backdrop):
            editor.changed.connect(self.changed)
        self.per.currentIndexChanged.connect(lambda _: self.changed.emit())

    def _make_only_row(self, classes: Sequence[ClassInfo]) -> QWidget:
        self.only = QComboBox()
        self.only.setAccessibleName(self.tr("Object"))
        self.only.setToolTip(self.tr("Class that is white, or cut out"))
        self.only.addItem(self.tr("Everything but the background"), None)
        for info in classes:
            self.only.addItem(class_name(info.name), info.name)
        self.only.currentIndexChanged.connect(lambda _: self.changed.emit())
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(QLabel(self.tr("Object")))
        row.addWidget(self.only)
        return holder

    @property
    def choices(self) -> ExportChoices:
        """The chosen options."""
        box, own, only = self.scale_box, self._scale, self.only.currentData()
        typed = box.scale if (box.scale.pixel, box.scale.unit) != (own.pixel, own.unit) else own
        scale = None if typed == PIXELS else typed
        return ExportChoices(self.edge.edge, scale, only, self.backdrop.backdrop, self.per.scope)

    def show_for(self, form: str) -> None:
        """Show the options of a format."""
        of_objects = form in OF_OBJECTS and self.only.count() > _N_OBJECT_CHOICES
        self._only_row.setVisible(of_objects)
        per_region = FORMATS[form].per_region
        self.per.setVisible(per_region)
        self.edge.setVisible(form in SOFT)
        self.backdrop.setVisible(form == "cutout")
        self.scale_box.setVisible(form in IN_UNITS)
        self.setVisible(per_region or of_objects or form in SOFT or form in IN_UNITS)


# Milliseconds between checks whether the threads of a closed dialog have ended.
_PAUSE = 20


class ExportDialog(QDialog):
    """Export of the session's answer, which is updated first if it is outdated."""

    exported = Signal(object, str)  # paths written, name of the format
    threads_ended = Signal()  # after closing

    def __init__(
        self,
        session: Session,
        folder: Path,
        form: str,
        choices: ExportChoices = DEFAULT_EXPORT,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Export"))
        self._session = session
        self._folder = folder
        self._edited = False  # whether the user has chosen a file name
        self._content: bytes | None = None  # of the previewed file, if it took long
        self._proposed, self._proposed_text = folder, ""
        self._jobs = Jobs("export preview", self)
        self._writing = Jobs("export", self)
        if session.picture is not None:
            choices = replace(choices, scale=session.picture.scale)
        self.choices_box = ExportChoicesBox(choices, session.document.classes)
        self.choices_box.changed.connect(self._refresh)
        self._build()
        names = list(FORMATS)
        self._list.setCurrentRow(names.index(form) if form in names else 0)
        session.answers.answer_changed.connect(self._refresh)
        session.answers.progress_changed.connect(self._tell_state)
        if not session.answers.is_current and session.answers.progress.stage is not Stage.RUNNING:
            session.answers.update_now()  # the modal dialog blocks the command
        self._path.setFocus()
        self._path.selectAll()

    def _build(self) -> None:
        self._list = QListWidget()
        self._list.setAccessibleName(self.tr("Formats"))
        self._list.setAccessibleDescription(self.tr("Kind of file to write"))
        for form in FORMATS.values():
            item = QListWidgetItem(translate(form.title))
            item.setToolTip(translate(form.values))
            self._list.addItem(item)
        self._list.setSpacing(3)
        self._list.setFixedWidth(self._list.sizeHintForColumn(0) + 28)
        self._list.currentRowChanged.connect(self._choose)
        columns = QHBoxLayout()
        columns.setSpacing(14)
        columns.addWidget(self._list)
        columns.addLayout(self._details(), 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self._export = buttons.addButton(self.tr("Export"), QDialogButtonBox.ButtonRole.AcceptRole)
        self._export.setDefault(True)
        self._export.setToolTip(self.tr("Write the file and close"))
        buttons.accepted.connect(self._write)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 14, 14, 12)
        layout.setSpacing(12)
        layout.addLayout(columns, 1)
        layout.addWidget(buttons)
        open_at(self, 760, 480)

    def _details(self) -> QVBoxLayout:
        self._preview = FilePreviewBox()
        self._values, self._files, self._state = QLabel(), QLabel(), QLabel()
        for label in (self._values, self._files, self._state):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)  # with names of files
        self._path = QLineEdit()
        self._path.setAccessibleName(self.tr("File to write"))
        self._path.setAccessibleDescription(self.tr("A path; a missing suffix is added"))
        self._path.textEdited.connect(self._note_edit)
        self._path.textChanged.connect(self._tell_state)
        browse = QPushButton(self.tr("Browse…"))
        browse.setToolTip(self.tr("Choose where to save the file"))
        browse.clicked.connect(self._browse)
        browse.setAutoDefault(False)
        line = QHBoxLayout()
        line.addWidget(self._path, 1)
        line.addWidget(browse)
        rows = QFormLayout()
        rows.addRow(self.tr("Values"), self._values)
        rows.addRow(self.tr("Size"), self._files)
        rows.addRow(self.tr("File"), line)
        column = QVBoxLayout()
        column.setSpacing(10)
        column.addWidget(self._preview, 1)
        column.addWidget(self.choices_box)
        column.addLayout(rows)
        column.addWidget(self._state)
        return column

    @property
    def form(self) -> ExportFormat:
        """The chosen format, with its choices made."""
        named = formats(self.choices_box.choices)
        return list(named.values())[max(self._list.currentRow(), 0)]

    def _stem(self) -> str:
        state = self._session.state
        return state.path.stem if state is not None else "answer"

    def _choose(self) -> None:
        self._values.setText(translate(self.form.values))
        self.choices_box.show_for(self.form.name)
        if self._edited and self._path.text().strip():
            path = Path(self._path.text().strip())
            if path.suffix.lower() in {form.suffix for form in FORMATS.values()}:
                self._path.setText(str(path.with_suffix(self.form.suffix)))
        else:
            name = f"{self._stem()}-{self.form.name}{self.form.suffix}"
            self._proposed = self._folder / name
            self._path.setText(str(self._proposed))
            self._proposed_text = self._path.text()
        self._preview.show_preview(None, self.tr("Making the preview …"))
        self._files.clear()
        self._refresh()

    def _note_edit(self) -> None:
        self._edited = True

    def _refresh(self) -> None:
        """Make the preview of the present answer in the chosen format."""
        self._content = None
        self._tell_state()
        answer, picture = self._session.answers.answer, self._session.picture
        if answer is None or picture is None:
            self._jobs.cancel()
            self._preview.show_preview(
                None, self.tr("Once there is a result, this shows what will be written.")
            )
            return
        labelling = answer.labelling
        form, stem, document = self.form, self._stem(), self._session.document
        choices = self.choices_box.choices

        def work() -> Iterator[float | FilePreview | QImage]:
            if form.write_steps is not None:
                yield coarse_preview(form.name, choices, labelling, document, picture)
            yield from file_previews(form, stem, labelling, document, picture)

        self._jobs.run(
            work,
            self._show_preview,
            lambda error: self._preview.show_preview(None, translate(error)),
        )

    def _show_preview(self, preview: FilePreview | QImage | float) -> None:
        if isinstance(preview, QImage):
            self._preview.show_preview(preview, self.tr("Coarse preview"))
            return
        if isinstance(preview, float):
            told = self.tr("Coarse preview; making the fine one: {} %").format(
                round(100 * preview)
            )
            self._preview.show_preview(self._preview.image, told)
            return
        self._content = preview.content
        self._preview.show_preview(preview.image, preview.text)
        size = preview.size
        amount = QLocale().formattedDataSize(
            size, 1, QLocale.DataSizeFormat.DataSizeTraditionalFormat
        )
        self._files.setText(
            self.tr("{} ({})").format(sanitize(", ".join(preview.names)), amount)
            if len(preview.names) > 1
            else amount
        )

    def _tell_state(self) -> None:
        ready, target = self._session.answers.is_current, self._target()
        progress = self._session.answers.progress
        if self._writing.busy:
            self._state.setText(self.tr("Writing the file …"))
        elif not ready and progress.stage is Stage.RUNNING:
            self._state.setText(self.tr("Waiting for the result: {} …").format(progress.text))
        elif not ready:
            self._state.setText(progress.text)
        elif target is not None and target.is_file():
            self._state.setText(self.tr("This replaces an existing file."))
        else:
            self._state.clear()
        self._export.setEnabled(ready and target is not None and not self._writing.busy)

    def _browse(self) -> None:
        pattern = f"{translate(self.form.title)} (*{self.form.suffix})"
        chosen, _ = QFileDialog.getSaveFileName(
            self, self.tr("Export"), self._path.text(), pattern
        )
        if chosen:
            self._edited = True
            self._path.setText(chosen)

    def _target(self) -> Path | None:
        """Return the named file, None without a name."""
        if self._path.text() == self._proposed_text:  # a name that is not UTF-8 is no text
            return self._proposed
        path = self._folder / Path(os.path.expanduser(self._path.text().strip()))
        if not path.name or path.is_dir():
            return None
        return path if path.suffix else path.with_name(path.name + self.form.suffix)

    def _write(self) -> None:
        answer, picture = self._session.answers.answer, self._session.picture
        form, target, document = self.form, self._target(), self._session.document
        if answer is None or picture is None or target is None:
            return
        labelling, made = answer.labelling, self._content

        def work() -> Iterator[float | tuple[Path, ...]]:
            if made is None:
                yield (yield from form.steps(target, labelling, document, picture))
                return
            with atomic_write(target) as file:
                file.write(made)
            yield (target,)

        if made is None:
            self._jobs.cancel()  # what it shows would be made twice at the same time
        self._writing.run(work, self._finish, self._complain)
        self._tell_state()

    def _finish(self, paths: tuple[Path, ...] | float) -> None:
        if isinstance(paths, float):
            told = self.tr("Writing the file: {} %").format(round(100 * paths))
            self._state.setText(told)
            return
        self.exported.emit(paths, self.form.name)
        self.accept()

    def _complain(self, error: Exception) -> None:
        reason = getattr(error, "strerror", None) or translate(error) or type(error).__name__
        target = self._target() or self._folder
        QMessageBox.warning(
            self,
            self.tr("Export"),
            as_plain(
                self.tr("{} cannot be written: {}.").format(sanitize(target), reason.rstrip("."))
            ),
        )
        self._writing.cancel()
        self._refresh()

    def done(self, result: int) -> None:
        """Close at once, while a file may still be written."""
        super().done(result)
        self._end_threads()

    def _end_threads(self) -> None:
        if self.end(0):
            self.threads_ended.emit()
        else:
            QTimer.singleShot(_PAUSE, self, self._end_threads)

    def end(self, timeout: float | None = None) -> bool:
        """Stop the threads, wait for them, and return whether they have ended."""
        ended = [jobs.close(timeout) for jobs in (self._jobs, self._writing)]
        return all(ended)
