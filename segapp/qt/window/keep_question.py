"""Where strokes are kept: asked once, beside the work, which does not wait for the answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog

from segapp.qt.files.default_folder import documents_folder
from segapp.qt.files.keeping import Wish
from segapp.values.wording import shown

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from segapp.qt.files.autosave import Autosave
    from segapp.qt.files.keeping import Keeping
    from segapp.qt.files.picture_folder import PictureFolder
    from segapp.qt.panels.offer import Offer
    from segapp.qt.session.session import Session


class KeepQuestion(QObject):
    """Asks about strokes that have no place yet, and keeps them as soon as they have one."""

    said = Signal(str)  # a sentence for the status bar

    def __init__(
        self,
        session: Session,
        autosave: Autosave,
        work: PictureFolder,
        keeping: Keeping,
        offer: Offer,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._autosave, self._work = session, autosave, work
        self._keeping, self._offer, self._window = keeping, offer, window
        autosave.place_of = keeping.folder_for
        session.document_changed.connect(self._ask)
        keeping.changed.connect(self._keep_now)

    def _ask(self) -> None:
        state = self._session.state
        if state is None or not state.unsaved or self._keeping.folder_for(state) is not None:
            self._offer.withdraw()
        elif self._keeping.is_within(state) and self._work.root is not None:
            self._ask_about_folder(self._work.root)
        elif self._keeping.wish is Wish.UNSAID:
            self._offer.make(
                self.tr("Keep strokes in a project as you paint?"),
                (
                    (self.tr("Beside the picture"), lambda: self._keeping.choose(Wish.BESIDE)),
                    (self.tr("In a folder…"), self._choose_folder),
                    (self.tr("No"), lambda: self._keeping.choose(Wish.NEVER)),
                ),
            )

    def _ask_about_folder(self, root: Path) -> None:
        proposed = documents_folder() / "segapp" / root.name
        self._offer.make(
            self.tr("{} cannot be written. Keep the strokes in").format(shown(root.name)),
            (
                (shown(proposed), lambda: self._use_place(proposed)),
                (self.tr("Another folder…"), self._choose_place),
            ),
        )

    def _chosen(self) -> Path | None:
        chosen = QFileDialog.getExistingDirectory(self._window, self.tr("Keep the strokes in"))
        return Path(chosen) if chosen else None

    def _choose_folder(self) -> None:
        folder = self._chosen()
        if folder is not None:
            self._keeping.choose(Wish.FOLDER, folder)

    def _choose_place(self) -> None:
        place = self._chosen()
        if place is not None:
            self._use_place(place)

    def _use_place(self, place: Path) -> None:
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self.said.emit(f"{shown(place)}: {error.strerror}")
            return
        self._work.choose_place(place)

    def _keep_now(self) -> None:
        self._ask()
        self._autosave.write_soon()
