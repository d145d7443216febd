"""Shapes, fill, retouches, locks and masks in the window, through real events."""

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPointF, Qt, QTimer
from PySide6.QtWidgets import QApplication, QMessageBox, QSlider

from segapp.app.state import Stage
from segapp.engine.trainer import Trainer
from segapp.io.export.rasters import backdrop_pixels, before_backdrop, make_matte, straight_cutout
from segapp.io.project import load_project
from segapp.model.classes import ClassInfo
from segapp.qt.canvas.brush import BrushTarget, Tool
from segapp.qt.files import file_dialogs
from segapp.qt.files.preferences import remembered_choices
from tests.segapp.qt.conftest import save_now

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


@pytest.fixture
def disc(tmp_path):
    """Save a bright disc on dark ground, 60 x 80, and return its path and its pixels."""
    y, x = np.mgrid[:60, :80]
    inside = (x - 40) ** 2 + (y - 30) ** 2 < 14**2
    rng = np.random.default_rng(0)
    rgb = np.where(inside[..., None], (220, 180, 60), (40, 60, 90)) + rng.normal(0, 5, (60, 80, 3))
    path = tmp_path / "disc.png"
    Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8)).save(path)
    return path, inside


@pytest.fixture
def window(make_window, disc):
    """Open the disc with a learner that is quick."""
    return make_window(disc[0])


@pytest.fixture
def learning(make_window, disc):
    """Open the disc with the learner itself."""
    return make_window(disc[0], Trainer)


def place(window, x, y):
    return window.canvas.viewport.view.to_widget(QPointF(x, y)).toPoint()


def drag(qtbot, window, *points, button=LEFT):
    qtbot.mousePress(window.canvas, button, pos=place(window, *points[0]))
    for point in points[1:]:
        qtbot.mouseMove(window.canvas, place(window, *point))
    qtbot.mouseRelease(window.canvas, button, pos=place(window, *points[-1]))


def labels_of(qtbot, window):
    qtbot.waitUntil(lambda: window.session.answers.is_current, timeout=60_000)
    return window.session.answers.answer.labelling.labels


def teach(qtbot, window):
    """Paint disc and ground, and return the answer."""
    window.brush.set_radius(4.0)
    window.commands["brush"].trigger()
    drag(qtbot, window, (35, 30), (45, 30))
    drag(qtbot, window, (8, 8), (20, 8), button=RIGHT)
    return labels_of(qtbot, window)


def share(labels, inside):
    """Intersection over union of the first class."""
    return ((labels == 0) & inside).sum() / ((labels == 0) | inside).sum()


@pytest.mark.parametrize("tool", ["around_box", "around"])
def test_drawing_around_the_object_is_enough_and_one_undo_takes_it_back(
    learning, disc, qtbot, tool
):
    window = learning
    window.commands[tool].trigger()
    corners = [(22, 12), (58, 12), (58, 48), (22, 48)]
    drag(qtbot, window, *(corners if tool == "around" else (corners[0], corners[2])))
    strokes = window.session.document.strokes
    assert [mark.label for mark in strokes] == [1, 0]
    assert strokes[1].points[0] == pytest.approx((40, 30), abs=1.5)
    assert share(labels_of(qtbot, window), disc[1]) > 0.9
    assert "drawing around" in window.commands["undo"].text()
    window.commands["undo"].trigger()
    assert tuple(window.session.document.strokes) == ()
    assert not window.commands["undo"].isEnabled()


def test_drawing_around_what_is_marked_adds_no_second_mark(window, qtbot):
    teach(qtbot, window)
    window.commands["around_box"].trigger()
    drag(qtbot, window, (20, 10), (60, 50))
    assert [mark.label for mark in window.session.document.strokes] == [0, 1, 1]


@pytest.fixture
def three_discs(tmp_path):
    """Save three discs of other colours on dark ground, and return its path and the discs."""
    y, x = np.mgrid[:90, :160]
    rng = np.random.default_rng(1)
    rgb = np.full((90, 160, 3), (40, 60, 90)) + rng.normal(0, 5, (90, 160, 3))
    discs = []
    for column, colour in ((30, (220, 180, 60)), (80, (200, 80, 80)), (130, (215, 200, 190))):
        discs.append((x - column) ** 2 + (y - 45) ** 2 < 17**2)
        rgb[discs[-1]] += np.array(colour) - (40, 60, 90)
    path = tmp_path / "discs.png"
    Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8)).save(path)
    return path, discs


@pytest.mark.slow
def test_three_boxes_are_three_objects(make_window, three_discs, qtbot):
    path, discs = three_discs
    window = make_window(path, Trainer)
    window.commands["around_box"].trigger()
    for count, column in enumerate((30, 80, 130), 1):
        drag(qtbot, window, (column - 21, 23), (column + 21, 67))
        labels = labels_of(qtbot, window)
        assert share(labels, np.logical_or.reduce(discs[:count])) > 0.9
    window.commands["undo"].trigger()
    assert share(labels_of(qtbot, window), discs[0] | discs[1]) > 0.9


