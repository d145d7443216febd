"""Texts of the window, found in the source, and the translations that a language lacks.

``python -m tests.texts`` lists the missing and the needless ones of each language.
"""

import ast
import json
import re
import sys
from itertools import chain
from pathlib import Path

from segapp.io.export.formats import FOLDER_FORMATS, FORMATS
from segapp.model.settings import FeatureGroup, Samples
from segapp.qt.actions import COMMANDS
from segapp.qt.i18n import table_entries
from segapp.qt.panels.setting_texts import FEATURES, PRESETS, SETTINGS

ROOT = Path(__file__).parents[1]
TRANSLATIONS = ROOT / "assets" / "translations"
# Words of Qt's own dialogs that Qt leaves in English in some language, or has no room for.
OF_QT = {"&Look in:", "Files of &type:", "Folder", "Drive"}
# Whose errors reach the window: networks are added by a command, which is English.
_RAISING = (
    "app/folder_learning.py",
    "io",
    "engine",
    "batch/folder_export.py",
    "encoders/feature_cache.py",
    "encoders/ipc.py",
    "encoders/packages.py",
    "encoders/registry.py",
    "encoders/runner.py",
)
# Values of messages that are names, such as a format's.
_NAMES = {"linear", "polynomial", "It does not fit into the memory."}


def wanted():
    """Return the English texts of each section of a file of translations."""
    return {"window": _window_texts() | OF_QT, "sentences": _sentences()}


def written(language):
    """Return the translations of a language, section by section."""
    return json.loads((TRANSLATIONS / f"{language}.json").read_text(encoding="utf-8"))


def languages():
    """Return the languages that have a file."""
    return sorted(path.stem for path in TRANSLATIONS.glob("*.json"))


def differences(language):
    """Return the missing and the needless texts of a language."""
    have = written(language)
    asked = wanted()
    missing = [text for part in asked for text in sorted(asked[part] - have[part].keys())]
    needless = [text for part in asked for text in sorted(have[part].keys() - asked[part])]
    return missing, needless


def _window_texts():
    entries = chain.from_iterable(map(table_entries, (COMMANDS, SETTINGS, FEATURES, PRESETS)))
    found = {text for cells, explanation in entries for text in (cells[1], explanation)}
    for node in _nodes("qt"):
        if isinstance(node, ast.Call):
            place = 0 if re.fullmatch("tr|_tr|_tr_.*", _name(node.func)) else len(node.args)
            place = 1 if _name(node.func) == "translate" else place
            found |= {_constant(argument) for argument in node.args[place : place + 1]}
    return found - {None}


def _sentences():
    """Return the templates of messages and errors, steps of learning, and names of choices."""
    found = {text for form in FORMATS.values() for text in (form.title, form.values)}
    found |= {text for form in FOLDER_FORMATS.values() for text in (form.title, form.values)}
    found |= {group.value for group in FeatureGroup}
    found |= {member.value.capitalize() for member in Samples}
    found |= _NAMES
    for room in ("io", "engine", "encoders", "model/explanation.py"):
        for node in _calls(room):
            if _name(node.func) in ("Message", "Report", "end"):
                found.add(_constant(node.args[0]))
    for room in _RAISING:
        found |= {_constant(node.args[0]) for node in _calls(room) if _is_sentence(node)}
    return found - {None}


def untranslatable():
    """Return errors that reach the window as finished sentences, without a template."""
    return [
        ast.unparse(node)
        for room in _RAISING
        for node in _calls(room)
        if _is_error(node) and _name(node.func) != "ValueError"  # a fault of the program
        if isinstance(node.args[0], ast.JoinedStr)
        if isinstance(end := node.args[0].values[-1], ast.Constant) and end.value.endswith(".")
        if room != "encoders/registry.py"
    ]


def _nodes(room):
    place = ROOT / "segapp" / room
    for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def _calls(room):
    return (node for node in _nodes(room) if isinstance(node, ast.Call) and node.args)


def _is_error(node):
    return _name(node.func).endswith(("Error", "error", "NotEnoughStrokes"))


def _is_sentence(node):
    """Tell an error with a template, or a whole sentence without values."""
    text = _constant(node.args[0])
    return _is_error(node) and text is not None and " " in text and text.endswith(".")


def _name(function):
    return getattr(function, "id", getattr(function, "attr", ""))


def _constant(node):
    if isinstance(node, ast.IfExp):
        return None
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def main():
    lacking = False
    for language in languages():
        for title, texts in zip(("missing", "needless"), differences(language), strict=True):
            lacking |= bool(texts)
            sys.stdout.write(f"{language}: {len(texts)} {title}\n")
            for text in texts:
                sys.stdout.write(f"    {json.dumps(text, ensure_ascii=False)}: \n")
    return int(lacking)


if __name__ == "__main__":
    sys.exit(main())
