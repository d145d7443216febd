"""Pages, channels and levels of files that instruments write, against tifffile and the formula."""

import json
import zipfile

import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from segapp.io.deep_images import rerender
from segapp.io.folder_files import (
    DISPLAY_FILE,
    DisplaySettingsError,
    display_from_plain,
    display_to_plain,
    read_display,
    write_display,
)
from segapp.io.images import list_images, load_image, load_thumbnail
from segapp.io.pages import ImageError, list_pages, page_file, parse_page, with_page
from segapp.io.project import Project, load_project, save_project
from segapp.model.display import ColourMap, DisplaySettings, Levels, colour_table
from segapp.model.document import Document
from segapp.model.settings import Settings

RNG = np.random.default_rng(3)
FIVE = RNG.integers(0, 5000, (20, 30, 5), dtype=np.uint16)
OWN = DisplaySettings((3, None, 1), (None, Levels(100, 900, 0.5), None, Levels(0, 4000)))


@pytest.fixture
def five(tmp_path):
    path = tmp_path / "five.tif"
    tifffile.imwrite(path, FIVE, photometric="minisblack", planarconfig="contig")
    return path


def test_all_channels_are_kept_as_they_were_measured(five):
    raw = load_image(five).raw_image
    assert (raw.values == FIVE).all()
    assert raw.dtype_text == "16-bit"
    assert raw.at(7, 4) == tuple(FIVE[4, 7].tolist())


def test_channels_and_levels_follow_the_formula(five):
    rgb = load_image(five, OWN).rgb
    assert (rgb[..., 0] == np.rint(255 * np.clip(FIVE[..., 3] / 4000, 0, 1))).all()
    assert (rgb[..., 1] == 0).all()
    share = np.clip((FIVE[..., 1].astype(float) - 100) / 800, 0, 1)
    assert (rgb[..., 2] == np.rint(255 * share**2)).all()


def test_a_chosen_channel_finds_its_own_levels_and_colours(five):
    picture = load_image(five, DisplaySettings((4,), colour_map=ColourMap.FIRE))
    low, high = np.percentile(FIVE[..., 4], (0.1, 99.9))
    assert (picture.levels[0].black, picture.levels[0].white) == (low, high)
    grey = np.rint(255 * np.clip((FIVE[..., 4] - low) / (high - low), 0, 1)).astype(int)
    assert (picture.rgb == colour_table(ColourMap.FIRE)[grey]).all()


def test_showing_anew_is_loading_anew(five):
    default, own = load_image(five), load_image(five, OWN)
    assert (rerender(default, OWN).rgb == own.rgb).all()
    back = rerender(own, DisplaySettings())
    assert (back.rgb == default.rgb).all()
    assert back.note == default.note
    assert back.raw is own.raw


def test_levels_of_an_ordinary_picture_are_taken_back_without_loss(tmp_path):
    rgba = RNG.integers(0, 256, (9, 8, 4), dtype=np.uint8)
    Image.fromarray(rgba).save(tmp_path / "a.png")
    plain = load_image(tmp_path / "a.png")
    bright = rerender(plain, DisplaySettings(levels=(Levels(10, 20),) * 3))
    assert (bright.rgb == Levels(10, 20).apply(plain.rgb)).all()
    assert (rerender(bright, DisplaySettings()).rgb == plain.rgb).all()
    assert plain.raw_image.values is plain.rgb  # no second copy


def test_channels_that_a_picture_lacks_change_nothing(tmp_path):
    tifffile.imwrite(tmp_path / "one.tif", FIVE[..., 0])
    path = tmp_path / "one.tif"
    assert (load_image(path, DisplaySettings((3,))).rgb == load_image(path).rgb).all()


# Pages ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("bigtiff", [False, True])
def test_each_page_of_a_tiff_is_a_picture(tmp_path, kind, bigtiff):
    pages = RNG.integers(0, 250, (3, 20, 30)).astype(kind)
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, pages, photometric="minisblack", bigtiff=bigtiff)
    names = ["stack.tif", "stack[2].tif", "stack[3].tif"]
    assert [page.name for page in list_images(tmp_path)] == names
    for page, values in zip(list_images(tmp_path), pages, strict=True):
        measured = load_image(page).raw_image.values
        assert (measured[..., 0] == values).all()
        assert load_thumbnail(page, 16).shape == (11, 16, 3)
    assert load_image(tmp_path / "stack[3].tif").note.endswith("page 3 of 3")


