"""The texts that people read in the window, found in the source, and what a language lacks.

``python -m tests.texts`` lists the missing and the needless ones of each language.
"""

import ast
import json
import sys
from pathlib import Path

from segapp.io.export.formats import FOLDER_FORMATS, FORMATS
from segapp.model.settings import FeatureGroup, Samples

ROOT = Path(__file__).parents[1]
TRANSLATIONS = ROOT / "assets" / "translations"
# What is said about a picture that was made visible, piece by piece: `display_depth`.
NOTES = {
    "{}, shown from {} to {}",
    "{}, without a single number",
    "{}, shown from {} to {}, {} values are no numbers",
    "{}, channels 1 to {} of {}",
    "{}, channel {} from {} to {}",
    "first of {} pages",
    "{}, first of {} pages",
    "page {} of {}",
    "{}, page {} of {}",
    "{}, shown with the upper 8 bits",
    "shown without turning, as its EXIF data are damaged",
    "{}, shown without turning, as its EXIF data are damaged",
}
# Words of Qt's own dialogs that Qt leaves in English in some language, or has no room for.
OF_QT = {"&Look in:", "Files of &type:", "Folder", "Drive"}
# Rooms whose words the window passes on.
_SPEAKING = ("files", "learning")
# Networks are added by a command; what the window passes on is of those that are there.
_OF_ENCODERS = ("encoding.py", "installed.py", "running.py")


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
    found = set()
    for node in _nodes("qt"):
        if isinstance(node, ast.Call):
            place = {"tr": 0, "_tr": 0, "translate": 1}.get(_name(node.func), len(node.args))
            found |= {_text(argument) for argument in node.args[place : place + 1]}
    return found - {None}


def _sentences():
    """Return the steps of learning, errors that are whole sentences, and names of choices."""
    found = {text for form in FORMATS.values() for text in (form.title, form.values)}
    found |= {text for form in FOLDER_FORMATS.values() for text in (form.title, form.values)}
    found |= {group.value for group in FeatureGroup}
    found |= {member.value.capitalize() for member in Samples}
    found |= {"linear", "polynomial", "one other class"}  # within longer texts
    found |= NOTES
    for room in ("encoders", *_SPEAKING):
        for node in _nodes(room):
            text = None
            if isinstance(node, ast.Call) and _ends(node.func, "Report", "laps.end"):
                text = _text(node.args[0])
            elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                text = _sentence(node.exc.args[0] if node.exc.args else None)
            elif isinstance(node, ast.Return):
                text = _sentence(node.value)
            found.add(text)
    return found - {None}


def _nodes(room):
    for path in sorted((ROOT / "segapp" / room).rglob("*.py")):
        if room == "encoders" and path.name not in _OF_ENCODERS:
            continue
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def _ends(function, *names):
    return ast.unparse(function) in names


def _name(function):
    return getattr(function, "id", getattr(function, "attr", ""))


def _text(node):
    """Return a text as it is translated: with braces where a value stands."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
    return None


def _sentence(node):
    text = _text(node)
    whole = text is not None and text.endswith(".") and any(c.isalpha() for c in text)
    return text if whole and " " in text else None


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
