"""Help: the guide, all shortcuts, the about dialog, and problem reports."""

from __future__ import annotations

import logging
import platform
import re
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QLocale, QSize, Qt, QUrl, qVersion
from PySide6.QtGui import (
    QBrush,
    QDesktopServices,
    QFontDatabase,
    QGuiApplication,
    QImage,
    QKeySequence,
    QPalette,
    QTextDocument,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QKeySequenceEdit,
    QLabel,
    QLineEdit,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTextBrowser,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from segapp.app.project_store import documents_folder
from segapp.io.desktop import ASSETS
from segapp.model.settings import DEFAULT_SETTINGS, PRESETS, to_plain
from segapp.qt.actions import Shortcuts, ShortcutsError, application_icon
from segapp.qt.files.file_dialogs import ask_where, save_bytes
from segapp.qt.i18n import choose_language
from segapp.qt.widgets import open_at
from shlcore import version_of

if TYPE_CHECKING:
    from PySide6.QtCore import QModelIndex, QPersistentModelIndex
    from PySide6.QtGui import QShowEvent

    from segapp.model.settings import Settings
    from segapp.qt.actions import Actions, Shortcuts
    from segapp.qt.session.session import Session


_NAME = Qt.ItemDataRole.UserRole  # of a row's command, None for the canvas's keys
_FILES = "JSON (*.json)"
_KEYS, _MEANING = 0, 1
_GAP = 14  # pixels between both columns


class _SpacedDelegate(QStyledItemDelegate):
    """Delegate with a gap to the right of the keys."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """Return the text's size and the gap."""
        return super().sizeHint(option, index) + QSize(_GAP, 0)


class ShortcutSheet(QDialog):
    """Table of keys and meanings, with an editor for those of commands."""

    def __init__(
        self, actions: Actions, shortcuts: Shortcuts, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Shortcuts"))
        self._actions, self._shortcuts = actions, shortcuts
        self._search = QLineEdit()
        self._search.setPlaceholderText(self.tr("Search"))
        self._search.setAccessibleName(self.tr("Search the shortcuts"))
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self._filter)
        self._build_rows()
        layout = QVBoxLayout(self)
        layout.setSpacing(10)
        layout.addWidget(self._search)
        layout.addWidget(self._rows, 1)
        layout.addLayout(self._editing())
        layout.addLayout(self._buttons())
        shortcuts.changed.connect(self._show_keys)
        self._rows.setCurrentItem(self._commands[0])
        self._show_keys()
        open_at(self, 720, 600)

    # Building ---------------------------------------------------------------------------

    def _build_rows(self) -> None:
        self._rows = QTreeWidget()
        self._rows.setAccessibleName(self.tr("Shortcuts and their meaning"))
        self._rows.setHeaderLabels([self.tr("Key"), self.tr("Meaning")])
        self._rows.setRootIsDecorated(False)
        self._rows.setUniformRowHeights(True)
        self._rows.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self._fixed, self._commands = [], list[QTreeWidgetItem]()
        for keys, meaning in self._canvas_keys():
            row = QTreeWidgetItem(self._rows, [keys, meaning])
            row.setToolTip(_MEANING, meaning)
            self._fixed.append(row)
        for name in self._actions:
            row = QTreeWidgetItem(self._rows, ["", ""])
            row.setData(_KEYS, _NAME, name)
            self._commands.append(row)
        height = self.fontMetrics().height() + 9
        for row in (*self._fixed, *self._commands):
            row.setSizeHint(_MEANING, QSize(0, height))
        self._rows.setItemDelegateForColumn(_KEYS, _SpacedDelegate(self._rows))
        self._rows.setAccessibleDescription(
            self.tr("Choose a command here, and press its new key in the field below")
        )
        header = self._rows.header()
        header.setAccessibleName(self.tr("Columns of the shortcuts"))
        header.setAccessibleDescription(self.tr("The key, and what it does"))
        header.setSectionResizeMode(_KEYS, QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        self._rows.currentItemChanged.connect(self._show_chosen)

    def _canvas_keys(self) -> list[tuple[str, str]]:
        return [
            (self.tr("Left button"), self.tr("Paint its class; a click is a dot")),
            (self.tr("Right button"), self.tr("Paint its own class, initially the background")),
            (self.tr("Shift+click"), self.tr("Paint a straight line from the last stroke")),
            (self.tr("Wheel"), self.tr("Zoom at the pointer")),
            (self.tr("Ctrl+wheel"), self.tr("Change the brush's size")),
            (
                self.tr("Space or middle button"),
                self.tr("Hold and drag: move the image, also while painting"),
            ),
            (self.tr("One finger, two"), self.tr("Move the image; pinch to zoom")),
            (self.tr("Pen"), self.tr("Pressure is the brush's width; the other end erases")),
            ("1 – 9", self.tr("Choose the class of the left button")),
            (self.tr("Shift+1 – 9"), self.tr("Choose the class of the right button")),
            ("H", self.tr("Hold to show the image alone")),
            (
                "Q",
                self.tr("Hold to outline the object that a click takes; the wheel resizes it"),
            ),
            ("W", self.tr("Hold to show why the pixel under the pointer has its class")),
            ("Esc", self.tr("Cancel the stroke being drawn")),
            (self.tr("Arrow keys"), self.tr("Move the brush without a mouse (Shift: finely)")),
            (self.tr("Return"), self.tr("Put the brush down, and lift it")),
        ]

    def _editing(self) -> QHBoxLayout:
        self._chosen = QLabel()
        self._edit = QKeySequenceEdit()
        self._edit.setMaximumSequenceLength(1)
        self._edit.setClearButtonEnabled(True)
        self._edit.setFixedWidth(180)
        self._edit.setAccessibleName(self.tr("Key of the chosen command"))
        self._edit.setAccessibleDescription(self.tr("Press the new keys"))
        self._edit.keySequenceChanged.connect(self._take_keys)
        self._reset = QPushButton(self.tr("Reset"))
        self._reset.setToolTip(self.tr("Restore the command's default key"))
        self._reset.setAutoDefault(False)
        self._reset.clicked.connect(self._reset_chosen)
        self._note = QLabel()
        self._note.setWordWrap(True)
        row = QHBoxLayout()
        row.addWidget(self._chosen)
        row.addWidget(self._edit)
        row.addWidget(self._reset)
        row.addWidget(self._note, 1)
        return row

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        for text, tip, call in (
            (self.tr("Import…"), self.tr("Read all keys from a file"), self._import),
            (self.tr("Export…"), self.tr("Write all keys to a file"), self._export),
            (self.tr("Reset All"), self.tr("Restore all default keys"), self._reset_all),
        ):
            button = QPushButton(text)
            button.setToolTip(tip)
            button.setAutoDefault(False)
            button.clicked.connect(call)
            row.addWidget(button)
        row.addStretch(1)
        close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        close.rejected.connect(self.reject)
        row.addWidget(close)
        return row

    # Showing ----------------------------------------------------------------------------

    def _show_keys(self) -> None:
        """Show the present keys; conflicts are marked in all their rows."""
        warning = QBrush(self.palette().color(QPalette.ColorRole.BrightText))
        usual = QBrush(self.palette().color(QPalette.ColorRole.Text))
        for row in self._commands:
            name = row.data(_KEYS, _NAME)
            keys = QKeySequence(self._shortcuts.of(name), QKeySequence.SequenceFormat.PortableText)
            row.setText(_KEYS, keys.toString(QKeySequence.SequenceFormat.NativeText))
            told = f"{self._actions.name_of(name)} – {self._actions[name].statusTip()}"
            conflicts = self._shortcuts.conflicts(name)
            if conflicts:
                told = self.tr("{} (also: {})").format(told, ", ".join(conflicts))
            row.setText(_MEANING, told)
            row.setToolTip(_MEANING, told)
            for column in (_KEYS, _MEANING):
                row.setForeground(column, warning if conflicts else usual)
            font = row.font(_KEYS)
            font.setBold(self._shortcuts.of(name) != self._shortcuts.default(name))
            row.setFont(_KEYS, font)
        self._show_chosen()

    def _name(self) -> str | None:
        row = self._rows.currentItem()
        return row.data(_KEYS, _NAME) if row is not None else None

    def _show_chosen(self) -> None:
        name = self._name()
        for part in (self._edit, self._reset):
            part.setEnabled(name is not None)
        self._note.clear()
        if name is None:
            self._chosen.setText(self.tr("Mouse and hand gestures cannot be changed."))
            self._edit.clear()
            return
        self._chosen.setText(self.tr("Key of “{}”:").format(self._actions.name_of(name)))
        keys = QKeySequence(self._shortcuts.of(name), QKeySequence.SequenceFormat.PortableText)
        if self._edit.keySequence() != keys:
            self._edit.setKeySequence(keys)
        self._reset.setEnabled(self._shortcuts.of(name) != self._shortcuts.default(name))
        conflicts = self._shortcuts.conflicts(name)
        if conflicts:
            told = self.tr("Also the key of: {}. It will work for neither.").format(
                ", ".join(conflicts)
            )
            self._note.setText(told)

    def _filter(self, wanted: str) -> None:
        for row in (*self._fixed, *self._commands):
            text = f"{row.text(_KEYS)} {row.text(_MEANING)}".casefold()
            row.setHidden(wanted.casefold() not in text)

    # Changing ---------------------------------------------------------------------------

    def _take_keys(self) -> None:
        name = self._name()
        if name is not None:
            sequence = self._edit.keySequence()
            self._shortcuts.set(name, sequence.toString(QKeySequence.SequenceFormat.PortableText))

    def _reset_chosen(self) -> None:
        name = self._name()
        if name is not None:
            self._shortcuts.reset(name)

    def _reset_all(self) -> None:
        self._shortcuts.reset()

    def _export(self) -> None:
        start = documents_folder() / "segapp-shortcuts.json"
        path = ask_where(self, self.tr("Export shortcuts"), start, (_FILES,))
        if path is not None:
            save_bytes(self, path, self._shortcuts.to_text().encode("utf-8"))

    def _import(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(
            self, self.tr("Import shortcuts"), str(documents_folder()), _FILES
        )
        if not chosen:
            return
        try:
            unknown = self._shortcuts.from_text(Path(chosen).read_text(encoding="utf-8"))
        except ShortcutsError as error:
            QMessageBox.warning(self, self.tr("Import shortcuts"), str(error))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or self.tr("it is not text")
            told = self.tr("{} cannot be read: {}.").format(chosen, reason)
            QMessageBox.warning(self, self.tr("Import shortcuts"), told)
        else:
            if unknown:
                self._note.setText(self.tr("Commands that are unknown here: {}.").format(unknown))


_GUIDE = (ASSETS / "guide").resolve()
_CONTENTS = "README.md"
_MARGIN = 24  # logical pixels
_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\(([^)\s]+)\)")


def guide_folder(language: str) -> Path:
    """Return the folder of the guide's pages in a language, or else in English."""
    return _GUIDE / language if (_GUIDE / language).is_dir() else _GUIDE


class GuideBrowser(QTextBrowser):
    """Viewer of the guide's pages."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setOpenLinks(False)
        # Images are scaled before it is known whether a page needs the bar.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.anchorClicked.connect(self._follow)
        self.document().setDocumentMargin(_MARGIN)
        font = self.font()
        font.setPointSizeF(1.1 * font.pointSizeF())
        self.setFont(font)

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Return a page without links to missing pages, or an image that fits the window."""
        path = Path(self.source().resolved(QUrl(name)).toLocalFile())
        if kind == QTextDocument.ResourceType.MarkdownResource.value:
            return _shipped_links(path.read_text(encoding="utf-8"), path.parent)
        if kind == QTextDocument.ResourceType.ImageResource.value:
            return self._fitted(QImage(str(path)))
        return super().loadResource(kind, name)

    def _fitted(self, image: QImage) -> QImage:
        ratio = self.devicePixelRatioF()
        width = round(ratio * (self.viewport().width() - 2 * _MARGIN))
        if image.width() > width:
            image = image.scaledToWidth(width, Qt.TransformationMode.SmoothTransformation)
        image.setDevicePixelRatio(ratio)
        return image

    def _follow(self, link: QUrl) -> None:
        target = self.source().resolved(link)
        if target.isLocalFile():
            self.setSource(target)
        else:
            QDesktopServices.openUrl(target)


def _shipped_links(page: str, folder: Path) -> str:
    """Replace links to files that are not part of the guide by their texts."""

    def keep(link: re.Match[str]) -> str:
        text, target = link.groups()
        is_page = target.endswith(".md") and (folder / target).resolve().is_relative_to(_GUIDE)
        return link[0] if is_page or "://" in target else text

    return _LINK.sub(keep, page)


class GuideDialog(QDialog):
    """The guide, beside the window that it explains."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Guide"))
        self.browser = GuideBrowser()
        self.browser.setAccessibleName(self.tr("Guide"))
        self._contents = guide_folder(choose_language("", QLocale().uiLanguages())) / _CONTENTS
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        role = QDialogButtonBox.ButtonRole.ActionRole
        contents = buttons.addButton(self.tr("Contents"), role)
        contents.clicked.connect(self.open_contents)
        back = buttons.addButton(self.tr("Back"), role)
        back.clicked.connect(self.browser.backward)
        back.setEnabled(False)
        self.browser.backwardAvailable.connect(back.setEnabled)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(self.browser, 1)
        layout.addWidget(buttons)
        open_at(self, 860, 720)
        self.open_contents()

    def open_contents(self) -> None:
        """Show the first page."""
        self.browser.setSource(QUrl.fromLocalFile(str(self._contents)))

    def showEvent(self, event: QShowEvent) -> None:
        """Give the keys to the page."""
        super().showEvent(event)
        self.browser.setFocus()


def open_guide(window: QWidget) -> None:
    """Open the guide without blocking the window."""
    dialog = GuideDialog(window)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.show()


# Lines of the log, for hours of work.
_MAX_LINES = 400


class EventLog(logging.Handler):
    """A handler that keeps the last lines of the log."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: deque[str] = deque(maxlen=_MAX_LINES)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record, with its traceback."""
        self._lines.append(self.format(record))

    def note(self, text: str, level: int = logging.INFO) -> None:
        """Keep a text that is not empty."""
        if text:
            self.handle(logging.LogRecord("segapp", level, "", 0, text, None, None))

    @property
    def text(self) -> str:
        """The kept lines."""
        return "\n".join(self._lines)


_PACKAGES = (
    "segapp",
    "PySide6-Essentials",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-image",
    "pillow",
    "tifffile",
)


def problem_text(session: Session, log: str) -> str:
    """Return versions, machine, the picture's size and the log.

    The path of the user's folder is shortened; the picture's name and pixels are left out.
    """
    lines = ["# Versions", *(f"{name} {version_of(name)}" for name in _PACKAGES)]
    lines += [f"Python {platform.python_version()}", f"Qt {qVersion()}", "", "# Machine"]
    lines += [platform.platform(), f"Qt platform {QGuiApplication.platformName()}"]
    for screen in QGuiApplication.screens():
        size = screen.size()
        lines.append(f"screen {size.width()} x {size.height()}, {screen.devicePixelRatio():g} x")
    lines += ["", "# Picture", *_picture(session), "", "# Log", log or "(nothing yet)"]
    return "\n".join(lines).replace(str(Path.home()), "~") + "\n"


def _picture(session: Session) -> list[str]:
    if session.picture is None:
        return ["none"]
    height, width = session.picture.rgb.shape[:2]
    document = session.document
    return [
        f"{width} x {height}",
        f"{len(document.classes)} classes, {len(document.strokes)} strokes",
        *_settings(session.settings),
        f"{session.answers.progress.stage.value}: {session.answers.progress.text}",
    ]


def _settings(settings: Settings) -> list[str]:
    """Return the name of the preset, or the settings that differ from the defaults."""
    for name, preset in PRESETS.items():
        if settings == preset:
            return [f"settings: {name}"]
    usual, own = to_plain(DEFAULT_SETTINGS), to_plain(settings)
    changed = [f"{name} = {own[name]}" for name in own if own[name] != usual[name]]
    return [f"settings: {', '.join(changed)}"]


class ProblemReport(QDialog):
    """Dialog with the text of a problem report, which the user may edit and copy."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Report a Problem"))
        told = QLabel(
            self.tr(
                "This information helps to understand a problem. Nothing is sent: "
                "copy or save it, remove what is private, and add what you did and "
                "what happened."
            )
        )
        told.setWordWrap(True)
        self._text = QPlainTextEdit(text)
        self._text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._text.setAccessibleName(self.tr("Text of the report"))
        self._text.setAccessibleDescription(self.tr("You can edit it before you copy it"))
        self._text.setTabChangesFocus(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        role = QDialogButtonBox.ButtonRole.ActionRole
        copy = buttons.addButton(self.tr("Copy"), role)
        copy.setToolTip(self.tr("Copy the text to the clipboard"))
        copy.clicked.connect(self._copy)
        save = buttons.addButton(self.tr("Save…"), role)
        save.setToolTip(self.tr("Save the text to a file"))
        save.clicked.connect(self._save)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setSpacing(10)
        layout.addWidget(told)
        layout.addWidget(self._text, 1)
        layout.addWidget(buttons)
        open_at(self, 720, 520)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._text.toPlainText())

    def _save(self) -> None:
        proposed = documents_folder() / "segapp-problem.txt"
        path = ask_where(self, self.windowTitle(), proposed, (self.tr("Text") + " (*.txt)",))
        if path is not None:
            save_bytes(self, path, self._text.toPlainText().encode("utf-8"))


def open_shortcuts(window: QWidget, actions: Actions, shortcuts: Shortcuts) -> None:
    """Open the shortcut sheet."""
    sheet = ShortcutSheet(actions, shortcuts, window)
    sheet.finished.connect(sheet.deleteLater)
    sheet.open()


def open_problem_report(window: QWidget, session: Session, log: str) -> None:
    """Open the problem report."""
    report = ProblemReport(problem_text(session, log), window)
    report.finished.connect(report.deleteLater)
    report.open()


def open_about(window: QWidget) -> None:
    """Open the dialog about the program."""
    box = QMessageBox(window)
    box.setWindowTitle(window.tr("About segapp"))
    box.setIconPixmap(application_icon().pixmap(64))
    told = window.tr(
        "Scribble on an object and on its surroundings; the rest is learnt from your "
        "strokes alone, by supervised hash learning through codewords (*SHL). No "
        "telemetry, no network: nothing leaves your computer."
    )
    box.setText(f"<h3>segapp {version_of('segapp')}</h3><p>{told}</p>")
    box.finished.connect(box.deleteLater)
    box.open()