@pytest.mark.slow
def test_a_box_around_a_second_class_keeps_the_first(make_window, three_discs, qtbot):
    path, discs = three_discs
    window = make_window(path, Trainer)
    window.session.edit("a class", window.session.document.with_class(ClassInfo("cat", (9, 9, 9))))
    window.commands["around_box"].trigger()
    drag(qtbot, window, (9, 23), (51, 67))
    labels_of(qtbot, window)
    window.brush.choose_left(2)
    drag(qtbot, window, (59, 23), (101, 67))
    labels = labels_of(qtbot, window)
    assert share(labels, discs[0]) > 0.9
    assert share(np.where(labels == 2, 0, 1), discs[1]) > 0.9


def test_fill_gives_the_part_under_the_pointer_to_a_class(window, qtbot):
    before = teach(qtbot, window)
    window.commands["fill"].trigger()
    qtbot.mouseClick(window.canvas, RIGHT, pos=place(window, 40, 22))
    mark = window.session.document.strokes[-1]
    assert mark.label == 1
    np.testing.assert_array_equal(mark.mask().sum(), (before == 0).sum())
    window.commands["undo"].trigger()
    np.testing.assert_array_equal(labels_of(qtbot, window), before)


def test_fill_without_an_answer_says_so(window, qtbot):
    window.commands["fill"].trigger()
    qtbot.mouseClick(window.canvas, LEFT, pos=place(window, 40, 22))
    assert "no result" in window.status.currentMessage()
    assert tuple(window.session.document.strokes) == ()


def test_retouches_teach_nothing_stay_and_can_be_undone(window, qtbot):
    before = teach(qtbot, window)
    strokes = window.session.document.strokes
    looks = []
    window.session.answers.progress_changed.connect(
        lambda: looks.append(window.session.answers.progress.stage)
    )
    qtbot.keyClick(window.canvas, Qt.Key.Key_R)
    assert window.brush.brush.target is BrushTarget.RESULT
    window.brush.set_radius(30.0)  # on the screen: about three pixels of the picture
    drag(qtbot, window, (66, 50), (70, 51), (74, 50))
    assert Stage.FOLLOWING not in looks
    after = labels_of(qtbot, window)
    assert window.session.document.strokes == strokes
    changed = after != before
    assert after[50, 70] == 0
    assert changed[44:58, 58:].sum() == changed.sum()  # nothing but what was painted
    qtbot.keyClick(window.canvas, Qt.Key.Key_R)
    assert window.brush.brush.target is BrushTarget.STROKES
    drag(qtbot, window, (60, 8), (75, 8), button=RIGHT)  # what is learnt later respects it
    later = labels_of(qtbot, window)
    assert (later[changed] == 0).all()
    window.commands["undo"].trigger()
    window.commands["undo"].trigger()
    np.testing.assert_array_equal(labels_of(qtbot, window), before)
    assert not window.commands["drop_retouches"].isEnabled()


def test_a_banner_names_the_mode_and_esc_leaves_it(window, qtbot):
    banner, commands = window.mode_banner, window.commands
    on_bar = [action for bar in window.bars for action in bar.actions()]
    for name, told, target in (
        ("retouch", "Retouching", BrushTarget.RESULT),
        ("refine_edge", "Refining", BrushTarget.HAIR),
    ):
        commands[name].trigger()
        assert window.brush.brush.target is target
        assert banner.isVisible()
        assert told in banner.text
        assert "Esc to finish" in banner.text
        tools = [commands[tool.value] for tool in Tool]
        lit = [action for action in on_bar if action in (*tools, commands[name])]
        assert sum(action.isChecked() for action in lit) == 1
        for focused in (window.canvas, window.settings_panel.presets.group.buttons()[0]):
            commands[name].setChecked(True)
            focused.setFocus()
            qtbot.keyClick(focused, Qt.Key.Key_Escape)
            assert window.brush.brush.target is BrushTarget.STROKES
            assert not commands[name].isChecked()
            assert banner.isHidden()
        commands[name].trigger()
        banner.buttons[0].click()
        assert window.brush.brush.target is BrushTarget.STROKES


def test_shapes_and_the_eraser_retouch_as_well(window, qtbot):
    before = teach(qtbot, window)
    window.commands["retouch"].trigger()
    window.commands["box"].trigger()
    drag(qtbot, window, (2, 40), (12, 55))
    assert (labels_of(qtbot, window)[42:53, 4:10] == 0).all()
    window.commands["eraser"].trigger()
    drag(qtbot, window, (0, 48), (16, 48))
    assert (labels_of(qtbot, window)[48, 4:10] == before[48, 4:10]).all()
    window.commands["drop_retouches"].trigger()
    np.testing.assert_array_equal(labels_of(qtbot, window), before)


