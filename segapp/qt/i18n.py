"""Languages of the window: translation of its texts and of messages."""

from __future__ import annotations

import html
import json
import re
from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator
from PySide6.QtGui import Qt

from segapp.io.desktop import ASSETS
from segapp.model.validation import Message, SegappError

if TYPE_CHECKING:
    from collections.abc import Iterator

LANGUAGES = {"en": "English", "de": "Deutsch", "zh_CN": "简体中文"}
"""The window's languages, each by its own name."""

_SOURCE = "en"
# Context of texts that come from outside of `segapp.qt`.
_SENTENCES = "sentences"


def as_plain(text: str) -> str:
    """Return a text that Qt shows as it is, though it may look like HTML."""
    return f"<qt>{html.escape(text)}</qt>" if Qt.mightBeRichText(text) else text


class JsonTranslator(QTranslator):
    """Translations from a JSON file; the English text is the key, in any context."""

    def __init__(self, language: str) -> None:
        super().__init__()
        content = json.loads(_file(language))
        self._texts: dict[str, str] = content["window"]
        self._sentences: dict[str, str] = content[_SENTENCES]

    def isEmpty(self) -> bool:
        """Return False, as a `QTranslator` without translations is not asked."""
        return False

    def translate(
        self, context: str, text: str, disambiguation: str | None = None, n: int = -1
    ) -> str | None:
        """Return the translation; None leaves it to the next translator."""
        del disambiguation, n
        return (self._sentences if context == _SENTENCES else self._texts).get(text)


def choose_language(wish: str, system: list[str]) -> str:
    """Return the wanted language, or else the first known one of the system."""
    for name in (wish, *system):
        language, *parts = name.replace("-", "_").split("_")
        if language == "zh" and {"TW", "HK", "MO", "Hant"} & set(parts):
            continue  # another script
        for known in LANGUAGES:
            if language == known.partition("_")[0]:
                return known
    return _SOURCE


def install_language(application: QCoreApplication, wish: str) -> str:
    """Install the translators of a language, by default the system's; return it."""
    language = choose_language(wish, QLocale.system().uiLanguages())
    if wish in LANGUAGES:
        QLocale.setDefault(QLocale(language))
    if language != _SOURCE:
        folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        of_qt = QTranslator(application)
        if of_qt.load(f"qtbase_{language}", folder):
            application.installTranslator(of_qt)
        own = JsonTranslator(language)
        own.setParent(application)
        application.installTranslator(own)
    return language


def number(value: float, digits: int) -> str:
    """Format a number in the window's locale, with a number of decimals."""
    locale = QLocale()
    locale.setNumberOptions(QLocale.NumberOption.OmitGroupSeparator)
    return locale.toString(float(value), "f", digits)


def short_number(value: float, digits: int) -> str:
    """Format a number in the window's locale, with a number of significant digits."""
    locale = QLocale()
    locale.setNumberOptions(QLocale.NumberOption.OmitGroupSeparator)
    return locale.toString(float(value), "g", digits)


def translate(text: object) -> str:
    """Return a text or an error of another package in the window's language.

    A `Message` is translated by its template, and its values in turn. A text without a
    translation stays English.
    """
    if isinstance(text, BaseException):
        text = text.args[0] if isinstance(text, SegappError) and text.args else str(text)
    if not isinstance(text, Message):
        return QCoreApplication.translate(_SENTENCES, str(text))
    template = QCoreApplication.translate(_SENTENCES, text.template)
    return template.format(*map(_value, text.values)) if text.values else template


def translated_table(table: str) -> Iterator[tuple[list[str], str]]:
    """Yield the cells and the explanation of each entry of a table, both translated.

    An entry is a line of cells, separated by bars, of which the second is a text, and indented
    lines with the explanation below.
    """
    for cells, explanation in table_entries(table):
        name, text, *rest = cells
        cells = [name, QCoreApplication.translate("Table", text), *rest]
        yield cells, QCoreApplication.translate("Table", explanation)


def table_entries(table: str) -> Iterator[tuple[list[str], str]]:
    """Yield the cells and the explanation of each entry of a table, in English."""
    for entry in re.split(r"\n(?=\S)", table.strip()):
        head, *lines = entry.splitlines()
        yield [cell.strip() for cell in head.split("|")], " ".join(map(str.strip, lines)).strip()


def class_name(name: str) -> str:
    """Return a class's name, translated if it is that of a new picture's class.

    Files have the English names in every language.
    """
    if name == "foreground":
        return QCoreApplication.translate("Classes", "foreground")
    return QCoreApplication.translate("Classes", "background") if name == "background" else name


def _value(value: object) -> object:
    if isinstance(value, Message):
        return translate(value)
    return class_name(value) if isinstance(value, str) else value


@cache
def _file(language: str) -> str:
    return (ASSETS / "translations" / f"{language}.json").read_text(encoding="utf-8")
