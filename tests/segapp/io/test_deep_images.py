"""PNG with 16 bits a channel: written here byte by byte, read to the last bit."""

import json
import struct
import zipfile
import zlib

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from segapp.app.workspace import list_images
from segapp.imaging import tiles
from segapp.io.deep_images import percentiles, rerender
from segapp.io.folder_files import (
    DISPLAY_FILE,
    DisplaySettingsError,
    display_from_plain,
    display_to_plain,
    read_display,
    write_display,
)
from segapp.io.images import load_image, load_thumbnail
from segapp.io.pages import ImageError, list_pages, page_file, parse_page, with_page
from segapp.io.project import Project, load_project, save_project
from segapp.model.display import ColourMap, DisplaySettings, Levels, colour_table
from segapp.model.document import Document
from segapp.model.settings import Settings

KINDS = {1: 0, 2: 4, 3: 2, 4: 6}  # channels, and what PNG calls it


def paeth(left, above, corner):
    guess = left + above - corner
    distances = [abs(guess - other) for other in (left, above, corner)]
    return (left, above, corner)[distances.index(min(distances))]


def filtered(line, before, kind, step):
    """Return a row of bytes as filter ``kind`` of the PNG specification writes it."""
    out = bytearray()
    for k, value in enumerate(line):
        left = line[k - step] if k >= step else 0
        corner = before[k - step] if k >= step else 0
        above = before[k]
        guess = (0, left, above, (left + above) // 2, paeth(left, above, corner))[kind]
        out.append((value - guess) % 256)
    return bytes(out)


def png(values, filters=(0, 1, 2, 3, 4), more=b""):
    height, width, channels = values.shape
    lines = [row.astype(">u2").tobytes() for row in values]
    before, packed = bytes(len(lines[0])), b""
    for k, line in enumerate(lines):
        kind = filters[k % len(filters)]
        packed += bytes([kind]) + filtered(line, before, kind, 2 * channels)
        before = line
    header = struct.pack(">IIBBBBB", width, height, 16, KINDS[channels], 0, 0, 0)
    parts = [chunk(b"IHDR", header), more, chunk(b"IDAT", zlib.compress(packed))]
    return b"\x89PNG\r\n\x1a\n" + b"".join([*parts, chunk(b"IEND", b"")])


def chunk(name, content):
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )


