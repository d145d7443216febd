"""A folder is worked through: classes, autosave, list, export, and what is carried over."""

import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segapp.app import folder_tasks, project_store
from segapp.app.project_store import SaveLocation
from segapp.engine.trainer import Trainer
from segapp.io.class_list import CLASS_LIST_FILE, ClassList, read_class_list, write_class_list
from segapp.io.folder_files import PROGRESS_FILE, ImageStatus, read_progress
from segapp.io.project import load_project
from segapp.model.classes import ClassInfo
from segapp.model.document import Stroke
from segapp.qt.files import file_dialogs, opening
from segapp.qt.files import folder as folder_module
from segapp.qt.files.file_dialogs import Conflict, Unsaved

FOUR = tuple(
    ClassInfo(name, colour)
    for name, colour in (
        ("leaf", (0, 158, 115)),
        ("stem", (230, 159, 0)),
        ("bug", (204, 121, 167)),
        ("background", (0, 114, 178)),
    )
)


@pytest.fixture
def folder(picture_file):
    """Four pictures."""
    return [picture_file(f"folder/{number}.png") for number in range(1, 5)]


def listed(folder, classes=FOUR):
    write_class_list(folder[0].parent / CLASS_LIST_FILE, ClassList.from_classes(classes))


def go(qtbot, window, path):
    with qtbot.waitSignal(window.files.opened):
        window.files.open(path)


def kept(qtbot, window):
    qtbot.waitUntil(lambda: not window.session.unsaved_states())


@pytest.fixture
def no_questions(monkeypatch):
    """Fail when a dialog opens."""

    def refuse(*_, **__):
        raise AssertionError("a question was asked")

    for name in ("ask_unsaved", "ask_project", "ask_restore", "ask_conflict", "complain"):
        monkeypatch.setattr(file_dialogs, name, refuse)


# Classes ----------------------------------------------------------------------------------


def test_every_picture_begins_with_the_folders_classes(make_window, folder, qtbot):
    listed(folder)
    window = make_window(folder[0].parent)
    for path in folder[:2]:
        go(qtbot, window, path)
        assert window.session.document.classes == FOUR
        assert not window.isWindowModified()
        assert window.class_panel.notice.isHidden()
    assert not list(folder[0].parent.glob("*.segapp"))


def test_labelmes_list_is_taken(make_window, folder):
    (folder[0].parent / "labels.txt").write_text("cat\ndog\n")
    window = make_window(folder[0].parent)
    assert [info.name for info in window.session.document.classes] == ["cat", "dog", "background"]


def test_a_damaged_list_is_reported_and_left(make_window, folder, monkeypatch, qtbot):
    path = folder[0].parent / CLASS_LIST_FILE
    path.write_text("{}")
    told = []
    monkeypatch.setattr(file_dialogs, "complain", lambda _, sentence, *__: told.append(sentence))
    window = make_window(folder[0].parent)
    assert told == [f"{CLASS_LIST_FILE} is not a class list: wanted the format 'segapp classes'."]
    window.commands["share_classes"].trigger()
    assert "move it away first" in told[1]
    assert path.read_text() == "{}"


def test_a_change_is_offered_to_the_others_and_reaches_them(
    make_window, folder, two_strokes, qtbot, no_questions
):
    window = make_window(folder[0].parent)
    window.session.add_stroke(two_strokes[1])  # background of the two classes
    kept(qtbot, window)
    go(qtbot, window, folder[1])
    window.session.add_stroke(two_strokes[0])
    kept(qtbot, window)
    other = make_window(folder[2])  # opened alone: a third picture, not known to the first window
    other.store.policy.choose(SaveLocation.BESIDE)
    other.session.add_stroke(two_strokes[0])
    kept(qtbot, other)
    go(qtbot, window, folder[0].parent)
    go(qtbot, window, folder[0])
    document = window.session.document
    leaf = ClassInfo("leaf", (1, 2, 3))
    window.session.edit("renaming", document.with_class_changed(0, leaf))
    assert window.class_panel.notice.isVisibleTo(window)
    assert "do not have" in window.class_panel.notice.text
    window.commands["share_classes"].trigger()
    qtbot.waitUntil(window.class_panel.notice.isHidden)
    assert read_class_list(folder[0].parent / CLASS_LIST_FILE).classes[0] == leaf
    qtbot.waitUntil(lambda: "images that follow: " in window.status.currentMessage())
    for path in folder[:3]:
        project = path.with_suffix(".segapp")
        qtbot.waitUntil(lambda p=project: load_project(p).document.classes[0] == leaf)
    go(qtbot, window, folder[3])
    assert window.session.document.classes[0] == leaf


