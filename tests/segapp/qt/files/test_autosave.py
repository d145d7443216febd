import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
import zipfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from segapp.app import project_files, project_store, recovery
from segapp.app.project_files import find_project
from segapp.app.project_store import ProjectLocationPolicy, ProjectStore, SaveLocation
from segapp.app.recovery import RecoveryCopy, UnreadableCopy, orphaned_folders
from segapp.engine import trainer
from segapp.engine.state_update import StateUpdate
from segapp.engine.trainer import Trainer, segment
from segapp.io.images import load_image
from segapp.io.project import Project, ProjectError, load_project, save_project
from segapp.model.document import Document, Stroke
from segapp.model.settings import DEFAULT_SETTINGS
from segapp.qt.files import file_dialogs
from segapp.qt.files.file_dialogs import Decision, RestoreDialog
from segapp.qt.files.preferences import Preferences
from segapp.qt.window import main_window, startup
from segapp.qt.window.startup import open_initial
from tests.segapp.qt.conftest import press_save, save_now


def copies(root):
    return sorted(root.glob("*/*.segapp"))


def strokes_on_disk(root):
    return [len(load_project(path).document.strokes) for path in copies(root)]


def dot(number):
    return Stroke(((10.0 + number % 60, 20.0),), 2.0, number % 2)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "recovery"


def orphaned(root):
    return orphaned_folders(root, lambda image: find_project(image, image.parent))


@pytest.fixture
def left(root):
    """Leave a copy behind, as a program that was killed does."""

    def leave(image, n_strokes, name="left", age=0.0, lock=b"1\nsegapp\nelsewhere\n"):
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "lock").write_bytes(lock)
        document = Document(strokes=tuple(dot(number) for number in range(n_strokes)))
        file = folder / f"{image.stem}.segapp"
        sha256 = load_image(image).sha256
        save_project(file, Project(document, DEFAULT_SETTINGS, image, sha256))
        os.utime(file, (time.time() - age,) * 2)
        return file

    return leave


@pytest.fixture
def decide(monkeypatch):
    """Answer the question about what was left behind; return what was offered."""
    offered = []

    def answer(choose):
        def ask(_, left):
            offered[:] = left
            return choose(left)

        monkeypatch.setattr(file_dialogs, "ask_restore", ask)
        return offered

    return answer


@pytest.fixture
def told(monkeypatch):
    """Return the sentences of message boxes."""
    sentences = []
    for module in (file_dialogs, startup, main_window):
        monkeypatch.setattr(module, "complain", lambda _, text, *__: sentences.append(text))
    return sentences


def restore_newest(offered):
    return Decision(restore=tuple(offered[:1]))


# On disk in time ------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_stroke_is_on_disk_within_two_seconds_however_busy_the_user_is(
    make_window, picture_file, qtbot, root
):
    window = make_window(picture_file())
    canvas = window.canvas
    centre = QPoint(canvas.width() // 2, canvas.height() // 2)
    ended, late = [], []
    for number in range(16):
        at = centre + QPoint(3 * number, 0)
        QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=at)
        QTest.mouseMove(canvas, at + QPoint(2, 9))
        QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=at + QPoint(2, 9))
        ended.append(time.monotonic())
        assert len(window.session.document.strokes) == number + 1
        qtbot.wait(250)
        safe = max(strokes_on_disk(root), default=0)
        late += [moment for moment in ended[safe:] if time.monotonic() - moment > 2]
    assert not late
    assert len(copies(root)) == 1


@pytest.mark.slow
def test_a_slow_disk_is_neither_interrupted_nor_starved(
    make_window, picture_file, qtbot, root, monkeypatch
):
    spans = []

    def slow(path, project):
        began = time.monotonic()
        time.sleep(0.4)
        save_project(path, project)
        spans.append((began, time.monotonic(), len(project.document.strokes)))

    monkeypatch.setattr(recovery, "save_project", slow)
    window = make_window(picture_file())
    for number in range(20):
        window.session.add_stroke(dot(number))
        qtbot.wait(100)
    qtbot.waitUntil(lambda: bool(spans) and spans[-1][2] == 20)
    assert len(spans) >= 3
    pauses = [after[0] - before[1] for before, after in pairwise(spans)]
    assert max(pauses) < 0.3  # the next one began right after


