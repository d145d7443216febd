"""Export of a folder, and progress of long folder jobs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QFormLayout,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from segapp.batch.folder_export import (
    EXPORT_FOLDER,
    ExportFinished,
    ExportStatus,
    FolderExport,
    ImageExported,
)
from segapp.io.export.formats import FOLDER_FORMATS, folder_formats
from segapp.model.validation import sanitize, sentence
from segapp.qt.files.preferences import remembered_choices
from segapp.qt.i18n import as_plain, translate
from segapp.qt.session.jobs import Jobs
from segapp.qt.widgets import ScopeBox

if TYPE_CHECKING:
    from segapp.model.answer import Report
    from segapp.qt.files.autosave import Autosave
    from segapp.qt.files.folder import OpenFolder
    from segapp.qt.files.preferences import Preferences


_FIRST = "coco-rle"
_MARGIN = 24  # pixels around the names of formats in their list


class FolderExportPanel(QWidget):
    """The export of the folder as a data set, in a thread."""

    exported = Signal(str, object)  # a sentence about the end, and the folder

    def __init__(
        self,
        folder: OpenFolder,
        preferences: Preferences,
        autosave: Autosave,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._folder, self._preferences, self._autosave = folder, preferences, autosave
        self._counts: dict[ExportStatus, int] = {}
        self._problems: list[str] = []
        self.jobs = Jobs("folder export", self)
        self._build()
        folder.begun.connect(self._begin)
        folder.folder_chosen.connect(self._begin)
        self.hide()

    def _build(self) -> None:
        self.form = QComboBox()
        self.form.setAccessibleName(self.tr("Format"))
        for entry in FOLDER_FORMATS.values():
            self.form.addItem(translate(entry.title), entry.name)
        chosen = self.form.findData(self._preferences.get("export/folder_format", _FIRST))
        self.form.setCurrentIndex(max(chosen, 0))
        self.form.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        width = self.form.fontMetrics().horizontalAdvance
        longest = max(width(self.form.itemText(row)) for row in range(self.form.count()))
        self.form.view().setMinimumWidth(longest + _MARGIN)  # wider than the panel, if need be
        self.per = ScopeBox()
        self.done_only = QCheckBox(self.tr("Only finished images"))
        self.done_only.setToolTip(self.tr("Leave out unfinished images"))
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(6)
        self._bar.setAccessibleName(self.tr("Progress of the export"))
        self._bar.setToolTip(self.tr("Number of written images"))
        self._message = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        rows = QFormLayout()
        rows.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        rows.addRow(self.form)  # without a label: the names of formats need all the width
        rows.addRow(self.tr("Annotations"), self.per)
        rows.addRow(QLabel(self.tr("To")))
        rows.addRow(self._folder_row())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.addLayout(rows)
        layout.addWidget(self.done_only)
        layout.addLayout(self._buttons())
        layout.addWidget(self._bar)
        layout.addWidget(self._message)
        self.form.currentIndexChanged.connect(self._choose)
        self._show_running()
        self._choose()

    def _folder_row(self) -> QHBoxLayout:
        self.out_folder = QLineEdit()
        self.out_folder.setAccessibleName(self.tr("Folder to write to"))
        self.out_folder.setAccessibleDescription(self.tr("It is created if it does not exist"))
        self.out_folder.textChanged.connect(self._explain_out)
        browse = QToolButton()
        browse.setText("…")
        browse.setAccessibleName(self.tr("Choose another folder"))
        browse.setToolTip(self.tr("Choose where to save the files"))
        browse.clicked.connect(self._browse)
        where = QHBoxLayout()
        where.addWidget(self.out_folder, 1)
        where.addWidget(browse)
        return where

    def _buttons(self) -> QHBoxLayout:
        self.run_button = QPushButton(self.tr("Export"))
        self.run_button.setToolTip(self.tr("Write the data set of all these images"))
        self.run_button.clicked.connect(self.run)
        self._close = QPushButton(self.tr("Close"))
        self._close.setToolTip(self.tr("Stop writing, or close this panel"))
        self._close.clicked.connect(self._stop_or_hide)
        buttons = QHBoxLayout()
        buttons.addWidget(self.run_button)
        buttons.addWidget(self._close)
        return buttons

    @property
    def message(self) -> str:
        """The progress or the outcome of the export."""
        return self._message.text()

    def begin(self) -> None:
        """Show the choices, or the progress; Space starts or stops it."""
        self.show()
        self.run_button.setFocus()

    def _begin(self) -> None:
        self.jobs.cancel()
        self._message.clear()
        self.hide()
        self._choose()

    def _choose(self) -> None:
        """Propose a folder for the format, beside the projects."""
        entry = FOLDER_FORMATS[self.form.currentData()]
        self.form.setToolTip(f"{translate(entry.title)}\n{translate(entry.values)}")
        self.per.setEnabled(entry.per_region)
        folder = self._folder.workspace.folder
        if folder is not None:
            self._show_out(folder / EXPORT_FOLDER / entry.name)

    def _browse(self) -> None:
        chosen = QFileDialog.getExistingDirectory(
            self, self.tr("Export to"), str(self._out() or Path.home())
        )
        if chosen:
            self._show_out(Path(chosen))

    def _show_out(self, out: Path) -> None:
        """Show where files go, as seen from the folder of images, which fits the field."""
        folder = self._folder.workspace.folder
        inside = folder is not None and out.is_relative_to(folder) and out != folder
        self.out_folder.setText(str(out.relative_to(folder)) if inside and folder else str(out))
        self.out_folder.setCursorPosition(0)

    def _out(self) -> Path | None:
        """Return the folder that is named, or None."""
        folder, text = self._folder.workspace.folder, self.out_folder.text().strip()
        return folder / Path(text).expanduser() if folder is not None and text else None

    def _explain_out(self) -> None:
        self.out_folder.setToolTip(as_plain(sanitize(self._out() or "")))

    def run(self) -> None:
        """Begin, or continue an export that was stopped."""
        folder, out = self._folder.workspace.folder, self._out()
        if folder is None or out is None:
            self._message.setText(self.tr("Choose a folder first."))
            return
        # Edges and scales are chosen where one picture is exported, and hold for a folder.
        choices = replace(remembered_choices(self._preferences), per=self.per.scope)
        entry = folder_formats(choices)[self.form.currentData()]
        self._preferences.set("export/folder_format", entry.name)
        export = FolderExport(
            tuple(self._folder.workspace.images),
            folder,
            entry,
            out,
            self.per.scope,
            self.done_only.isChecked(),
        )
        self._counts, self._problems = dict.fromkeys(ExportStatus, 0), []
        self._bar.setValue(0)
        self.run_button.setEnabled(False)
        # First all strokes and flags go to the files that are exported.
        self._folder.flush(lambda: self._autosave.flush(partial(self._start, export)))

    def _start(self, export: FolderExport) -> None:
        self.jobs.run(export.run, self._take, self._fail, self._show_running)
        self._close.setFocus()  # stops it; the other button is disabled meanwhile
        self._show_running()

    def _stop_or_hide(self) -> None:
        if self.jobs.busy:
            self.jobs.cancel()
            self._message.setText(self.tr("Stopped: the next export continues from here."))
        else:
            self.hide()

    def _show_running(self) -> None:
        busy = self.jobs.busy
        self._bar.setVisible(busy)
        self.run_button.setEnabled(not busy)
        self._close.setText(self.tr("Stop") if busy else self.tr("Close"))

    def _take(self, step: ImageExported | ExportFinished | Report) -> None:
        if isinstance(step, ImageExported):
            self._counts[step.status] += 1
            if step.status is ExportStatus.FAILED:
                self._problems.append(f"{sanitize(step.image.name)}: {translate(step.message)}")
            self._bar.setMaximum(step.total)
            self._bar.setValue(step.index)
            self._message.setText(self.tr("{} of {}").format(step.index, step.total))
        elif isinstance(step, ExportFinished):
            self._finish()

    def _finish(self) -> None:
        counts = self._counts
        text = self.tr("{} exported").format(
            counts[ExportStatus.WRITTEN] + counts[ExportStatus.KEPT]
        )
        if counts[ExportStatus.SKIPPED]:
            text += self.tr(", {} without a result").format(counts[ExportStatus.SKIPPED])
        if counts[ExportStatus.FAILED]:
            text += self.tr(", {} failed").format(counts[ExportStatus.FAILED])
        self._message.setText(text)
        self._message.setToolTip(as_plain("\n".join(self._problems)))
        self.exported.emit(text, self._out())

    def _fail(self, error: Exception) -> None:
        self._message.setText(self.tr("The export failed: {}").format(translate(sentence(error))))


class FolderTask(QWidget):
    """The progress of a task on all images, with a button to stop it."""

    stop_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._message = QLabel()
        self._message.setTextFormat(Qt.TextFormat.PlainText)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(6)
        self._bar.setAccessibleName(self.tr("Progress of the work on the folder"))
        self._bar.setToolTip(self.tr("Progress on all images"))
        stop = QToolButton()
        stop.setText(self.tr("Stop"))
        stop.setToolTip(self.tr("Stop; finished work is kept"))
        stop.clicked.connect(self.stop_requested)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._message, 0, 0)
        layout.addWidget(self._bar, 1, 0)
        layout.addWidget(stop, 0, 1, 2, 1)
        layout.setColumnStretch(0, 1)
        self.hide()

    @property
    def message(self) -> str:
        """The text of the progress."""
        return self._message.text()

    def show_progress(self, text: str, done: int, total: int) -> None:
        """Show the progress of a task."""
        self._message.setText(text)
        self._bar.setMaximum(max(total, 1))
        self._bar.setValue(done)
        self.show()
