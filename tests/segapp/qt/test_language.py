"""The window in other languages: nothing left out, nothing garbled, nothing cut."""

import ast
import pickle
import re
from pathlib import Path
from string import Formatter

import numpy as np
import pytest
from PySide6.QtCore import QLocale, QPointF, Qt, QTranslator
from PySide6.QtGui import QImage, QKeySequence
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QTabBar,
    QToolBar,
    QWidget,
)

import segapp
from segapp.__main__ import main
from segapp.io.deep_images import render_raw
from segapp.io.images import load_image
from segapp.io.pages import ImageError, join_notes, page_note
from segapp.io.project import load_project
from segapp.model.display import DisplaySettings
from segapp.model.picture import RawImage
from segapp.model.validation import Message, sentence
from segapp.qt.i18n import (
    LANGUAGES,
    JsonTranslator,
    choose_language,
    install_language,
    number,
    translate,
)
from segapp.qt.panels.status import _Elided
from tests.segapp.qt.conftest import save_now
from tests.texts import differences, languages, untranslatable, written

QT = Path(segapp.__file__).parent / "qt"
OTHERS = [language for language in LANGUAGES if language != "en"]


@pytest.fixture
def spoken(qapp):
    """Speak a language, and English again when the test is over."""
    before = QLocale()

    def begin(language):
        assert install_language(qapp, language) == language

    yield begin
    QLocale.setDefault(before)
    for translator in qapp.findChildren(QTranslator):
        qapp.removeTranslator(translator)
        translator.setParent(None)


def _fields(text):
    names = [
        (name, spec, how) for _, name, spec, how in Formatter().parse(text) if name is not None
    ]
    return {(name or str(at), spec, how) for at, (name, spec, how) in enumerate(names)}


def test_every_language_has_its_file():
    assert languages() == sorted(OTHERS)


@pytest.mark.parametrize("language", OTHERS)
def test_no_text_is_left_out(language):
    missing, needless = differences(language)

    assert not missing, f"{language}: see python -m tests.texts"
    assert not needless, f"{language}: see python -m tests.texts"


@pytest.mark.parametrize("language", OTHERS)
def test_values_letters_and_tags_stay(language):
    for part in written(language).values():
        for text, translated in part.items():
            assert translated.strip(), text
            assert _fields(translated) == _fields(text), translated
            assert translated.count("&") == text.count("&"), translated
            assert translated.count("<") == text.count("<"), translated
            assert translated.endswith("…") == text.endswith("…") or ", …" in text, translated


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_letter_opens_one_entry_of_a_menu(language, spoken, make_window):
    spoken(language)
    window = make_window()
    menus = [window.menuBar(), *window.menuBar().findChildren(QMenu)]
    for entry in window.menuBar().actions():
        menus.append(entry.menu())
        menus += [action.menu() for action in entry.menu().actions() if action.menu()]
    for menu in menus:
        letters = [_letter(action.text()) for action in menu.actions() if "&" in action.text()]
        assert len(letters) == len(set(letters)), (menu.objectName(), letters)


def _letter(text):
    at = text.replace("&&", "  ").find("&")
    return text[at + 1].lower() if at >= 0 else text


@pytest.mark.parametrize("language", OTHERS)
def test_the_window_speaks_it(language, spoken, make_window):
    english = make_window()
    keys = {
        name: english.commands[name].shortcut().toString(_PORTABLE) for name in english.commands
    }
    spoken(language)
    window = make_window()

    texts = written(language)["window"]
    assert window.menuBar().actions()[0].text() == texts["&File"]
    assert window.commands.name_of("open") == {"de": "Öffnen", "zh_CN": "打开"}[language]
    assert window.docks.settings.windowTitle() == texts["Settings"]
    assert {n: window.commands[n].shortcut().toString(_PORTABLE) for n in keys} == keys
    cancel = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
    assert cancel.buttons()[0].text() == {"de": "Abbrechen", "zh_CN": "取消"}[language]


_PORTABLE = QKeySequence.SequenceFormat.PortableText