def test_a_picture_may_differ_and_says_so(make_window, folder, qtbot):
    listed(folder)
    window = make_window(folder[0].parent)
    own = window.session.document.with_class(ClassInfo("own", (9, 9, 9)))
    window.session.edit("adding", own)
    assert window.class_panel.notice.text == "This image has its own classes."
    go(qtbot, window, folder[1])
    assert window.class_panel.notice.isHidden()
    go(qtbot, window, folder[0])
    assert window.class_panel.notice.isVisibleTo(window)
    window.commands["take_classes"].trigger()
    assert window.session.document.classes == FOUR
    assert window.class_panel.notice.isHidden()


def test_classes_with_marks_are_not_taken_away(make_window, folder, qtbot):
    listed(folder)
    window = make_window(folder[0].parent)
    window.session.edit("adding", window.session.document.with_class(ClassInfo("x", (9, 9, 9))))
    window.session.add_stroke(Stroke(((5.0, 5.0),), 2.0, 4))
    window.commands["take_classes"].trigger()
    assert len(window.session.document.classes) == 5
    assert "marks of x" in window.status.currentMessage()


def test_keys_and_background_are_of_the_class(make_window, folder, qtbot):
    listed(folder)
    window = make_window(folder[0].parent)
    window.class_panel.key_chosen.emit(3, "1")
    assert window.menus.left_class.actions()[3].shortcut().toString() == "1"
    assert window.menus.left_class.actions()[0].shortcut().toString() != "1"
    window.brush.choose_left(1)
    window.commands["background_class"].trigger()
    assert window.session.document.background == 1
    window.commands["share_classes"].trigger()
    qtbot.waitUntil(lambda: window.files.workspace.classes.classes[1].background)
    classes = read_class_list(folder[0].parent / CLASS_LIST_FILE).classes
    assert classes[3].key == "1"
    assert classes[1].background


# Keeping ------------------------------------------------------------------------------------


def test_strokes_are_kept_beside_and_quitting_asks_nothing(
    make_window, folder, answered, qtbot, no_questions
):
    window = answered(make_window(folder[0].parent))
    go(qtbot, window, folder[1])
    window.session.add_stroke(Stroke(((5.0, 5.0),), 2.0, 0))  # and at once
    assert window.close()
    assert len(load_project(folder[0].with_suffix(".segapp")).document.strokes) == 2
    assert len(load_project(folder[1].with_suffix(".segapp")).document.strokes) == 1
    again = make_window(folder[0].parent)
    assert again.session.state.path == folder[1]  # where one stopped
    assert len(again.session.document.strokes) == 1


def test_a_project_that_another_window_changed_is_not_replaced(
    make_window, folder, two_strokes, qtbot
):
    mine = make_window(folder[0].parent)
    mine.session.add_stroke(two_strokes[0])
    kept(qtbot, mine)
    other = make_window(folder[0].parent)
    go(qtbot, other, folder[0])
    other.session.add_stroke(two_strokes[1])
    kept(qtbot, other)
    mine.session.clear()
    mine.session.add_stroke(two_strokes[0])
    mine.session.add_stroke(two_strokes[0])
    qtbot.waitUntil(lambda: "kept for recovery" in mine.status.currentMessage())
    assert tuple(load_project(folder[0].with_suffix(".segapp")).document.strokes) == two_strokes
    assert mine.session.state.unsaved