@given(st.sampled_from(list(KINDS)), st.integers(1, 9), st.integers(1, 9), st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_every_bit_is_read(tmp_path_factory, channels, height, width, seed):
    values = np.random.default_rng(seed).integers(0, 65536, (height, width, channels))
    path = tmp_path_factory.mktemp("png") / "a.png"
    path.write_bytes(png(values.astype(np.uint16)))
    picture = load_image(path)
    colours = values[:, :, :-1] if channels in (2, 4) else values
    np.testing.assert_array_equal(picture.raw_image.values, colours)
    if channels in (2, 4):
        alpha = 255 if picture.alpha is None else picture.alpha
        np.testing.assert_array_equal(alpha, np.rint(values[:, :, -1] / 65535 * 255))


def test_colours_are_shown_between_levels_like_those_of_a_tiff(tmp_path):
    values = np.random.default_rng(1).integers(177, 1209, (30, 40, 3)).astype(np.uint16)
    path = tmp_path / "faint.png"
    path.write_bytes(png(values))
    picture = load_image(path)
    low, high = np.percentile(values, (0.1, 99.9))
    assert picture.note == f"16-bit, shown from {low:.5g} to {high:.5g}"
    expected = np.rint(np.clip((values - low) / (high - low), 0, 1) * 255)
    assert np.abs(picture.rgb - expected).max() <= 1
    assert picture.exceeds_rgb8


def test_a_photograph_with_a_profile_keeps_its_colours(tmp_path):
    profile = chunk(b"iCCP", b"x\0\0" + zlib.compress(b"no real profile, and no reason to refuse"))
    values = np.random.default_rng(2).integers(0, 65536, (8, 9, 3)).astype(np.uint16)
    path = tmp_path / "photo.png"
    path.write_bytes(png(values, more=profile))
    picture = load_image(path)
    assert picture.note == "16-bit, shown with the upper 8 bits"
    np.testing.assert_array_equal(picture.rgb, values >> 8)


def test_a_truncated_file_is_reported_in_one_sentence(tmp_path):
    values = np.random.default_rng(3).integers(0, 65536, (60, 70, 4)).astype(np.uint16)
    path = tmp_path / "cut.png"
    path.write_bytes(png(values)[:9000])
    with pytest.raises(ImageError, match=r"cut\.png is damaged and cannot be read"):
        load_image(path)


RNG = np.random.default_rng(8)


@pytest.mark.parametrize(
    "kind", ["u2", ">u2", "i2", "u4", "i4", "f2", "f4", ">f4", "f8", "i8", "u8"]
)
@pytest.mark.parametrize("size", [1, 2, 999, 20_000])
def test_percentiles_are_numpys(monkeypatch, kind, size):
    monkeypatch.setattr(tiles, "_STRIP_VALUES", 1000)
    numbers = RNG.normal(300, 4000, (size, 3))
    if kind.endswith(("u2", "u4", "u8")):
        numbers = np.abs(numbers)
    values = numbers.astype(kind)
    found = percentiles(values, (0.1, 50, 99.9))
    expected = np.percentile(values.astype(np.float64), (0.1, 50, 99.9))
    np.testing.assert_allclose(found.values, expected, rtol=1e-14)
    assert (found.least, found.largest) == (values.min(), values.max())
    assert found.not_finite == 0


def test_values_that_are_no_numbers_are_counted_and_left_out():
    values = np.array([[np.nan, 1.0, -np.inf], [2.0, np.inf, 3.0]], np.float32)
    found = percentiles(values, (50,))
    assert (found.values, found.least, found.largest, found.not_finite) == ((2.0,), 1.0, 3.0, 3)
    assert percentiles(np.full((2, 2), np.nan), (50,)) is None


def test_the_largest_numbers():
    found = percentiles(np.array([[-1.7e308, 1.7e308]]), (25, 50, 75))
    np.testing.assert_allclose(found.values, (-0.85e308, 0, 0.85e308), atol=1e293)


SHOWING_RNG = np.random.default_rng(3)
FIVE = SHOWING_RNG.integers(0, 5000, (20, 30, 5), dtype=np.uint16)
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
    rgba = SHOWING_RNG.integers(0, 256, (9, 8, 4), dtype=np.uint8)
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
    pages = SHOWING_RNG.integers(0, 250, (3, 20, 30)).astype(kind)
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
    values = SHOWING_RNG.integers(0, 60000, [lengths[axis] for axis in axes], dtype=np.uint16)
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


def test_a_missing_page_is_reported(tmp_path):
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
def test_written_display_settings_are_read_again(display):
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
def test_wrong_display_settings_are_reported_in_one_sentence(tmp_path, change):
    write_display(tmp_path, OWN)
    path = tmp_path / DISPLAY_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(
        DisplaySettingsError, match=r"^segapp-view\.json is not a file of display settings: .*\.$"
    ):
        read_display(tmp_path)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000])
def test_damaged_display_settings_are_reported(tmp_path, content):
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
def test_older_programs_report_what_they_would_drop(tmp_path, five, kind):
    tifffile.imwrite(tmp_path / "a.tif", FIVE.transpose(2, 0, 1), photometric="minisblack")
    image = tmp_path / "a[2].tif" if kind == "page" else five
    document = Document(display=OWN) if kind == "showing" else Document()
    save_project(tmp_path / "p.segapp", Project(document, Settings(), image, ""))
    with zipfile.ZipFile(tmp_path / "p.segapp") as archive:
        content = json.loads(archive.read("project.json"))
    assert content["version"] == (1 if kind == "plain" else 3)