def test_a_locked_class_stays_whatever_is_learnt(window, qtbot):
    before = teach(qtbot, window)
    window.commands["lock_class"].trigger()
    assert "stays unchanged" in window.status.currentMessage()
    drag(qtbot, window, (35, 36), (45, 36), button=RIGHT)  # the opposite of what was learnt
    assert (labels_of(qtbot, window)[before == 0] == 0).all()
    window.commands["drop_retouches"].trigger()
    assert (labels_of(qtbot, window)[36, 36:45] == 1).all()


def test_a_locked_part_stays_and_others_do_not(window, qtbot):
    before = teach(qtbot, window)
    lock = window.commands["lock_part"]
    window.canvas.pointer_moved.emit(None)
    lock.trigger()
    assert "Point at a part" in window.status.currentMessage()
    assert not window.session.document.retouches
    window.canvas.pointer_moved.emit(QPointF(40, 30))
    lock.trigger()
    assert "stays unchanged" in window.status.currentMessage()
    drag(qtbot, window, (35, 36), (45, 36), button=RIGHT)
    assert (labels_of(qtbot, window)[before == 0] == 0).all()
    window.commands["undo"].trigger()
    window.commands["undo"].trigger()
    assert not window.session.document.retouches
    np.testing.assert_array_equal(labels_of(qtbot, window), before)


def import_mask(window, path, button, monkeypatch):
    """Import a mask through the menu, and press one of the buttons."""
    monkeypatch.setattr(file_dialogs, "ask_mask", lambda *_: path)

    def answer():
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        next(each for each in box.buttons() if each.text() == button).click()

    QTimer.singleShot(0, answer)
    window.commands["import_mask"].trigger()


@pytest.fixture
def mask_file(tmp_path, disc):
    path = tmp_path / "mask.png"
    Image.fromarray((255 * disc[1]).astype(np.uint8)).save(path)
    return path


def test_a_mask_as_it_is_is_the_answer_itself(learning, disc, mask_file, qtbot, monkeypatch):
    window = learning
    import_mask(window, mask_file, "As It Is", monkeypatch)
    labels = labels_of(qtbot, window)
    np.testing.assert_array_equal(labels == 0, disc[1])
    assert tuple(window.session.document.strokes) == ()
    window.brush.set_radius(3.0)
    drag(qtbot, window, (10, 10), (20, 10))  # one class alone: nothing is learnt yet
    np.testing.assert_array_equal(labels_of(qtbot, window) == 0, disc[1])


def test_a_mask_as_marks_teaches(window, disc, mask_file, qtbot, monkeypatch):
    import_mask(window, mask_file, "As Marks", monkeypatch)
    document = window.session.document
    assert {mark.label for mark in document.strokes} == {0, 1}
    assert tuple(document.retouches) == ()
    assert document.previous_state is None
    assert share(labels_of(qtbot, window), disc[1]) > 0.9
    window.commands["undo"].trigger()
    assert tuple(window.session.document.strokes) == ()


def test_a_mask_of_another_size_is_refused_in_one_sentence(window, tmp_path, monkeypatch):
    path = tmp_path / "small.png"
    Image.fromarray(np.zeros((10, 10), np.uint8)).save(path)
    told = []
    monkeypatch.setattr(file_dialogs, "complain", lambda *args: told.append(args[1]))
    monkeypatch.setattr(file_dialogs, "ask_mask", lambda *_: path)
    window.commands["import_mask"].trigger()
    (sentence,) = told
    assert "small.png" in sentence
    assert tuple(window.session.document.retouches) == ()


def test_the_threshold_acts_at_once_and_is_kept(make_window, qtbot, tmp_path):
    y, x = np.mgrid[:60, :80]
    ramp = 220 - 4 * np.hypot(x - 40, y - 30)  # no edge holds the outline
    Image.fromarray(np.clip(ramp, 0, 255).astype(np.uint8)).save(tmp_path / "ramp.png")
    window = make_window(tmp_path / "ramp.png", Trainer)
    usual = (teach(qtbot, window) == 0).sum()
    slider = window.settings_panel.findChild(QSlider, "threshold")
    amounts = {}
    for end in (slider.minimum(), slider.maximum()):
        slider.setValue(end)
        assert not window.session.answers.is_current  # it is answered anew at once
        amounts[end] = (labels_of(qtbot, window) == 0).sum()
    assert amounts[slider.minimum()] <= usual <= amounts[slider.maximum()]
    assert amounts[slider.minimum()] < amounts[slider.maximum()]
    assert window.session.settings.threshold == 1
    path = tmp_path / "kept.segapp"
    assert save_now(window, path)
    assert load_project(path).settings.threshold == 1