def test_work_that_another_window_keeps_from_being_saved_is_neither_listed_nor_lost(
    make_window, folder, answered, two_strokes, qtbot, monkeypatch, no_questions
):
    mine, other = make_window(folder[0].parent), make_window(folder[0].parent)
    other.session.add_stroke(two_strokes[0])
    kept(qtbot, other)
    before = folder[0].with_suffix(".segapp").read_bytes()
    answered(mine)
    qtbot.waitUntil(lambda: mine.folder.banner.isVisible())
    assert "changed in another window" in mine.folder.banner.text
    assert mine.files.workspace.status(folder[0]) is ImageStatus.MARKED  # and not "with result"
    assert [path.name for path in folder[0].parent.glob("*.segapp*")] == ["1.segapp"]
    assert folder[0].with_suffix(".segapp").read_bytes() == before
    monkeypatch.setattr(file_dialogs, "ask_conflict", lambda *_: Conflict.OPEN_THEIRS)
    with qtbot.waitSignal(mine.files.opened):
        mine.folder.banner.buttons[0].click()
    assert mine.folder.banner.isHidden()
    assert tuple(mine.session.document.strokes) == two_strokes[:1]
    mine.session.undo()
    assert tuple(mine.session.document.strokes) == two_strokes
    kept(qtbot, mine)


def test_a_result_that_is_saved_after_the_next_image_is_open_is_listed(
    make_window, folder, answered, qtbot
):
    window = answered(make_window(folder[0].parent))
    go(qtbot, window, folder[1])
    status = window.files.workspace.status
    qtbot.waitUntil(lambda: status(folder[0]) is ImageStatus.ANSWERED)
    assert status(folder[1]) is ImageStatus.UNTOUCHED


def test_the_list_follows_other_windows(make_window, folder, two_strokes, qtbot):
    mine, other = make_window(folder[0].parent), make_window(folder[0].parent)
    go(qtbot, other, folder[2])
    other.commands["done"].trigger()
    go(qtbot, mine, folder[1])
    mine.session.add_stroke(two_strokes[0])
    mine.commands["done"].trigger()
    for window in (mine, other):
        status = window.files.workspace.status
        qtbot.waitUntil(
            lambda s=status: (
                [s(path).value for path in folder] == ["untouched", "done", "done", "untouched"]
            )
        )
        assert window.file_list.message == "2 of 4 done"
    qtbot.waitUntil(lambda: folder[1].with_suffix(".segapp").exists())
    mine.commands["done"].trigger()
    qtbot.waitUntil(lambda: status(folder[1]) is ImageStatus.MARKED)


def test_flags_of_a_newer_version_are_left_as_they_are(make_window, folder, monkeypatch, qtbot):
    path, told = folder[0].parent / PROGRESS_FILE, []
    path.write_text('{"format": "segapp progress", "version": 2, "done": {"1.png": "me"}}')
    content = path.read_bytes()
    monkeypatch.setattr(file_dialogs, "complain", lambda _, sentence, *__: told.append(sentence))
    window = make_window(folder[0].parent)
    window.commands["done"].trigger()
    qtbot.waitUntil(lambda: len(told) == 2)
    assert "newer version" in told[0]
    assert "left as it is" in told[1]
    assert window.close()
    assert path.read_bytes() == content


def test_opening_a_folder_and_closing_it_writes_nothing(make_window, folder, qtbot):
    window = make_window(folder[0].parent)
    qtbot.wait(600)
    assert window.close()
    assert sorted(folder[0].parent.iterdir()) == folder


def test_a_read_only_folder_is_asked_about_once_when_the_window_closes(
    make_window, folder, two_strokes, tmp_path, monkeypatch, qtbot, no_questions
):
    home, asked = tmp_path / "documents", []
    home.mkdir()
    monkeypatch.setattr(project_store.os, "access", lambda path, _: path != folder[0].parent)
    monkeypatch.setattr(
        file_dialogs, "ask_saving_folder", lambda _, proposed: asked.append(proposed) or home
    )
    window = make_window(folder[0].parent)
    for path in folder[:3]:
        go(qtbot, window, path)
        window.session.add_stroke(two_strokes[0])
    go(qtbot, window, folder[3])
    assert window.folder.banner.isVisibleTo(window)  # the others have no place yet
    monkeypatch.setattr(file_dialogs, "ask_unsaved", lambda *_: Unsaved.SAVE)
    assert window.close()
    assert len(asked) == 1
    assert sorted(path.name for path in home.glob("*.segapp")) == [
        "1.segapp",
        "2.segapp",
        "3.segapp",
    ]
    again = make_window(folder[0].parent)
    assert again.files.workspace.status(folder[1]) is ImageStatus.MARKED