@pytest.mark.slow
def test_saved_work_needs_no_copy_and_a_clean_end_leaves_none(
    make_window, picture_file, two_strokes, qtbot, root, tmp_path
):
    window = make_window(picture_file())
    window.session.add_stroke(two_strokes[0])
    qtbot.waitUntil(lambda: strokes_on_disk(root) == [1])
    save_now(window, tmp_path / "saved.segapp")
    qtbot.waitUntil(lambda: copies(root) == [])
    window.session.add_stroke(two_strokes[1])
    qtbot.waitUntil(lambda: strokes_on_disk(root) == [2])
    window.close()
    assert list(root.iterdir()) == []


def test_a_name_that_is_no_text_is_kept_like_any_other(
    make_window, picture_file, two_strokes, qtbot, root, tmp_path
):
    pytest.importorskip("segapp.model.validation", reason="projects cannot hold such names yet")
    odd = tmp_path / os.fsdecode(b"b\xff\xe9.png")
    picture_file().rename(odd)
    window = make_window(odd)
    window.session.add_stroke(two_strokes[0])
    window.autosave.write_soon()
    qtbot.waitUntil(lambda: strokes_on_disk(root) == [1])
    assert load_project(copies(root)[0]).image_path == odd
    window.close()


def test_an_error_in_one_copy_stops_no_other(
    make_window, picture_file, two_strokes, qtbot, root, monkeypatch
):
    first, second = picture_file("1.png"), picture_file("2.png")

    def picky(path, project):
        if project.image_path == first:
            raise UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed")
        save_project(path, project)

    monkeypatch.setattr(recovery, "save_project", picky)
    window = make_window(first)
    told, said = [], []
    window.autosave.failed.connect(lambda *words: told.append(words))
    window.autosave.message.connect(said.append)
    window.session.add_stroke(two_strokes[0])
    window.autosave.write_soon()
    qtbot.waitUntil(lambda: len(told) == 1)
    with qtbot.waitSignal(window.files.opened):
        window.files.open(second)
    window.session.add_stroke(two_strokes[0])
    window.session.add_stroke(two_strokes[1])
    window.autosave.write_soon()
    qtbot.waitUntil(lambda: strokes_on_disk(root) == [2])
    assert "surrogates not allowed" in told[0][0]
    assert "Traceback" in told[0][1]


def test_after_a_full_disk_saving_is_tried_again_and_reported(
    make_window, picture_file, two_strokes, qtbot, root, monkeypatch
):
    full = [True]

    def write(path, project):
        if full[0]:
            raise OSError(28, "No space left on device")
        save_project(path, project)

    monkeypatch.setattr(recovery, "save_project", write)
    monkeypatch.setattr(project_store, "_RETRY_SECONDS", (0.05, 0.1))
    window = make_window(picture_file())
    told, said = [], []
    window.autosave.failed.connect(lambda *words: told.append(words))
    window.autosave.message.connect(said.append)
    window.session.add_stroke(two_strokes[0])
    window.autosave.write_soon()
    qtbot.waitUntil(lambda: len(said) >= 3)
    assert all("No space left on device" in sentence for sentence in said)
    assert len(told) == 1
    full[0] = False
    qtbot.waitUntil(lambda: strokes_on_disk(root) == [1])
    qtbot.waitUntil(lambda: "again" in said[-1])
    assert "again" in window.status.currentMessage()


