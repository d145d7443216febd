import pytest

from segapp.io.export.formats import FORMATS
from segapp.io.images import list_images


def listed(folder, *names):
    for name in names:
        (folder / name).touch()
    return [path.name for path in list_images(folder)]


def test_only_images_are_listed_and_by_name(tmp_path):
    (tmp_path / "folder.png").mkdir()
    names = listed(tmp_path, "b.PNG", "a.jpg", ".hidden.png", "notes.txt", "a.segapp")
    assert names == ["a.jpg", "b.PNG"]


@pytest.mark.parametrize("word", ["strokes", "truth", "anno", *FORMATS])
def test_what_belongs_to_an_image_is_none_itself(tmp_path, word):
    assert listed(tmp_path, "cat.jpg", f"cat-{word}.png") == ["cat.jpg"]


def test_the_masks_of_the_classes_belong_to_their_image(tmp_path):
    names = ("cat-classes-fur.png", "cat-classes-a-classes-b.png", "cat-classes-.png")
    assert listed(tmp_path, "cat.jpg", *names) == ["cat.jpg"]
    (tmp_path / "cat.jpg").unlink()
    assert len(listed(tmp_path)) == 3  # nobody's


def test_an_images_own_name_may_hold_the_word(tmp_path):
    names = ("x-classes-y.jpg", "x-classes-y-classes-z.png")
    assert listed(tmp_path, *names) == ["x-classes-y.jpg"]


def test_the_same_name_without_its_image_is_an_image(tmp_path):
    assert listed(tmp_path, "dog.jpg", "cat-mask.png") == ["cat-mask.png", "dog.jpg"]