def test_a_folder_that_cannot_be_written_gets_a_chosen_place(
    make_window, folder, two_strokes, tmp_path, monkeypatch, qtbot, no_questions
):
    home = tmp_path / "documents"
    home.mkdir()
    monkeypatch.setattr(project_store.os, "access", lambda path, _: path != folder[0].parent)
    monkeypatch.setattr("segapp.qt.window.file_commands.documents_folder", lambda: home)
    window = make_window(folder[0].parent)
    window.session.add_stroke(two_strokes[0])
    assert window.folder.banner.isVisibleTo(window)
    assert "cannot be written" in window.folder.banner.text
    window.folder.banner.buttons[0].click()
    kept(qtbot, window)
    place = home / "segapp" / "folder"
    assert tuple(load_project(place / "1.segapp").document.strokes) == two_strokes[:1]
    assert not window.folder.banner.isVisibleTo(window)
    assert window.close()
    assert not list(folder[0].parent.glob("*.segapp"))
    again = make_window(folder[0].parent)
    assert tuple(again.session.document.strokes) == two_strokes[:1]
    assert again.files.workspace.status(folder[0]) is not ImageStatus.UNTOUCHED


def test_a_single_picture_is_asked_about_once(make_window, picture_file, two_strokes, qtbot):
    path = picture_file("single/cat.png")
    window = make_window(path)
    for stroke in two_strokes:  # the first strokes are a try
        window.session.add_stroke(stroke)
        assert not window.folder.banner.isVisibleTo(window)
    window.session.add_stroke(two_strokes[0])
    assert window.folder.banner.isVisibleTo(window)
    window.session.add_stroke(two_strokes[1])  # nothing waits for the answer
    window.folder.banner.buttons[0].click()
    kept(qtbot, window)
    painted = tuple(load_project(path.with_suffix(".segapp")).document.strokes)
    assert painted == 2 * two_strokes
    go(qtbot, window, picture_file("single/dog.png"))
    window.session.add_stroke(two_strokes[0])
    assert not window.folder.banner.isVisibleTo(window)
    kept(qtbot, window)


def test_saying_no_is_an_answer_too(make_window, picture_file, two_strokes, qtbot):
    path = picture_file("single/cat.png")
    window = make_window(path)
    for stroke in (*two_strokes, two_strokes[0]):
        window.session.add_stroke(stroke)
    window.folder.banner.buttons[-1].click()
    window.session.add_stroke(two_strokes[1])
    assert not window.folder.banner.isVisibleTo(window)
    assert window.session.state.unsaved
    assert not path.with_suffix(".segapp").exists()


# The list -------------------------------------------------------------------------------------


def test_status_done_filter_search_and_next_undone(make_window, folder, answered, qtbot):
    window = make_window(folder[0].parent)
    listing = window.file_list
    assert listing.message == "0 of 4 done"
    answered(window)
    work = window.files.workspace
    qtbot.waitUntil(lambda: work.status(folder[0]) is ImageStatus.ANSWERED)  # once it is saved
    window.commands["done"].trigger()
    assert work.status(folder[0]) is ImageStatus.DONE
    assert listing.message == "1 of 4 done"
    go(qtbot, window, folder[1])
    assert not window.commands["done"].isChecked()
    window.session.add_stroke(Stroke(((5.0, 5.0),), 2.0, 0))
    assert work.status(folder[1]) is ImageStatus.MARKED
    listing.statuses.setCurrentIndex(listing.statuses.findText("Done"))
    assert listing.names() == ["1.png"]
    listing.statuses.setCurrentIndex(listing.statuses.findText("Unfinished"))
    assert listing.names() == ["2.png", "3.png", "4.png"]
    listing.search.setText("3")
    qtbot.waitUntil(lambda: listing.names() == ["3.png"])
    go(qtbot, window, folder[3])
    with qtbot.waitSignal(window.files.opened):
        window.commands["next_undone"].trigger()
    assert window.session.state.path == folder[1]  # beyond the end, past the one that is done
    assert window.close()
    assert read_progress(folder[0].parent / PROGRESS_FILE).done == {"1.png"}
    again = make_window(folder[0].parent)
    assert again.files.workspace.status(folder[0]) is ImageStatus.DONE
    assert again.files.workspace.status(folder[1]) is ImageStatus.MARKED