def test_a_folder_that_cannot_be_made_is_reported_once_and_nothing_else_suffers(
    make_window, picture_file, two_strokes, qtbot, root
):
    root.write_text("a file in the way")
    window = make_window(picture_file())
    told = []
    window.autosave.failed.connect(lambda *words: told.append(words))
    for stroke in two_strokes:
        window.session.add_stroke(stroke)
        window.autosave.write_soon()
        qtbot.wait(50)
    assert len(told) == 1
    assert tuple(window.session.document.strokes) == two_strokes


def test_a_state_folder_that_was_cleared_away_is_made_again(
    make_window, picture_file, two_strokes, qtbot, root
):
    window = make_window(picture_file())
    window.session.add_stroke(two_strokes[0])
    window.autosave.write_soon()
    qtbot.waitUntil(lambda: strokes_on_disk(root) == [1])
    for file in (*root.glob("*/*"), *root.iterdir(), root):
        file.rmdir() if file.is_dir() else file.unlink()
    window.session.add_stroke(two_strokes[1])
    window.autosave.write_soon()
    qtbot.waitUntil(lambda: strokes_on_disk(root) == [2])
    assert orphaned(root) == []  # it is locked again


def test_unsaved_strokes_under_an_opened_project_have_a_copy_of_their_own(
    make_window, picture_file, two_strokes, qtbot, root, tmp_path
):
    window = make_window(picture_file())
    target = tmp_path / "work.segapp"
    assert save_now(window, target)
    for stroke in two_strokes:
        window.session.add_stroke(stroke)
    with qtbot.waitSignal(window.files.opened):
        window.files.open(target)
    qtbot.waitUntil(lambda: strokes_on_disk(root) == [2])
    window.session.add_stroke(two_strokes[0])
    window.autosave.write_soon()
    qtbot.waitUntil(lambda: sorted(strokes_on_disk(root)) == [1, 2])
    window.close()
    assert list(root.iterdir()) == []


# Whose folder it is ---------------------------------------------------------------------------


def test_a_running_program_is_not_robbed(make_window, picture_file, two_strokes, qtbot, root):
    window = make_window(picture_file())
    window.session.add_stroke(two_strokes[0])
    window.autosave.write_soon()
    qtbot.waitUntil(lambda: strokes_on_disk(root) == [1])
    other = ProjectStore(ProjectLocationPolicy(Preferences()), root)
    assert other.recovery_copies() == []
    other.close()
    assert strokes_on_disk(root) == [1]


# Offering and restoring -----------------------------------------------------------------------


@pytest.mark.slow
def test_after_a_kill_the_strokes_are_offered_and_restored(
    make_window, picture_file, qtbot, root, decide, two_strokes
):
    image = picture_file()
    script = f"""
        import os
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        from pathlib import Path
        from PySide6.QtWidgets import QApplication
        from segapp.model.document import Stroke
        from segapp.io.images import load_image
        from segapp.qt.canvas.layers import Layer
        from segapp.qt.canvas.layers import add_alpha
        from segapp.app.project_store import (ProjectLocationPolicy, ProjectStore)
        from segapp.qt.files.autosave import Autosave
        from segapp.qt.files.preferences import Preferences
        from segapp.qt.session.session import Session
        from segapp.app.state import PictureState
        application = QApplication([])
        session = Session()
        session.answers.live = False
        store = ProjectStore(ProjectLocationPolicy(Preferences()), Path({str(root)!r}))
        autosave = Autosave(session, store)
        picture = load_image({str(image)!r})
        state = PictureState(picture.path, picture.sha256)
        session.open(picture, Layer(add_alpha(picture.rgb)), state)
        session.add_stroke(Stroke(((10.0, 30.0), (20.0, 40.0)), 4.0, 0))
        while not list(Path({str(root)!r}).glob("*/*.segapp")):
            application.processEvents()
        os._exit(9)
    """
    code = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], check=False, timeout=60
    ).returncode
    assert code == 9
    offered = decide(restore_newest)
    window = make_window()
    with qtbot.waitSignal(window.files.opened):
        open_initial(window, None)
    assert [copy.state.path for copy in offered] == [image]
    assert tuple(window.session.document.strokes) == two_strokes[:1]
    assert window.isWindowModified()
    qtbot.waitUntil(lambda: len(list(root.iterdir())) == 1)
    assert len(copies(root)) == 1  # now this program's own