def test_errors_and_messages_of_other_packages_are_translated(spoken, tmp_path):
    path = tmp_path / "none.png"
    with pytest.raises(ImageError) as caught:
        load_image(path)
    error = pickle.loads(pickle.dumps(caught.value))  # as from a worker process
    assert str(error) == translate(error) == f"There is no file {path}."
    one_other = Message("one other class")
    asked = Message("Only {} is marked so far: mark {} as well.", "colour", one_other)
    assert asked == "Only colour is marked so far: mark one other class as well."

    spoken("de")

    assert translate(error) == translate(sentence(error)) == f"Es gibt keine Datei {path}."
    assert translate("Finding regions") == "Gebiete suchen"
    assert translate(Message("Earlier strokes, {} of {}", 3, 7)) == "Frühere Striche, 3 von 7"
    # A class's name is a name, also where it is a word that is known.
    assert (
        translate(asked) == "Bisher ist nur colour markiert: auch eine weitere Klasse markieren."
    )
    assert "Vordergrund" in translate(Message(asked.template, "foreground", one_other))
    assert translate("This has no translation.") == "This has no translation."


def test_errors_that_reach_the_window_have_templates():
    assert untranslatable() == []


def test_no_number_of_the_window_is_formatted_without_its_language():
    exempt = {("help.py", "g"), ("settings_panel.py", "g")}  # a report, values between commas
    found = {
        (file.name, part.value[-1])
        for file in QT.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None
        for part in node.format_spec.values
        if isinstance(part, ast.Constant) and part.value[-1] in "efg"
    }
    assert found == exempt


def test_numbers_are_written_as_the_language_does(spoken, make_window, picture_file, answered):
    spoken("de")
    assert number(0.536, 2) == "0,54"
    assert number(6400, 0) == "6400"
    window = answered(make_window(picture_file()))
    assert re.fullmatch(r"Aktuell, \d+,\d\d s", window.status.state_text)


@pytest.mark.parametrize(("language", "first"), [("de", "Vordergrund"), ("zh_CN", "前景")])
def test_a_new_pictures_classes_speak_it_and_files_hold_the_english_names(
    language, first, spoken, make_window, picture_file, tmp_path, qtbot
):
    spoken(language)
    window = make_window(picture_file())
    rows = window.class_panel._list
    assert rows.item(0).text() == first
    assert first in rows.item(0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert window.menus.left_class.actions()[0].text() == first
    qtbot.mouseClick(window.canvas, Qt.MouseButton.LeftButton)
    assert first in window.commands["undo"].text()
    window.class_panel.edit_name()
    editor = QApplication.focusWidget()
    assert editor.text() == first
    qtbot.keyClick(editor, Qt.Key.Key_Return)  # it is read and left as it is
    qtbot.waitUntil(lambda: rows.viewport().findChild(QLineEdit) is None)
    assert [info.name for info in window.session.document.classes] == ["foreground", "background"]
    assert save_now(window, tmp_path / "a.segapp")
    kept = load_project(tmp_path / "a.segapp").document.classes
    assert [info.name for info in kept] == ["foreground", "background"]
    window.class_panel.edit_name()
    qtbot.keyClicks(QApplication.focusWidget(), "leaf")
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.session.document.classes[0].name == "leaf")
    assert rows.item(0).text() == "leaf"


def _note(values, **choices):
    return render_raw(RawImage(values), None, DisplaySettings(**choices)).note