def test_every_press_counts_while_a_picture_loads(make_window, folder, monkeypatch, qtbot):
    window = make_window(folder[0].parent)
    window.files._prefetch.close()
    window.files._prefetch.clear()
    gate, read = threading.Event(), opening.load_image

    def slow(path, *display):
        gate.wait(10)
        return read(path, *display)

    monkeypatch.setattr(opening, "load_image", slow)
    for _ in range(3):
        window.commands["next"].trigger()
    gate.set()
    qtbot.waitUntil(lambda: window.session.state.path == folder[3])


def test_a_bad_picture_is_marked_and_passed_over(make_window, folder, qtbot, no_questions):
    folder[1].write_bytes(b"no picture")
    window = make_window(folder[0].parent)
    with qtbot.waitSignal(window.files.opened):
        window.commands["next"].trigger()
    assert window.session.state.path == folder[2]
    assert window.files.workspace.status(folder[1]) is ImageStatus.FAILED
    with qtbot.waitSignal(window.files.opened):
        window.commands["previous"].trigger()
    assert window.session.state.path == folder[0]
    with qtbot.waitSignal(window.files.passed_over):
        window.files.open(folder[1])  # asked for itself: what is open stays open
    assert "2.png" in window.status.currentMessage()
    qtbot.waitUntil(lambda: window.files.index_in_folder() == 0)
    assert window.file_list.view.currentIndex().data() == "1.png"


def test_a_folder_that_ends_with_bad_pictures(make_window, folder, qtbot, no_questions):
    for path in folder[1:]:
        path.write_bytes(b"no picture")
    window = make_window(folder[0].parent)
    window.commands["next"].trigger()
    work = window.files.workspace
    qtbot.waitUntil(lambda: all(work.status(path) is ImageStatus.FAILED for path in folder[1:]))
    qtbot.waitUntil(lambda: window.files.index_in_folder() == 0)
    assert window.session.state.path == folder[0]


def test_a_folder_may_begin_with_a_bad_picture(make_window, folder, qtbot, no_questions):
    folder[0].write_bytes(b"no picture")
    window = make_window(folder[0].parent)
    assert window.session.state.path == folder[1]
    assert window.preferences.recent() == [folder[0].parent]


def test_neighbours_are_read_ahead(make_window, folder, monkeypatch, qtbot):
    window = make_window(folder[0].parent)
    qtbot.waitUntil(lambda: window.files._prefetch.take(folder[1]) is not None)

    def refuse(path, *_):
        raise AssertionError(f"{path} was read again")

    monkeypatch.setattr(opening, "load_image", refuse)
    with qtbot.waitSignal(window.files.opened):
        window.commands["next"].trigger()
    assert window.session.state.path == folder[1]
    monkeypatch.undo()
    window.files._prefetch.close()  # else it would be read again at once
    folder[0].write_bytes(folder[1].read_bytes() + b" ")  # changed: it counts as absent
    assert window.files._prefetch.take(folder[0]) is None


def test_five_thousand_pictures_are_listed_and_memory_stays_flat(make_window, tmp_path, qtbot):
    home = tmp_path / "many"
    home.mkdir()
    Image.new("RGB", (8, 8)).save(home / "p0.png")
    for number in range(1, 5000):
        os.link(home / "p0.png", home / f"p{number}.png")
    window = make_window(home)
    listing = window.file_list
    assert listing.model.rowCount() == 5000
    assert listing.message == "0 of 5000 done"
    qtbot.waitUntil(lambda: listing.thumbnails.n_kept >= 3)
    for row in range(0, 5000, 100):
        listing.view.scrollTo(listing.view.model().index(row, 0))
        qtbot.wait(1)
    assert len(listing.thumbnails._waiting) <= folder_module._MOST_WAITING
    assert listing.thumbnails.n_kept <= folder_module._MOST_KEPT
    listing.search.setText("p4999")
    qtbot.waitUntil(lambda: listing.names() == ["p4999.png"])
    go(qtbot, window, home / "p4999.png")
    assert not window.commands["next"].isEnabled()
    assert len(listing.view.findChildren(type(listing.search))) == 0  # no widgets for rows


