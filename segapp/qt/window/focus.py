"""Where the Tab key goes: through all that can be seen, in the order in which one reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QScrollArea, QWidget

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def move_focus(regions: Iterable[QWidget], *, forward: bool) -> bool:
    """Give the focus to the next widget of the regions; say whether there is one."""
    stops = [stop for region in regions for stop in _stops(region)]
    if not stops:
        return False
    current = QApplication.focusWidget()
    if current in stops:
        place = (stops.index(current) + (1 if forward else -1)) % len(stops)
    else:
        place = 0 if forward else -1
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    stops[place].setFocus(reason)
    _scroll_to(stops[place])
    return True


def _stops(region: QWidget) -> Iterator[QWidget]:
    """Yield what of a region takes the focus, in the order in which it was built."""
    if not region.isVisible() or _is_covered(region):
        return
    inside = {region, *region.findChildren(QWidget)}
    if _takes_focus(region):
        yield region
    widget = region.nextInFocusChain()
    while widget is not None and widget is not region:
        if widget in inside and _takes_focus(widget):
            yield widget
        widget = widget.nextInFocusChain()


def _takes_focus(widget: QWidget) -> bool:
    policy = Qt.FocusPolicy.TabFocus
    return (
        (widget.focusPolicy() & policy) == policy
        and widget.isVisible()
        and widget.isEnabled()
        and widget.focusProxy() is None
    )


def _is_covered(region: QWidget) -> bool:
    """Tell a dock that lies behind another one's tab: Qt calls it visible all the same."""
    return isinstance(region, QDockWidget) and region.visibleRegion().isEmpty()


def _scroll_to(widget: QWidget) -> None:
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, QScrollArea):
            parent.ensureWidgetVisible(widget)
        parent = parent.parentWidget()