def test_notes_are_translated_piece_by_piece(spoken):
    ramp = np.linspace(0, 4095, 4096).reshape(64, 64, 1).repeat(5, axis=2)
    whole, floating = ramp.astype(np.uint16), ramp.astype(np.float32)
    floating[0, :7, 0] = np.nan
    spoken("de")
    note = _note(whole[..., :1])
    assert translate(note) == note.replace("shown from", "gezeigt von").replace(" to ", " bis ")
    note = _note(floating)
    assert re.search("shown from .* to .*, 7 values are not numbers, channels 1 to 3 of 5$", note)
    assert translate(note).endswith("7 Werte sind keine Zahlen, Kanäle 1 bis 3 von 5")
    note = join_notes([_note(whole, channels=(0, 1, None)), page_note(1, 9)])
    assert re.fullmatch(
        "16-bit, channel 1 from .* to .*, channel 2 from .* to .*, page 2 of 9", note
    )
    assert re.fullmatch(
        "16-bit, Kanal 1 von .* bis .*, Kanal 2 von .* bis .*, Seite 2 von 9", translate(note)
    )
    assert translate(page_note(0, 12)) == "erste von 12 Seiten"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_display_of_a_deep_picture_is_described_until_another_one_opens(
    language, spoken, make_window, tmp_path, qtbot
):
    import tifffile

    path = tmp_path / "deep.tif"
    tifffile.imwrite(path, np.linspace(100, 4000, 4800).reshape(60, 80).astype(np.uint16))
    spoken(language)
    window = make_window(path)
    shown = {"en": "shown from", "de": "gezeigt von", "zh_CN": "显示"}[language]
    qtbot.waitUntil(lambda: shown in window.status.currentMessage())
    plain = tmp_path / "plain.png"
    QImage(30, 20, QImage.Format.Format_RGB32).save(str(plain))
    said = []
    window.status.messageChanged.connect(said.append)
    with qtbot.waitSignal(window.files.opened):
        window.files.open(plain)
    qtbot.waitUntil(lambda: window.status.currentMessage() == "")
    assert any("plain.png" in sentence for sentence in said)


def test_the_language_is_the_wish_or_the_system_s():
    assert choose_language("de", ["zh-CN"]) == "de"
    assert choose_language("system", ["de-AT", "en-GB"]) == "de"
    assert choose_language("", ["fr-FR", "zh-Hans-CN", "en"]) == "zh_CN"
    assert choose_language("", ["zh-Hant-TW", "zh-TW"]) == "en"
    assert choose_language("", ["en-GB", "de"]) == "en"
    assert choose_language("", []) == "en"


def test_the_choice_of_a_language_is_kept(make_window):
    window = make_window()
    assert window.commands["language_system"].isChecked()

    window.commands["language_de"].trigger()

    assert window.preferences.get("language", "") == "de"
    assert make_window().commands["language_de"].isChecked()


