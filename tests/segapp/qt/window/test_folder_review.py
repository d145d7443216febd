"""Mistakes, the most useful image and similar objects of a folder, in the window."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt

from segapp.app.folder_learning import Similar, Usefulness
from segapp.engine.folder_model import Suspect
from segapp.engine.trainer import Trainer

SUSPECTS = [
    Suspect(f"{n}.png", 40.0, 30.0, (30.0, 20.0, 50.0, 40.0), 1, 0, 0.9 - 0.1 * n, 0.02)
    for n in (1, 2)
]


@pytest.fixture
def window(make_window, picture_file, qtbot, monkeypatch):
    """A window on a folder whose comparison is that of a test."""
    paths = [picture_file(f"folder/{number}.png") for number in range(1, 5)]
    window = make_window(paths[0].parent, Trainer)
    memory = window.folder.review._memory
    memory._learner.classes = window.session.document.classes
    memory._learner.pictures = dict.fromkeys(paths[:2])
    return window


def texts(window):
    rows = window.folder.review.place_list.rows
    return [rows.item(row).text() for row in range(rows.count())]


def test_a_list_is_gone_through_with_two_keys(window, qtbot):
    review = window.folder.review
    review._list_suspects(SUSPECTS)
    places = review.place_list
    assert texts(window)[0] == "1.png: background, likelier foreground (0.80)"
    qtbot.keyClick(places.rows, Qt.Key.Key_R)
    assert [text[:5] for text in texts(window)] == ["2.png"]
    with qtbot.waitSignal(window.files.opened):
        qtbot.keyClick(places.rows, Qt.Key.Key_M)
    assert window.session.state.path.name == "2.png"
    frame = window.canvas._scene().selection
    assert len(frame) == 4
    assert frame[0].p1().x() <= 30
    assert frame[0].p2().x() >= 50


def test_enough_is_said_when_nothing_is_in_doubt(window, qtbot):
    said, path = [], window.files.workspace.images[2]
    window.folder.review.message.connect(said.append)
    with qtbot.waitSignal(window.files.opened):
        window.folder.review._open_most_useful([Usefulness(path, 0.4, 0.2)])
    assert "3.png would teach most: 40% of it is in doubt" in said
    window.folder.review._open_most_useful([Usefulness(path, 0.05, 0.2)])
    assert "Enough" in said[-1]


def test_similar_images_are_listed(window):
    window.folder.review._list_similar([Similar("2.png", 5.0, 6.0, 0.1)])
    assert texts(window) == ["2.png: 10% of the code differ"]


def test_nothing_is_compared_before_images_are_finished(window):
    said = []
    window.folder.review.message.connect(said.append)
    window.commands["review"].trigger()
    window.commands["next_useful"].trigger()
    window.folder.review._point(QPointF(5, 5))
    window.commands["find_similar"].trigger()
    assert len(said) == 3
    assert np.all(["first" in said[0], "unfinished" in said[1], "Point" in said[2]])


def test_the_list_is_sorted_by_usefulness_and_back(window):
    images, listed = window.files.workspace.images, window.file_list.names
    names = listed()
    useful = [Usefulness(images[n], doubt, 0.2) for n, doubt in ((3, 0.6), (2, 0.4))]
    window.folder.review._list_useful(useful)
    assert listed() == ["4.png", "3.png", "1.png", "2.png"]
    window.commands["sort_useful"].setChecked(True)
    window.commands["sort_useful"].setChecked(False)
    assert listed() == names
