"""Light and dark theme: palettes and style sheet."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QToolTip

from segapp.io.desktop import ASSETS

_Role = QPalette.ColorRole

_LIGHT = {
    _Role.Window: "#f3f4f6",
    _Role.WindowText: "#1c2026",
    _Role.Base: "#ffffff",
    _Role.AlternateBase: "#f7f8fa",
    _Role.Text: "#1c2026",
    _Role.PlaceholderText: "#545c67",
    _Role.Button: "#fbfbfc",
    _Role.ButtonText: "#1c2026",
    _Role.BrightText: "#b3261e",
    _Role.Highlight: "#0072b2",
    _Role.HighlightedText: "#ffffff",
    _Role.Accent: "#0072b2",
    _Role.Link: "#005a8c",
    _Role.ToolTipBase: "#1c2026",
    _Role.ToolTipText: "#f3f4f6",
    _Role.Light: "#ffffff",
    _Role.Midlight: "#e8eaee",
    _Role.Mid: "#cdd2d9",
    _Role.Dark: "#808892",
    _Role.Shadow: "#5b636e",
}
_DARK = {
    _Role.Window: "#25282d",
    _Role.WindowText: "#e6e9ed",
    _Role.Base: "#15171a",
    _Role.AlternateBase: "#1b1e22",
    _Role.Text: "#e6e9ed",
    _Role.PlaceholderText: "#98a1ac",
    _Role.Button: "#31353c",
    _Role.ButtonText: "#e6e9ed",
    _Role.BrightText: "#ff8a80",
    _Role.Highlight: "#2777ab",
    _Role.HighlightedText: "#ffffff",
    _Role.Accent: "#56b4e9",
    _Role.Link: "#7cc6f0",
    _Role.ToolTipBase: "#e6e9ed",
    _Role.ToolTipText: "#1c2026",
    _Role.Light: "#454b54",
    _Role.Midlight: "#343941",
    _Role.Mid: "#434953",
    _Role.Dark: "#6a727e",
    _Role.Shadow: "#0c0d0f",
}
_DISABLED = (_Role.WindowText, _Role.Text, _Role.ButtonText)

_STYLE = """
QMenuBar { background: palette(window); border-bottom: 1px solid palette(mid); }
QMenuBar::item { padding: 3px 6px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: palette(mid); }
QMenuBar::item:pressed { background: palette(highlight); color: palette(highlighted-text); }
QToolBar { border: 0; padding: 3px; spacing: 2px; background: palette(window); }
QToolBar::separator:horizontal { width: 1px; margin: 5px 5px; background: palette(mid); }
QToolBar::separator:vertical { height: 1px; margin: 5px 5px; background: palette(mid); }
QToolBar QToolButton { border: 1px solid transparent; border-radius: 5px; padding: 4px; }
QToolBar QToolButton:hover { background: palette(midlight); }
QToolBar QToolButton:pressed { background: palette(mid); }
QToolBar QToolButton:checked { background: palette(midlight); border-color: palette(accent); }
QToolBar QToolButton:focus { border-color: palette(accent); }
QToolBar QToolButton:checked:focus { border-color: palette(text); }
QScrollArea { border: 1px solid transparent; }
QScrollArea:focus { border-color: palette(accent); }
QToolBar QToolButton[popupMode="2"] { padding-right: 17px; }
QToolBar QToolButton::menu-indicator {
    subcontrol-origin: padding; subcontrol-position: right center; right: 4px;
}
QToolBar#tools { spacing: 1px; }
QToolBar#tools::separator:vertical { margin: 3px 5px; }
QToolBar#tools QToolButton { padding: 3px 4px; }
QToolBar#tools[close="true"] { padding: 1px 3px; spacing: 0; }
QToolBar#tools[close="true"]::separator:vertical { margin: 1px 5px; }
QToolBar#tools[close="true"] QToolButton { padding: 1px 4px; }
QToolButton#qt_toolbar_ext_button { padding: 0; qproperty-icon: url("{icons}/more.svg"); }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: palette(mid); border-radius: 4px; margin: 1px; }
QScrollBar::handle:hover { background: palette(dark); }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QDockWidget { titlebar-close-icon: none; titlebar-normal-icon: none; }
QDockWidget::title { padding: 6px 10px; background: palette(window); text-align: left; }
QMainWindow::separator { width: 5px; height: 5px; background: palette(window); }
QCheckBox { spacing: 7px; }
QCheckBox::indicator {
    width: 14px; height: 14px; border: 1px solid palette(dark); border-radius: 3px;
    background: palette(base);
}
QCheckBox::indicator:hover, QCheckBox::indicator:focus { border-color: palette(highlight); }
QCheckBox::indicator:checked {
    background: palette(highlight); border-color: palette(highlight);
    image: url("{icons}/check.svg");
}
QFileDialog {
    backward-icon: url("{icons}/dialog-back.svg"); forward-icon: url("{icons}/dialog-forward.svg");
    filedialog-parent-directory-icon: url("{icons}/dialog-up.svg");
}
QStatusBar::item { border: 0; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QStatusBar QToolButton { border: 1px solid transparent; border-radius: 4px; padding: 1px; }
QStatusBar QToolButton:hover { background: palette(midlight); }
QStatusBar QToolButton:focus { border-color: palette(accent); }
QLabel[tone="faint"] { color: palette(placeholder-text); }
QLabel[tone="faint"]:disabled { color: {disabled}; }
QToolButton#fold { border: 1px solid transparent; font-weight: bold; padding: 2px; }
QToolButton#info { border: 1px solid palette(mid); border-radius: 9px;
    padding: 0 1px; font-weight: bold; }