def test_the_command_line_knows_the_same_languages(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "{" + ",".join(sorted(LANGUAGES)) + "}" in capsys.readouterr().out


def test_qt_is_asked_for_what_is_unknown():
    assert JsonTranslator("de").translate("QPlatformTheme", "Cancel") is None
    assert QApplication.translate("QPlatformTheme", "Cancel") == "Cancel"


@pytest.fixture
def from_the_right(qapp):
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    yield
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


def _cut(window):
    """Return the labels and buttons that have less room than their words take."""
    return {
        (type(part).__name__, part.text())
        for kind in (QLabel, QAbstractButton)
        for part in window.findChildren(kind)
        if part.isVisible() and part.text() and not isinstance(part, _Elided)
        if part.width() < part.minimumSizeHint().width()
    }


def test_from_right_to_left_the_picture_stays_and_nothing_is_cut(
    from_the_right, make_window, picture_file, qtbot
):
    window = make_window(picture_file(), size=(1024, 640))
    canvas = window.canvas
    assert window.docks.paint.isRightToLeft()
    qtbot.waitUntil(lambda: not _cut(window))

    red, blue = (canvas.viewport.view.to_widget(QPointF(x, 30)).toPoint() for x in (20, 60))
    seen = canvas.grab().toImage()
    assert red.x() < blue.x()
    assert seen.pixelColor(red).red() > 150
    assert seen.pixelColor(blue).blue() > 150
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=red)
    (stroke,) = window.session.document.strokes
    assert stroke.points[0] == pytest.approx((20, 30), abs=1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_panels_leave_the_picture_its_room_in_every_language(
    language, spoken, make_window, picture_file, qtbot
):
    picture_file("folder/a.png")
    first = picture_file("folder/b.png")
    spoken(language)
    window = make_window(first, size=(1024, 640))
    qtbot.waitUntil(lambda: window.docks.settings.width() <= 330)
    assert window.canvas.width() >= 640
    window.files.open_several([first.parent])
    qtbot.waitUntil(window.docks.files.isVisible)
    qtbot.waitUntil(lambda: window.docks.files.width() <= 260)
    assert window.canvas.width() >= 400


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_small_window_cuts_no_words(language, spoken, make_window, picture_file, qtbot):
    spoken(language)
    window = make_window(picture_file(), size=(1024, 640))
    assert (window.width(), window.height()) == (1024, 640)
    qtbot.wait(100)  # until the tool bars have seen how narrow it is
    for bar in window.findChildren(QToolBar):
        wanted = [a for a in bar.actions() if a.isVisible()]
        hidden = [a.text() for a in wanted if not bar.widgetForAction(a).isVisible()]
        assert not hidden, "beyond the end of the tool bar"
    qtbot.waitUntil(lambda: not _cut(window))


# The whole window in an invented language ------------------------------------------------------


class Marked(QTranslator):
    """Puts every text that is translated in brackets: what has none was left out."""

    def isEmpty(self):
        return False

    def translate(self, context, text, disambiguation=None, n=-1):
        return f"⟦{text}⟧"


def _texts_of(root):
    """Yield what can be read or heard in a window, with where it stands."""
    for part in (root, *root.findChildren(QWidget)):
        for name in ("text", "title", "placeholderText", "windowTitle", "toolTip", "statusTip"):
            told = getattr(part, name, None)
            if callable(told) and not isinstance(part, QLineEdit | QPlainTextEdit):
                yield told(), part, name
        yield part.accessibleName(), part, "accessibleName"
        yield part.accessibleDescription(), part, "accessibleDescription"
        if isinstance(part, QComboBox):
            yield from ((part.itemText(row), part, "item") for row in range(part.count()))
        if isinstance(part, QTabBar):
            yield from ((part.tabText(place), part, "tab") for place in range(part.count()))
        if isinstance(part, QHeaderView) and part.model() is not None:
            model = part.model()
            for column in range(part.count()):
                header = model.headerData(column, Qt.Orientation.Horizontal)
                yield str(header or ""), part, "header"
        for action in part.actions():
            yield action.text(), part, "action"
            yield action.toolTip(), part, "action's tip"


def _left_out(root, names):
    found = set()
    for text, part, where in _texts_of(root):
        told = re.sub(r"⟦.*?⟧|<[^>]*>|&(?!amp)", " ", text or "", flags=re.DOTALL)
        for name in sorted(names, key=len, reverse=True):
            told = told.replace(name, " ")
        if re.search(r"[A-Za-z]{3,}", told):
            found.add((type(part).__name__, where, text))
    return found


# Names of people's own, of languages, formats and keys, which are the same in every language.
_NAMES = (
    *LANGUAGES.values(), "foreground", "background", "picture.png", "segapp", "SHL", "COCO",
    "CVAT", "JSON", "CSV", "PNG", "Ctrl", "Shift", "Alt", "Del", "PgUp", "PgDown", "Return", "Esc",
    "8-bit", "qt_spinbox_lineedit",
)  # fmt: skip


@pytest.fixture
def marked(qapp):
    translator = Marked()
    qapp.installTranslator(translator)
    yield
    qapp.removeTranslator(translator)


def test_every_word_of_the_window_can_be_translated(
    marked, make_window, picture_file, answered, tmp_path
):
    window = answered(make_window(picture_file()))
    window.settings_panel.fold.setChecked(True)
    window.measuring.dock.show()
    assert _left_out(window, (*_NAMES, str(tmp_path))) == set()


@pytest.mark.parametrize("command", ["shortcuts", "problem", "about", "export", "levels"])
def test_so_can_every_word_of_the_dialogs(
    command, marked, make_window, picture_file, answered, qtbot
):
    window = answered(make_window(picture_file()))
    window.commands[command].trigger()
    dialogs = [w for w in window.findChildren(QDialog) if w.isVisible()]
    assert dialogs
    found = set().union(*(_left_out(dialog, _NAMES) for dialog in dialogs))
    for dialog in dialogs:
        dialog.close()
    qtbot.wait(20)
    assert found == set()
