"""How large a dialog opens: as it would like to be, and no larger than the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

_FRAME = 40  # logical pixels that a window's frame may take: its size is not known before


def open_at(dialog: QWidget, width: int, height: int) -> None:
    """Give a dialog its first size; on a small screen its buttons must still be in reach."""
    room = dialog.screen().availableSize()
    dialog.resize(min(width, room.width() - _FRAME), min(height, room.height() - _FRAME))
