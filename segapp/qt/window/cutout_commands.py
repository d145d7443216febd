"""Commands of the Cut-Out view: edge, background, and hair."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from segapp.imaging.overlay import ViewMode
from segapp.imaging.rasterise import rasterize_marks
from segapp.qt.canvas.brush import BrushTarget
from segapp.qt.canvas.contours import boundary_lines
from segapp.qt.files.preferences import remember_choices, remembered_choices

if TYPE_CHECKING:
    from segapp.qt.actions.actions import Actions
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.panels.brush_panel import BrushState
    from segapp.qt.panels.view_bar import CutoutBar
    from segapp.qt.session.session import Session
    from segapp.qt.window.labelling_view import LabellingView


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