@pytest.mark.parametrize("newer_name", ["a", "z"])
def test_of_two_copies_the_newest_is_restored_and_the_other_kept(
    make_window, picture_file, left, qtbot, root, decide, newer_name
):
    image = picture_file()
    older = left(image, 3, name="m", age=600)
    newer = left(image, 5, name=newer_name, age=60)
    offered = decide(restore_newest)
    window = make_window()
    with qtbot.waitSignal(window.files.opened):
        open_initial(window, None)
    assert [copy.file for copy in offered] == [newer, older]
    assert len(window.session.document.strokes) == 5
    qtbot.waitUntil(lambda: not newer.exists())
    assert sorted(strokes_on_disk(root)) == [3, 5]
    assert older.exists()
    window.close()
    assert copies(root) == [older]


def test_the_dialog_names_the_copies_and_marks_the_newest_of_each_image(
    qtbot, picture_file, left, root
):
    first, second = picture_file("one.png"), picture_file("two.png")
    left(first, 3, name="m", age=600)
    left(first, 5, name="a", age=60)
    left(second, 7, name="b", age=90)
    folders = orphaned(root)
    offered = sorted((copy for each in folders for copy in each.copies), key=lambda c: -c.time)
    bad = UnreadableCopy(
        Path("bad.segapp"), folders[0], 0.0, ProjectError("bad.segapp is damaged: why.")
    )
    dialog = RestoreDialog([*offered, bad])
    qtbot.addWidget(dialog)
    rows = [dialog._list.item(row) for row in range(4)]
    texts = [row.text() for row in rows]
    assert "one.png" in texts[0]
    assert "5 strokes" in texts[0]
    assert "7 strokes" in texts[1]
    assert "3 strokes" in texts[2]
    assert "damaged" in texts[3]
    checked = Qt.CheckState.Checked
    assert [row.checkState() is checked for row in rows] == [True, True, False, False]
    rows[2].setCheckState(checked)  # the older one instead
    assert [row.checkState() is checked for row in rows] == [False, True, True, False]
    qtbot.mouseClick(dialog.restore, Qt.MouseButton.LeftButton)
    assert [len(copy.state.document.strokes) for copy in dialog.decision.restore] == [7, 3]
    assert dialog.decision.discard == ()
    for folder in folders:
        folder.release()


def test_a_copy_that_is_older_than_the_saved_project_is_not_restored_by_default(
    qtbot, picture_file, left, root
):
    image = picture_file()
    left(image, 3, age=60)
    image.with_suffix(".segapp").write_bytes(left(image, 4, name="saved").read_bytes())
    folders = orphaned(root)
    offered = [copy for each in folders for copy in each.copies]
    dialog = RestoreDialog(offered)
    qtbot.addWidget(dialog)
    first = dialog._list.item(0)
    assert "older than the saved project" in first.text()
    assert first.checkState() is Qt.CheckState.Unchecked
    for folder in folders:
        folder.release()


def test_discarding_asks_by_name(qtbot, picture_file, left, root, monkeypatch):
    left(picture_file(), 3)
    (folder,) = orphaned(root)
    dialog = RestoreDialog(list(folder.copies))
    qtbot.addWidget(dialog)
    buttons = file_dialogs.QMessageBox.StandardButton
    asked = []
    answers = iter([buttons.Cancel, buttons.Discard])
    monkeypatch.setattr(
        "PySide6.QtWidgets.QMessageBox.question",
        lambda *words: asked.append(words[2]) or next(answers),
    )
    qtbot.mouseClick(dialog.discard, Qt.MouseButton.LeftButton)
    assert dialog.decision == Decision()
    qtbot.mouseClick(dialog.discard, Qt.MouseButton.LeftButton)
    assert dialog.decision.discard == tuple(folder.copies)
    assert "picture.png" in asked[0]
    assert "3 strokes" in asked[0]
    folder.release()


