import subprocess
import sys
import textwrap

import pytest

from segapp.files.project_file import load_project
from segapp.qt.files import file_dialogs
from segapp.qt.files.autosave import Autosave
from segapp.qt.files.file_dialogs import Unsaved
from segapp.qt.window.start import begin


def copies(root):
    return sorted(root.glob("*/*.segapp"))


@pytest.fixture
def root(tmp_path):
    return tmp_path / "recovery"


@pytest.mark.slow
def test_strokes_are_on_disk_within_seconds_and_gone_after_a_clean_end(
    make_window, picture_file, two_strokes, qtbot, root
):
    window = make_window(picture_file())
    window.session.add_stroke(two_strokes[0])
    qtbot.waitUntil(lambda: len(copies(root)) == 1, timeout=4000)
    assert load_project(copies(root)[0]).document == window.session.document
    window.session.add_stroke(two_strokes[1])
    qtbot.waitUntil(
        lambda: load_project(copies(root)[0]).document == window.session.document, timeout=4000
    )
    window.close()
    assert copies(root) == []


@pytest.mark.slow
def test_what_is_saved_needs_no_copy(
    make_window, picture_file, two_strokes, qtbot, root, tmp_path
):
    window = make_window(picture_file())
    window.session.add_stroke(two_strokes[0])
    qtbot.waitUntil(lambda: len(copies(root)) == 1, timeout=4000)
    window.files.save(window.session.state, tmp_path / "saved.segapp")
    qtbot.waitUntil(lambda: copies(root) == [], timeout=4000)


def test_a_running_program_is_not_robbed(make_window, picture_file, two_strokes, root):
    window = make_window(picture_file())
    window.session.add_stroke(two_strokes[0])
    window.autosave.write_now()
    other = Autosave(window.session, root)
    assert other.orphans() == []
    other.close()


@pytest.fixture
def crashed(picture_file, root, tmp_path):
    """Let another process draw a stroke and die without a word."""
    image = picture_file()
    script = f"""
        import os
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        from pathlib import Path
        from PySide6.QtWidgets import QApplication
        from segapp.values.document import Stroke
        from segapp.files.images import load_image
        from segapp.qt.canvas.layers import Layer, opaque
        from segapp.qt.files.autosave import Autosave
        from segapp.qt.session.session import Session
        from segapp.qt.session.picture_state import PictureState
        application = QApplication([])
        session = Session()
        session.answers.live = False
        autosave = Autosave(session, Path({str(root)!r}))
        picture = load_image({str(image)!r})
        state = PictureState(picture.path, picture.sha256)
        session.open(picture, Layer(opaque(picture.rgb)), state)
        session.add_stroke(Stroke(((10.0, 30.0), (20.0, 40.0)), 4.0, 0))
        autosave.write_now()
        os._exit(9)
    """
    code = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], check=False, timeout=60
    ).returncode
    assert code == 9
    assert len(copies(root)) == 1
    return image


@pytest.mark.slow
def test_after_a_crash_the_strokes_are_offered_and_restored(
    crashed, make_window, qtbot, root, monkeypatch, two_strokes
):
    offered = []

    def ask(_, states):
        offered.extend(states)
        return Unsaved.SAVE

    monkeypatch.setattr(file_dialogs, "ask_restore", ask)
    window = make_window()
    with qtbot.waitSignal(window.files.opened):
        begin(window, None)
    assert [state.path for state in offered] == [crashed]
    assert window.session.document.strokes == two_strokes[:1]
    assert window.isWindowModified()
    assert len(copies(root)) == 1  # now this program's own


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "left"), [(Unsaved.DISCARD, 0), (Unsaved.CANCEL, 1)])
def test_what_is_offered_may_be_discarded_or_kept_for_later(
    crashed, make_window, picture_file, qtbot, root, monkeypatch, answer, left
):
    monkeypatch.setattr(file_dialogs, "ask_restore", lambda *_: answer)
    window = make_window()
    with qtbot.waitSignal(window.files.opened):
        begin(window, crashed)
    assert window.session.document.strokes == ()
    assert len(copies(root)) == left


def test_a_spoilt_copy_is_no_reason_not_to_start(make_window, root):
    (root / "old").mkdir(parents=True)
    (root / "old" / "x.segapp").write_bytes(b"half a fi")
    window = make_window()
    assert not window.file_commands.offer_left_behind()


def test_an_autosave_folder_that_cannot_be_made_is_told_once(
    make_window, picture_file, two_strokes, tmp_path, qtbot
):
    (tmp_path / "recovery").write_text("a file in the way")
    window = make_window(picture_file())
    told = []
    window.autosave.failed.connect(told.append)
    for stroke in two_strokes:
        window.session.add_stroke(stroke)
        window.autosave.write_now()
    assert len(told) == 1
