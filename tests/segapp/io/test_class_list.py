"""The folder's classes: written, read back, moved between lists, and taken from other programs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapp.io.class_list import (
    CLASS_LIST_FILE,
    ClassList,
    ClassListError,
    apply_folder_classes,
    find_class_list,
    import_class_list,
    match_classes,
    read_class_list,
    write_class_list,
)
from segapp.model.classes import ClassInfo, shortcut_keys
from segapp.model.document import Document, Stroke

LEAF = ClassInfo("leaf", (1, 2, 3), key="4")
SOIL = ClassInfo("Boden é中", (9, 8, 7), background=True)
STEM = ClassInfo("stem", (5, 5, 5))


def test_a_list_comes_back_and_is_readable(tmp_path):
    path = tmp_path / CLASS_LIST_FILE
    listing = ClassList((LEAF, SOIL, STEM), (1, 7, 3))
    write_class_list(path, listing)
    assert read_class_list(path) == listing
    text = path.read_text(encoding="utf-8")
    assert "Boden é中" in text
    assert len(text.splitlines()) == 9  # one line a class
    assert find_class_list(tmp_path) == (path, listing)


def test_numbers_may_be_left_out_by_hand(tmp_path):
    path = tmp_path / CLASS_LIST_FILE
    rows = [{"name": name, "colour": [0, 0, 0]} for name in "abc"]
    rows[1]["id"] = 1
    path.write_text(json.dumps({"format": "segapp classes", "version": 1, "classes": rows}))
    assert read_class_list(path).ids == (2, 1, 3)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda rows: rows[0].pop("name"),
        lambda rows: rows[0].update(colour=[0, 0, 256]),
        lambda rows: rows[0].update(name=rows[1]["name"]),
        lambda rows: rows[0].update(id=rows[1]["id"]),
        lambda rows: rows[0].update(id="1"),
        lambda rows: rows[0].update(key="0"),
        lambda rows: rows[0].update(key=["1"]),
        lambda rows: rows.clear(),
    ],
)
def test_a_damaged_list_is_refused_in_one_sentence(tmp_path, spoil):
    path = tmp_path / CLASS_LIST_FILE
    write_class_list(path, ClassList.from_classes((LEAF, SOIL)))
    content = json.loads(path.read_text(encoding="utf-8"))
    spoil(content["classes"])
    path.write_text(json.dumps(content))
    with pytest.raises(ClassListError, match=r"^segapp-classes.json is not a class list: .*\.$"):
        read_class_list(path)


def test_no_list_is_none(tmp_path):
    assert find_class_list(tmp_path) is None
    with pytest.raises(ClassListError, match="cannot be read"):
        import_class_list(tmp_path / "labels.txt")


def test_labelme(tmp_path):
    (tmp_path / "labels.txt").write_text("__ignore__\n_background_\ncat\n dog \n\n")
    _, listing = find_class_list(tmp_path)
    assert [info.name for info in listing.classes] == ["_background_", "cat", "dog"]
    assert Document(listing.classes).background == 0
    assert len({info.colour for info in listing.classes}) == 3


def test_labelme_without_a_background_gets_one(tmp_path):
    (tmp_path / "labels.txt").write_text("cat\ndog\n")
    _, listing = find_class_list(tmp_path)
    assert [info.name for info in listing.classes] == ["cat", "dog", "background"]


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: {"labels": rows}])
def test_cvat(tmp_path, wrap):
    rows = [
        {"name": "road", "id": 12, "color": "#ff0080", "type": "any", "attributes": []},
        {"name": "background", "color": "", "attributes": []},
    ]
    (tmp_path / "labels.json").write_text(json.dumps(wrap(rows)))
    _, listing = find_class_list(tmp_path)
    assert listing.classes[0] == ClassInfo("road", (255, 0, 128))
    assert listing.classes[1].is_background


@pytest.mark.parametrize(
    "content", ['[{"color": "#ff0000"}]', '[{"name": "a", "color": "red"}]', "[1]", "{}", "[", "5"]
)
def test_a_file_that_is_no_list_of_labels_is_refused(tmp_path, content):
    (tmp_path / "labels.json").write_text(content)
    with pytest.raises(ClassListError, match=r"labels.json is not a class list: .*\."):
        find_class_list(tmp_path)


def test_our_own_list_comes_first(tmp_path):
    (tmp_path / "labels.txt").write_text("cat\ndog\n")
    write_class_list(tmp_path / CLASS_LIST_FILE, ClassList.from_classes((LEAF, SOIL)))
    assert find_class_list(tmp_path)[1].classes == (LEAF, SOIL)


def test_numbers_stay_with_their_classes():
    listing = ClassList.from_classes((LEAF, STEM, SOIL))
    renamed = ClassInfo("blade", LEAF.colour)
    assert listing.with_classes((renamed, STEM, SOIL)).ids == (1, 2, 3)
    assert listing.with_classes((SOIL, LEAF)).ids == (3, 1)
    assert listing.with_classes((SOIL, LEAF)).with_classes((SOIL, LEAF, STEM)).ids == (3, 1, 4)


names = st.lists(st.sampled_from("abcdef"), min_size=2, max_size=6, unique=True)


@given(names, names)
def test_a_class_goes_to_its_name_and_no_two_to_one_place(before, after):
    old, new = ([ClassInfo(name, (0, 0, 0)) for name in each] for each in (before, after))
    places = match_classes(old, new)
    found = [place for place in places if place is not None]
    assert len(found) == len(set(found))
    for info, place in zip(old, places, strict=True):
        if info.name in after:
            assert new[place].name == info.name
    ids = ClassList.from_classes(tuple(old)).with_classes(tuple(new)).ids
    for place, number in zip(places, range(1, 7), strict=False):
        assert place is None or ids[place] == number


def test_strokes_follow_their_classes():
    dab = Stroke(((1.0, 1.0),), 1.0, 2)
    document = Document((LEAF, STEM, SOIL), (dab,))
    moved = apply_folder_classes(document, (LEAF, STEM, SOIL), (SOIL, LEAF))
    assert moved.classes == (SOIL, LEAF)
    assert moved.strokes[0].label == 0
    # A picture with marks of a class that is gone, or with classes of its own, stays.
    assert apply_folder_classes(document, (LEAF, STEM, SOIL), (LEAF, STEM)) is None
    assert apply_folder_classes(document, (LEAF, SOIL), (LEAF, STEM)) is None


@given(st.lists(st.sampled_from(["", "1", "2", "9"]), max_size=15))
def test_keys_are_different_digits(keys):
    given_keys = shortcut_keys([ClassInfo("a", (0, 0, 0), key=key) for key in keys])
    used = [key for key in given_keys if key]
    assert len(used) == len(set(used)) == min(len(keys), 9)