def test_a_restored_copy_goes_only_when_its_strokes_are_safe_again(
    make_window, picture_file, left, qtbot, root, decide, monkeypatch
):
    file = left(picture_file(), 4)
    full = [True]

    def write(path, project):
        if full[0]:
            raise OSError(28, "No space left on device")
        save_project(path, project)

    monkeypatch.setattr(recovery, "save_project", write)
    monkeypatch.setattr(project_store, "_RETRY_SECONDS", (0.05,))
    decide(restore_newest)
    window = make_window()
    with qtbot.waitSignal(window.files.opened):
        open_initial(window, None)
    qtbot.wait(150)
    assert file.exists()
    full[0] = False
    qtbot.waitUntil(lambda: not file.exists())
    assert strokes_on_disk(root) == [4]


@pytest.mark.parametrize("requested", [None, "other.png", "folder"])
def test_all_restored_pictures_are_listed_and_the_newest_is_shown(
    make_window, picture_file, left, qtbot, decide, requested
):
    images = [picture_file(f"folder/{number}.png") for number in range(4)]
    for number, image in enumerate(images[1:], start=1):
        left(image, number, f"left{number}", age=60 * number)
    decide(lambda offered: Decision(restore=tuple(offered)))
    window = make_window()
    path = None
    if requested is not None:
        path = images[0].parent if requested == "folder" else picture_file(requested)
    with qtbot.waitSignal(window.files.opened):
        open_initial(window, path)
    assert window.session.state.path == images[1]
    assert len(window.session.document.strokes) == 1
    listed = {"folder": images, "other.png": [*images[1:], path], None: images[1:]}
    workspace = window.files.workspace
    assert workspace.images == listed[requested]
    assert all(workspace.status(image).value == "marked" for image in images[1:])
    assert set(images[1:]) <= set(window.preferences.recent())
    assert "1.png, 2.png, 3.png" in window.status.currentMessage()


@pytest.fixture
def gated_disk(monkeypatch):
    """Hold each writing of a project until the test lets it go on."""
    writing, go_on = threading.Event(), threading.Event()

    def slow(path, project):
        writing.set()
        assert go_on.wait(20)
        save_project(path, project)

    monkeypatch.setattr(project_files, "save_project", slow)
    yield writing, go_on
    go_on.set()


def test_a_slow_disk_neither_freezes_the_window_nor_meets_its_own_lock(
    make_window, picture_file, qtbot, gated_disk, heartbeat, told
):
    writing, go_on = gated_disk
    window = make_window(picture_file())
    window.store.policy.choose(SaveLocation.BESIDE)
    gaps = heartbeat(lambda: window.session.add_stroke(dot(0)))
    qtbot.waitUntil(writing.is_set)
    for number in range(1, 4):  # by hand, while the automatic save is under way
        window.session.add_stroke(dot(number))
        window.commands["save"].trigger()
        qtbot.wait(20)
    assert not window.close()  # it closes by itself, after the last stroke is written
    assert window.isVisible()
    assert "the window closes when it is done" in window.status.currentMessage()
    go_on.set()
    qtbot.waitUntil(lambda: not window.isVisible())
    project = load_project(window.session.state.location.path)
    assert len(project.document.strokes) == 4
    assert told == []
    assert max(gaps) < 1


def test_a_disk_that_never_answers_does_not_keep_the_window(
    make_window, picture_file, qtbot, gated_disk
):
    writing, go_on = gated_disk
    window = make_window(picture_file())
    window.store.policy.choose(SaveLocation.BESIDE)
    window.session.add_stroke(dot(0))
    qtbot.waitUntil(writing.is_set)
    assert not window.close()
    assert window.close()  # the second time it asks, and the test discards
    go_on.set()