def test_undo_in_the_middle_of_a_retouch_harms_neither(window, qtbot):
    before = teach(qtbot, window)
    window.commands["retouch"].trigger()
    drag(qtbot, window, (4, 50), (20, 50))
    touched = labels_of(qtbot, window)
    qtbot.mousePress(window.canvas, LEFT, pos=place(window, 60, 50))
    qtbot.mouseMove(window.canvas, place(window, 66, 50))
    window.commands["undo"].trigger()  # the finished one, while the next is being drawn
    qtbot.mouseMove(window.canvas, place(window, 74, 50))
    qtbot.mouseRelease(window.canvas, LEFT, pos=place(window, 74, 50))
    assert len(window.session.document.retouches) == 1
    shown = labels_of(qtbot, window)
    assert (shown[50, 62:72] == 0).all()
    np.testing.assert_array_equal(shown[:, :40], before[:, :40])
    assert not np.array_equal(touched[:, :40], before[:, :40])
    window.commands["undo"].trigger()
    np.testing.assert_array_equal(labels_of(qtbot, window), before)


def test_lock_retouch_and_learning_go_together(learning, qtbot):
    """A locked class, a retouch over it, a stroke that teaches the opposite, and all undone."""
    before = teach(qtbot, learning)
    learning.commands["lock_class"].trigger()
    learning.commands["retouch"].trigger()
    drag(qtbot, learning, (38, 30), (44, 30), button=RIGHT)  # later marks win, locks too
    learning.commands["retouch"].trigger()
    drag(qtbot, learning, (36, 38), (44, 38), button=RIGHT)
    after = labels_of(qtbot, learning)
    hole = after[30, 39:44]
    assert (hole == 1).all()
    kept = before == 0
    kept[24:37, 30:52] = False  # around the retouch
    assert (after[kept] == 0).all()
    for _ in range(3):
        learning.commands["undo"].trigger()
    np.testing.assert_array_equal(labels_of(qtbot, learning), before)


# Hair ------------------------------------------------------------------------------------------


def test_hair_is_painted_taken_back_undone_and_kept_in_the_project(window, qtbot, tmp_path):
    teach(qtbot, window)
    answer, commands = window.session.answers.answer, window.commands
    qtbot.keyClick(window.canvas, Qt.Key.Key_R)
    commands["refine_edge"].trigger()
    assert window.brush.brush.target is BrushTarget.HAIR
    assert not commands["retouch"].isChecked()
    assert commands["view_cut-out"].isChecked(), "nothing else shows what it does"
    drag(qtbot, window, (40, 12), (60, 12))
    drag(qtbot, window, (50, 12), (60, 12), button=RIGHT)
    document = window.session.document
    assert [mark.label for mark in document.hair] == [0, None]
    assert window.canvas._selection, "what is painted is outlined"
    assert window.session.answers.answer is answer, "it teaches nothing"
    project = tmp_path / "hair.segapp"
    assert save_now(window, project)
    assert load_project(project).document.hair == document.hair
    commands["undo"].trigger()
    assert len(window.session.document.hair) == 1
    commands["drop_hair"].trigger()
    assert window.session.document.hair == ()
    commands["view_overlay"].trigger()
    assert window.brush.brush.target is BrushTarget.STROKES
    assert not window.canvas._selection


def test_the_cut_out_view_has_edge_and_background_of_exports(window, qtbot):
    teach(qtbot, window)
    window.commands["view_cut-out"].trigger()
    bar = window.view_bar.cutout
    qtbot.waitUntil(lambda: bar.isVisible() and not window.labelling_view.busy)
    bar.edge.kind.setCurrentIndex(2)
    bar.edge.width_box.setValue(5.0)
    bar.backdrop.choice.activated.emit(1)
    qtbot.waitUntil(lambda: not window.labelling_view.busy)
    choices = remembered_choices(window.preferences)
    assert (choices.edge, choices.backdrop) == (5.0, (255, 255, 255))
    session = window.session
    shown = window.canvas._overlay.areas.pixels[..., 2::-1]
    matte = make_matte(session.answers.shown.labels == 0, session.picture, 5.0)
    expected = before_backdrop(
        straight_cutout(matte, session.picture),
        backdrop_pixels((255, 255, 255), matte.alpha.shape),
    )
    np.testing.assert_array_equal(shown, expected)
    QApplication.clipboard().clear()
    window.commands["copy_cutout"].trigger()
    qtbot.waitUntil(lambda: not QApplication.clipboard().image().isNull())
    copied = QApplication.clipboard().image()
    assert copied.pixelColor(0, 0).name() == "#ffffff"
