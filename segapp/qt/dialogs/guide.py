"""The guide in a window of its own, without a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QLocale, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QImage, QTextDocument
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

from segapp.io.desktop import ASSETS
from segapp.qt.i18n import choose_language
from segapp.qt.widgets.layouts import open_at

if TYPE_CHECKING:
    from PySide6.QtGui import QShowEvent

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