def test_a_picture_whose_strokes_were_all_taken_back_comes_back_so(
    make_window, picture_file, left, qtbot, root, decide
):
    file = left(picture_file(), 0)
    decide(restore_newest)
    window = make_window()
    with qtbot.waitSignal(window.files.opened):
        open_initial(window, None)
    assert window.isWindowModified()
    qtbot.waitUntil(lambda: not file.exists())
    assert strokes_on_disk(root) == [0]


@pytest.mark.parametrize("name", ["picture.segapp", "picture.png.segapp", "chosen/picture.segapp"])
def test_restored_work_is_saved_to_the_project_that_the_image_opens_with(
    make_window, picture_file, left, qtbot, decide, monkeypatch, tmp_path, name
):
    """Without a question, and without taking it for a project of another window."""
    image, project = picture_file(), tmp_path / name
    project.parent.mkdir(exist_ok=True)
    save_project(project, load_project(left(image, 2, name="saved")))
    shutil.rmtree(left(image, 2, name="saved").parent)
    os.utime(project, (time.time() - 60,) * 2)
    left(image, 4)
    decide(restore_newest)
    monkeypatch.setattr(file_dialogs, "ask_project", lambda *_: pytest.fail("it has a project"))
    window = make_window()
    window.preferences.set("keep/wish", "folder")
    window.preferences.set_folder("keep/folder", project.parent)
    with qtbot.waitSignal(window.files.opened):
        open_initial(window, None)
    assert len(window.session.document.strokes) == 4
    qtbot.waitUntil(lambda: not window.session.unsaved_states())
    assert len(load_project(project).document.strokes) == 4
    window.session.add_stroke(dot(4))
    assert window.isWindowModified()
    press_save(window)
    assert not window.isWindowModified()
    assert len(load_project(project).document.strokes) == 5


@pytest.mark.parametrize(("discard", "n_left"), [(True, 0), (False, 1)])
def test_an_offered_copy_may_be_discarded_or_kept_for_later(
    make_window, picture_file, left, qtbot, root, decide, discard, n_left
):
    image = picture_file()
    left(image, 2)
    decide(lambda offered: Decision(discard=tuple(offered) if discard else ()))
    window = make_window()
    with qtbot.waitSignal(window.files.opened):
        open_initial(window, image)
    assert tuple(window.session.document.strokes) == ()
    assert len(copies(root)) == n_left
    assert len(list(root.iterdir())) == n_left


def newer_version(file):
    with zipfile.ZipFile(file) as archive:
        content = json.loads(archive.read("project.json"))
    content["version"] = 99
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("project.json", json.dumps(content))


def damaged_byte(file):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


@pytest.mark.parametrize("harm", [newer_version, damaged_byte, None])
def test_a_copy_that_cannot_be_read_is_kept_and_named(
    make_window, picture_file, left, qtbot, root, decide, monkeypatch, harm
):
    image = picture_file()
    file = left(image, 2)
    if harm is None:  # the disk does not give it back

        def unreadable(path):
            raise ProjectError(f"{path} cannot be read: Input/output error.")

        monkeypatch.setattr(recovery, "load_project", unreadable)
    else:
        harm(file)
    before = file.read_bytes()
    offered = decide(
        lambda left: Decision(restore=tuple(c for c in left if type(c) is RecoveryCopy))
    )
    window = make_window()
    assert not window.file_commands.offer_recovery()
    assert [type(copy) for copy in offered] == [UnreadableCopy]
    assert str(offered[0].error)
    assert file.read_bytes() == before
    decide(lambda left: Decision(discard=tuple(left)))
    window.file_commands.offer_recovery()
    assert not file.exists()  # now it was refused by its name


# Answers in projects ---------------------------------------------------------------------------