QToolButton#info:checked { background: palette(accent); color: palette(highlighted-text); }
QToolButton#info:focus { border-color: palette(accent); }
QToolButton#fold:focus { border-color: palette(accent); border-radius: 4px; }
QToolButton#choice {
    border: 1px solid palette(mid); border-radius: 4px; padding: 3px 8px;
    background: palette(button);
}
QToolButton#choice:hover { background: palette(midlight); }
QToolButton#choice:focus { border-color: palette(accent); }
QToolButton#choice:checked { background: palette(highlight); color: palette(highlighted-text); }
QToolButton#choice:disabled { color: {disabled}; }
QToolButton#invitation {
    border: 1px solid palette(mid); border-radius: 6px; padding: 7px 14px;
    background: palette(button);
}
QToolButton#invitation:hover { background: palette(midlight); }
QToolButton#invitation:focus { border-color: palette(accent); }
QFrame#segmented {
    border: 1px solid palette(mid); border-radius: 6px; background: palette(base);
}
QFrame#segmented QToolButton {
    border: 1px solid transparent; border-radius: 5px; padding: 4px 7px; background: transparent;
}
QFrame#segmented QToolButton:hover { background: palette(midlight); }
QFrame#segmented QToolButton:focus { border-color: palette(accent); }
QFrame#segmented QToolButton:checked {
    background: palette(highlight); color: palette(highlighted-text);
}
QFrame#segmented QToolButton:checked:focus { border-color: palette(text); }
QToolTip {
    color: {tip_text}; background-color: {tip_ground}; border: 1px solid {tip_ground};
    padding: 1px 2px;
}
"""


class ThemeChoice(StrEnum):
    """Choices of the theme."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class Theme(QObject):
    """The application's palette and style sheet, by the choice or the system."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.choice = ThemeChoice.SYSTEM
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._apply)

    @property
    def is_dark(self) -> bool:
        """Whether the window is dark now."""
        if self.choice is ThemeChoice.SYSTEM:
            return QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
        return self.choice is ThemeChoice.DARK

    @property
    def palette(self) -> QPalette:
        """The present palette."""
        return palette(dark=self.is_dark)

    def choose(self, choice: ThemeChoice) -> None:
        """Apply a choice."""
        self.choice = choice
        hints = QGuiApplication.styleHints()
        if choice is ThemeChoice.SYSTEM:
            hints.unsetColorScheme()
        else:
            dark = choice is ThemeChoice.DARK
            hints.setColorScheme(Qt.ColorScheme.Dark if dark else Qt.ColorScheme.Light)
        self._apply()

    def _apply(self) -> None:
        # On plain X11, which has no colour scheme, the palette must be set.
        application = QApplication.instance()
        if isinstance(application, QApplication):
            # Tool tips have colours of their own, which follow neither palette nor theme.
            colours = _DARK if self.is_dark else _LIGHT
            style = _STYLE.replace("{icons}", (ASSETS / "icons").as_posix())
            faded = self.palette.color(QPalette.ColorGroup.Disabled, _Role.Text).name()
            style = style.replace("{disabled}", faded)
            style = style.replace("{tip_text}", colours[_Role.ToolTipText])
            style = style.replace("{tip_ground}", colours[_Role.ToolTipBase])
            if style != application.styleSheet() or self.palette != application.palette():
                # Only if they differ, as this polishes every widget again.
                application.setPalette(self.palette)
                application.setStyleSheet(style)
            QToolTip.setPalette(self.palette)
            self.changed.emit()


def palette(*, dark: bool) -> QPalette:
    """Return the light or the dark palette."""
    colours = _DARK if dark else _LIGHT
    made = QPalette()
    for role, name in colours.items():
        made.setColor(role, QColor(name))
    faded = QColor("#6f7782" if dark else "#9aa1ab")
    for role in _DISABLED:
        made.setColor(QPalette.ColorGroup.Disabled, role, faded)
    grey = QColor("#4a515b" if dark else "#c3c8cf")
    made.setColor(QPalette.ColorGroup.Disabled, _Role.Highlight, grey)
    made.setColor(QPalette.ColorGroup.Disabled, _Role.Accent, grey)
    return made