def test_frames_of_a_gif_are_pictures(tmp_path):
    frames = [Image.fromarray(np.full((6, 7), level, np.uint8)) for level in (0, 90, 200)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    found = list_images(tmp_path)
    assert [int(load_image(page).rgb[2, 2, 0]) for page in found] == [0, 90, 200]


@pytest.mark.parametrize(
    ("kind", "axes"),
    [("imagej", "CYX"), ("imagej", "TZCYX"), ("ome", "CYX"), ("ome", "ZCYX"), ("ome", "TCZYX")],
)
def test_channels_that_are_pages_make_one_picture(tmp_path, kind, axes):
    lengths = {"T": 2, "Z": 3, "C": 4, "Y": 12, "X": 9}
    values = RNG.integers(0, 60000, [lengths[axis] for axis in axes], dtype=np.uint16)
    path = tmp_path / ("a.ome.tif" if kind == "ome" else "a.tif")
    told = {"metadata": {"axes": axes}, "photometric": "minisblack"}
    tifffile.imwrite(path, values, imagej=kind == "imagej", **told)
    slices = np.moveaxis(values, axes.index("C"), -1).reshape(-1, 12, 9, 4)
    found = list_pages(path)
    assert len(found) == len(slices)
    for page, truth in zip(found, slices, strict=True):
        picture = load_image(page)
        assert (picture.raw_image.values == truth).all()
        low, high = np.percentile(truth[..., 0], (0.1, 99.9))  # the first, as grey
        grey = np.rint(255 * np.clip((truth[..., 0] - low) / (high - low), 0, 1))
        assert (picture.rgb == grey[..., np.newaxis]).all()


def test_five_channels_of_bytes_are_read(tmp_path):
    values = (FIVE >> 5).astype(np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", values, photometric="minisblack", planarconfig="contig")
    picture = load_image(tmp_path / "a.tif")
    assert (picture.raw_image.values == values).all()
    assert (picture.rgb == values[..., :3]).all()


def test_a_file_that_is_called_like_a_page_is_itself(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", FIVE[..., 0], photometric="minisblack")
    tifffile.imwrite(tmp_path / "a[2].tif", FIVE[..., 1], photometric="minisblack")
    assert parse_page(tmp_path / "a[2].tif") == (tmp_path / "a[2].tif", 0)
    assert parse_page(tmp_path / "a[3].tif") == (tmp_path / "a.tif", 2)
    assert len(list_images(tmp_path)) == 2


def test_a_page_that_is_not_there_is_told(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", FIVE[..., 0])
    Image.new("L", (3, 3)).save(tmp_path / "b.png")
    for name in ("a[7].tif", "b[7].png"):
        with pytest.raises(ImageError, match=r"has no page 7: the last one is page 1\."):
            load_image(tmp_path / name)


@pytest.mark.parametrize(
    "content", [b"", b"II*\0", b"II*\0\xff\xff\xff\xff", b"MM\0+" + b"\0" * 20]
)
def test_a_damaged_file_is_one_page(tmp_path, content):
    (tmp_path / "a.tif").write_bytes(content)
    assert list_pages(tmp_path / "a.tif") == [tmp_path / "a.tif"]


def test_smaller_copies_are_no_pages(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as writer:
        writer.write(FIVE[..., 0], photometric="minisblack")
        writer.write(FIVE[::2, ::2, 0], photometric="minisblack", subfiletype=1)
    assert list_pages(tmp_path / "a.tif") == [tmp_path / "a.tif"]


# Files ------------------------------------------------------------------------------------

LEVELS = st.none() | st.builds(
    lambda ends, gamma: Levels(min(ends), max(ends), gamma),
    st.tuples(*[st.floats(-1e300, 1e300)] * 2),
    st.floats(0.1, 10),
)
SHOWINGS = st.builds(
    DisplaySettings,
    st.sampled_from([(), (0,), (7,), (2, None, 0), (1, 1, 1)]),
    st.lists(LEVELS, max_size=4).map(tuple),
    st.sampled_from(ColourMap),
)


@given(SHOWINGS)
def test_what_is_written_is_read_again(display):
    assert display_from_plain(json.loads(json.dumps(display_to_plain(display)))) == display


def test_a_folder_remembers_how_its_pictures_are_shown(tmp_path):
    assert read_display(tmp_path) == DisplaySettings()
    write_display(tmp_path, OWN)
    assert read_display(tmp_path) == OWN
    write_display(tmp_path, DisplaySettings())
    assert not (tmp_path / DISPLAY_FILE).exists()


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"version": "one"},
        {"channels": [1, 2]},
        {"channels": [0]},
        {"channels": "red"},
        {"levels": [{"black": 1}]},
        {"levels": [{"black": 2, "white": 1}]},
        {"levels": [{"black": 1, "white": 2, "gamma": 0}]},
        {"colour map": "jet"},
        {"colour map": 3},
    ],
)
def test_a_wrong_view_is_told_in_one_sentence(tmp_path, change):
    write_display(tmp_path, OWN)
    path = tmp_path / DISPLAY_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(
        DisplaySettingsError, match=r"^segapp-view\.json is no view of pictures: .*\.$"
    ):
        read_display(tmp_path)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_view_is_told(tmp_path, content):
    (tmp_path / DISPLAY_FILE).write_bytes(content)
    with pytest.raises(DisplaySettingsError):
        read_display(tmp_path)


def test_a_project_holds_how_its_picture_is_shown(tmp_path, five):
    path = tmp_path / "five.segapp"
    save_project(path, Project(Document(display=OWN), Settings(), five, ""))
    assert load_project(path).document.display == OWN


def test_a_project_of_a_page_finds_it_again(tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    tifffile.imwrite(pages / "a.tif", FIVE.transpose(2, 0, 1), photometric="minisblack")
    third = with_page(pages / "a.tif", 3)
    save_project(pages / "p.segapp", Project(Document(), Settings(), third, ""))
    moved = pages.rename(tmp_path / "moved")
    found = load_project(moved / "p.segapp").image_path
    assert (found, page_file(found)) == (moved / "a[3].tif", moved / "a.tif")


@pytest.mark.parametrize("kind", ["showing", "page", "plain"])
def test_older_programs_are_told_what_they_would_drop(tmp_path, five, kind):
    tifffile.imwrite(tmp_path / "a.tif", FIVE.transpose(2, 0, 1), photometric="minisblack")
    image = tmp_path / "a[2].tif" if kind == "page" else five
    document = Document(display=OWN) if kind == "showing" else Document()
    save_project(tmp_path / "p.segapp", Project(document, Settings(), image, ""))
    with zipfile.ZipFile(tmp_path / "p.segapp") as archive:
        content = json.loads(archive.read("project.json"))
    assert content["version"] == (1 if kind == "plain" else 3)