# Export ------------------------------------------------------------------------------------


def test_the_folder_is_exported_beside_the_work(
    make_window, folder, answered, qtbot, no_questions
):
    window = answered(make_window(folder[0].parent, make_trainer=Trainer))
    window.commands["export_folder"].trigger()
    panel = window.folder.export
    assert panel.isVisibleTo(window)
    panel.run_button.click()
    qtbot.waitUntil(lambda: panel.message == "1 exported, 3 without a result", timeout=20000)
    out = folder[0].parent / "segapp-export" / "coco-rle" / "annotations.json"
    content = json.loads(out.read_text())
    assert [image["file_name"] for image in content["images"]] == ["1.png"]
    labels = window.session.answers.answer.labelling.labels
    assert sum(a["area"] for a in content["annotations"]) == (labels == 0).sum()
    panel.form.setCurrentIndex(panel.form.findData("yolo"))
    assert panel.out_folder.text() == str(Path("segapp-export", "yolo"))
    assert Path(panel.out_folder.toolTip()).is_absolute()
    panel.form.setCurrentIndex(panel.form.findData("indexed"))
    assert not panel.per.isEnabled()
    panel.form.setCurrentIndex(panel.form.findData("labelme"))
    panel.per.setCurrentIndex(2)
    panel.run_button.click()
    out = folder[0].parent / "segapp-export" / "labelme" / "1.json"
    qtbot.waitUntil(out.exists, timeout=20000)
    assert {shape["group_id"] for shape in json.loads(out.read_text())["shapes"]} <= {1, None}


# Carrying over ---------------------------------------------------------------------------------


def test_a_learnt_model_answers_the_next_picture(make_window, folder, answered, qtbot):
    window = answered(make_window(folder[0].parent, make_trainer=Trainer))
    window.commands["carry_over"].setChecked(True)
    go(qtbot, window, folder[1])
    qtbot.waitUntil(lambda: window.session.document.initial is not None, timeout=20000)
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    labels = window.session.answers.answer.labelling.labels
    assert (labels[:, :38] == 0).all()
    assert (labels[:, 42:] == 1).all()
    status = window.files.workspace.status
    qtbot.waitUntil(lambda: status(folder[1]) is ImageStatus.ANSWERED)
    for _ in range(2):  # done, and no longer
        window.commands["done"].trigger()
    assert status(folder[1]) is ImageStatus.ANSWERED
    window.session.add_stroke(Stroke(((20.0, 20.0),), 4.0, 1))  # one stroke corrects it
    qtbot.waitUntil(lambda: window.session.answers.is_current, timeout=20000)
    assert window.session.answers.answer.labelling.labels[20, 20] == 1
    kept(qtbot, window)
    document = window.session.document
    go(qtbot, window, folder[0])
    go(qtbot, window, folder[1])
    assert window.session.document == document
    assert load_project(folder[1].with_suffix(".segapp")).document == document


def test_all_that_are_not_done_are_answered(make_window, folder, answered, qtbot, no_questions):
    window = make_window(folder[0].parent, make_trainer=Trainer)
    go(qtbot, window, folder[3])
    window.commands["done"].trigger()
    go(qtbot, window, folder[0])
    answered(window)
    window.commands["apply_to_undone"].trigger()
    work = window.files.workspace
    qtbot.waitUntil(
        lambda: all(work.status(path) is ImageStatus.ANSWERED for path in folder[:3]),
        timeout=30000,
    )
    qtbot.waitUntil(lambda: window.status.currentMessage() == "New results: 2 of 2 images")
    assert not folder[3].with_suffix(".segapp").exists()
    go(qtbot, window, folder[2])
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    labels = window.session.answers.answer.labelling.labels
    truth = np.zeros((60, 80), np.uint8)
    truth[:, 40:] = 1
    assert (labels == truth).mean() > 0.97


