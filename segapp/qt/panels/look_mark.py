"""A word over the picture while what it shows is not final."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from segapp.qt.panels.card import Card

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


class LookMark(Card):
    """Says "preview" in the lower left corner: the answer comes when the brush is lifted."""

    def __init__(self, canvas: QWidget) -> None:
        super().__init__(canvas, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)
        self.row.setContentsMargins(12, 4, 12, 4)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.set_text(self.tr("Preview, not final"))

    def show_for(self, *, is_preview: bool) -> None:
        """Come and go with the previews."""
        if is_preview != self.isVisible():
            self.setVisible(is_preview)
            if is_preview:
                self.place()
