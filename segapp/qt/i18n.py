"""The language of the window: its own texts, Qt's, and the sentences of the other rooms."""

from __future__ import annotations

import json
import re
from functools import cache

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from segapp.io.desktop import ASSETS

LANGUAGES = {"en": "English", "de": "Deutsch", "zh_CN": "简体中文"}
"""What the window can speak, and how each language calls itself."""

_SOURCE = "en"
# Sentences of other rooms have no context of Qt's.
_SENTENCES = "sentences"
_VALUE = "{}"


class Texts(QTranslator):
    """Translations out of a JSON file, so that no tool and no binary file is needed.

    The English text is the key, whatever the context: nobody reads two meanings in one text.
    """

    def __init__(self, language: str) -> None:
        super().__init__()
        content = json.loads(_file(language))
        self._texts: dict[str, str] = content["window"]
        self._sentences: dict[str, str] = content[_SENTENCES]

    def isEmpty(self) -> bool:
        """Tell Qt that there is something to ask for."""
        return False

    def translate(
        self, context: str, text: str, disambiguation: str | None = None, n: int = -1
    ) -> str | None:
        """Return the translation, None where Qt shall ask the next translator."""
        del disambiguation, n
        return (self._sentences if context == _SENTENCES else self._texts).get(text)


def choose_language(wish: str, system: list[str]) -> str:
    """Return the language that is wished for, or else the first of the system's that is there."""
    for name in (wish, *system):
        language, *parts = name.replace("-", "_").split("_")
        if language == "zh" and {"TW", "HK", "MO", "Hant"} & set(parts):
            continue  # another script
        for known in LANGUAGES:
            if language == known.partition("_")[0]:
                return known
    return _SOURCE


def speak(application: QCoreApplication, wish: str) -> str:
    """Let all texts made from now on be of a language, and return it.

    A wish that is no language means the system's.
    """
    language = choose_language(wish, QLocale.system().uiLanguages())
    if wish in LANGUAGES:
        QLocale.setDefault(QLocale(language))
    if language != _SOURCE:
        folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        of_qt = QTranslator(application)
        if of_qt.load(f"qtbase_{language}", folder):
            application.installTranslator(of_qt)
        own = Texts(language)
        own.setParent(application)
        application.installTranslator(own)
    return language


def number(value: float, digits: int) -> str:
    """Write a number as the window's language does, with so many digits behind the point."""
    locale = QLocale()
    locale.setNumberOptions(QLocale.NumberOption.OmitGroupSeparator)
    return locale.toString(float(value), "f", digits)


def worded(sentence: object) -> str:
    """Return a finished English sentence of another room in the window's language.

    Where values stand in it, the sentence is found by the words around them; the values are
    sentences of that kind in turn, or stay. What is not known is told in English.
    """
    text = str(sentence)
    if (found := QCoreApplication.translate(_SENTENCES, text)) != text:
        return found
    for template in _templates():
        translated = QCoreApplication.translate(_SENTENCES, template)
        if translated != template and (match := _pattern(template).fullmatch(text)):
            return translated.format(*map(_inner, match.groups()))
    return text


def class_name(name: str) -> str:
    """Return a class's name as the window says it: the two of a new picture are translated.

    Files hold the English ones and mean the same everywhere, and what shows a file shows them.
    """
    return {"foreground": _tr("foreground"), "background": _tr("background")}.get(name, name)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Classes", text)


def _inner(value: str) -> str:
    """Return a value in words; a single word may be a name, and stays."""
    return worded(value) if " " in value else class_name(value)


@cache
def _file(language: str) -> str:
    return (ASSETS / "translations" / f"{language}.json").read_text(encoding="utf-8")


@cache
def _templates() -> list[str]:
    """Return the sentences with values, those with the most words of their own first."""
    known = next(name for name in LANGUAGES if name != _SOURCE)
    templates = [text for text in json.loads(_file(known))[_SENTENCES] if _VALUE in text]
    return sorted(templates, key=lambda text: len(text.replace(_VALUE, "")), reverse=True)


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """Return what finds a sentence by the words around its values."""
    return re.compile("(.+?)".join(map(re.escape, template.split(_VALUE))), re.DOTALL)