def test_answering_all_can_be_stopped(make_window, folder, answered, qtbot):
    window = answered(make_window(folder[0].parent, make_trainer=Trainer))
    window.commands["apply_to_undone"].trigger()
    assert window.folder.task.isVisibleTo(window)
    window.folder.task.stop_requested.emit()
    assert not window.folder.task.isVisibleTo(window)
    assert "Stopped" in window.status.currentMessage()


def test_opening_another_folder_stops_answering_all_and_leaves_that_folder_alone(
    make_window, folder, picture_file, answered, monkeypatch, qtbot
):
    others = [picture_file(f"other/{number}.png") for number in range(1, 5)]
    window = answered(make_window(folder[0].parent, make_trainer=Trainer))
    kept(qtbot, window)
    reading, go_on, read = threading.Event(), threading.Event(), folder_tasks.load_image

    def slow(path, *display):
        reading.set()
        assert go_on.wait(20)
        return read(path, *display)

    monkeypatch.setattr(folder_tasks, "load_image", slow)
    messages = []
    window.folder.carry_over.message.connect(messages.append)
    window.commands["apply_to_undone"].trigger()
    qtbot.waitUntil(reading.is_set, timeout=20000)
    go(qtbot, window, others[0].parent)
    assert messages[-1] == "Stopped; images with a new result: 0"
    assert not window.folder.task.isVisibleTo(window)
    go_on.set()
    assert window.folder.carry_over.close()
    assert not list(others[0].parent.glob("*.segapp"))
    assert window.files.workspace.images == others


def test_flags_set_before_a_folder_is_chosen_are_not_forgotten(
    make_window, folder, two_strokes, tmp_path, monkeypatch, qtbot, no_questions
):
    monkeypatch.setattr(project_store.os, "access", lambda path, _: path != folder[0].parent)
    monkeypatch.setattr("segapp.qt.window.file_commands.documents_folder", lambda: tmp_path)
    window = make_window(folder[0].parent)
    work = window.files.workspace
    window.commands["done"].trigger()
    go(qtbot, window, folder[1])
    window.session.add_stroke(two_strokes[0])
    window.folder.banner.buttons[0].click()
    assert work.status(folder[0]) is ImageStatus.DONE
    assert work.status(folder[1]) is ImageStatus.MARKED
    assert "1 of 4" in window.file_list.message
    kept(qtbot, window)
    assert window.close()
    again = make_window(folder[0].parent).files.workspace
    assert again.status(folder[0]) is ImageStatus.DONE
    assert again.last == folder[1]


def test_flags_that_cannot_be_written_are_reported_once_and_written_later(
    make_window, folder, monkeypatch, qtbot
):
    told = []
    monkeypatch.setattr(file_dialogs, "complain", lambda _, sentence, *__: told.append(sentence))
    window = make_window(folder[0].parent)
    real = folder_module.update_progress

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module, "update_progress", full)
    window.commands["done"].trigger()
    qtbot.waitUntil(lambda: len(told) == 1)
    go(qtbot, window, folder[1])
    window.commands["done"].trigger()
    qtbot.wait(900)
    assert told == [f"{PROGRESS_FILE} cannot be written: No space left on device."]
    monkeypatch.setattr(folder_module, "update_progress", real)
    go(qtbot, window, folder[2])
    file = folder[0].parent / PROGRESS_FILE
    qtbot.waitUntil(lambda: len(read_progress(file).done) == 2)


def test_the_open_picture_stays_visible_when_the_export_takes_room(
    make_window, picture_file, qtbot
):
    paths = [picture_file(f"many/{number:02}.png") for number in range(20)]
    window = make_window(paths[0].parent)
    window.docks.files.show()
    go(qtbot, window, paths[-1])
    view = window.file_list.view
    inside = view.viewport().rect
    qtbot.waitUntil(lambda: inside().contains(view.visualRect(view.currentIndex())))
    before = view.height()
    window.commands["export_folder"].trigger()
    qtbot.waitUntil(lambda: view.height() < before)
    qtbot.waitUntil(lambda: inside().contains(view.visualRect(view.currentIndex())))