@pytest.fixture
def learnt(monkeypatch):
    """Collect the documents that are learnt."""
    states = []

    class Counted(StateUpdate):
        def __init__(self, picture, document, *others):
            states.append(document)
            super().__init__(picture, document, *others)

    monkeypatch.setattr(trainer, "StateUpdate", Counted)
    return states


@pytest.fixture
def noisy_picture(tmp_path):
    x = np.arange(90)
    base = np.stack([60 + 1.5 * x, 140 - 0.8 * x, 100 + 20 * np.sin(x / 7)], axis=1)
    rgb = base[None] + np.random.default_rng(3).normal(0, 12, (60, 90, 3))
    path = tmp_path / "noisy.png"
    Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8)).save(path)
    return path


def dab(x, y, label):
    return Stroke(((x, y),), 3.0, label)


def test_a_saved_project_opens_with_one_update(
    qtbot, make_window, noisy_picture, tmp_path, learnt
):
    window = make_window(noisy_picture, Trainer)
    session = window.session
    marks = (dab(15, 30, 0), dab(75, 30, 1), dab(50, 10, 1), dab(30, 50, 0))
    for mark in marks:
        session.add_stroke(mark)
    qtbot.waitUntil(lambda: session.answers.is_current, timeout=30_000)
    shown = session.answers.answer.labelling
    path = tmp_path / "noisy.segapp"
    assert save_now(window, path)
    project = load_project(path)
    assert project.answer is not None

    learnt.clear()
    again = make_window(path, Trainer).session
    qtbot.waitUntil(lambda: again.answers.is_current, timeout=30_000)
    assert learnt == []
    np.testing.assert_array_equal(again.answers.answer.labelling.labels, shown.labels)

    save_project(path, replace(project, labels=None))
    again = make_window(path, Trainer).session
    qtbot.waitUntil(lambda: again.answers.is_current, timeout=30_000)
    assert learnt == [project.document]
    np.testing.assert_array_equal(again.answers.answer.labelling.labels, shown.labels)

    save_project(path, replace(project, answer=None, labels=None))
    learnt.clear()
    slow = make_window(path, Trainer).session
    qtbot.waitUntil(lambda: slow.answers.is_current, timeout=30_000)
    assert len(learnt) == len(marks)
    np.testing.assert_array_equal(slow.answers.answer.labelling.labels, shown.labels)
    picture = np.array(Image.open(noisy_picture))
    fresh = segment(picture, project.document, project.settings)
    np.testing.assert_array_equal(fresh.labels, shown.labels)


def test_without_a_current_answer_none_is_carried(qtbot, make_window, picture_file, tmp_path):
    window = make_window(picture_file())
    window.session.answers.set_live(False)
    window.session.add_stroke(dab(10, 10, 0))
    window.session.add_stroke(dab(70, 10, 1))
    assert save_now(window, tmp_path / "p.segapp")
    assert load_project(tmp_path / "p.segapp").answer is None


def test_painting_goes_on_while_an_answer_is_packed(
    qtbot, make_window, noisy_picture, tmp_path, monkeypatch
):
    packers = []

    def watched(*told, encode=trainer.encode_snapshot):
        packers.append(threading.current_thread())
        return encode(*told)

    monkeypatch.setattr(trainer, "encode_snapshot", watched)
    window = make_window(noisy_picture, Trainer)
    session = window.session
    for mark in (dab(15, 30, 0), dab(75, 30, 1), dab(50, 10, 1)):
        session.add_stroke(mark)
    qtbot.waitUntil(lambda: session.answers.is_current, timeout=30_000)
    # Not sooner, as a project would be saved without an answer.
    window.store.policy.choose(SaveLocation.FOLDER, tmp_path)
    window.autosave.write_soon()
    qtbot.waitUntil(lambda: bool(packers) and not session.state.unsaved, timeout=30_000)
    assert threading.main_thread() not in packers
    assert load_project(session.state.location.path).answer is not None
