"""Loading takes little more than the picture it gives: measured in a process of its own."""

import contextlib
import contextvars
import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import tracemalloc
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms, ImageOps

from segapp.io import images, pages
from segapp.io import pages as image_limits
from segapp.io.export.formats import FORMATS
from segapp.io.images import load_image, load_indices
from segapp.io.pages import ImageError, list_pages
from segapp.io.project import Project, load_project, save_project
from segapp.io.stacks import open_stack
from segapp.model.document import Document
from segapp.model.labelling import Labelling
from segapp.model.settings import Settings
from segapp.model.validation import load_file_name, store_file_name

RNG = np.random.default_rng(3)
SMOOTH = np.stack(
    np.broadcast_arrays(
        np.linspace(20, 230, 40)[np.newaxis, :], np.linspace(40, 200, 30)[:, np.newaxis], 90.0
    ),
    axis=2,
).astype(np.uint8)

WANTED = "JPEG, PNG, BMP, TIFF, WebP, GIF, AVIF, JPEG 2000, PPM or TGA"


@pytest.mark.parametrize(
    ("suffix", "options", "tolerance"),
    [
        ("png", {}, 0),
        ("bmp", {}, 0),
        ("tif", {}, 0),
        ("tif", {"compression": "tiff_lzw"}, 0),
        ("webp", {"lossless": True}, 0),
        ("jpg", {"quality": 95, "subsampling": 0}, 3),
        ("webp", {"quality": 95}, 12),
    ],
)
def test_colour_pictures_come_back(tmp_path, suffix, options, tolerance):
    path = tmp_path / f"picture.{suffix}"
    Image.fromarray(SMOOTH).save(path, **options)
    picture = load_image(path)
    assert picture.rgb.dtype == np.uint8
    assert np.abs(picture.rgb.astype(int) - SMOOTH).max() <= tolerance
    assert picture.alpha is None
    assert picture.note == ""
    assert picture.path == path
    assert picture.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert picture.size == (30, 40)
    assert not picture.rgb.flags.writeable


def test_an_animation_gives_its_first_frame(tmp_path):
    frames = [Image.new("RGB", (9, 7), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    picture = load_image(tmp_path / "moving.gif")
    assert (picture.rgb == (255, 0, 0)).all()
    assert picture.note == "first of 2 pages"


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_a_stack_gives_its_first_page_and_says_so(tmp_path, kind):
    pages = RNG.integers(0, 200, (5, 20, 30)).astype(kind)
    tifffile.imwrite(tmp_path / "stack.tif", pages, photometric="minisblack")
    picture = load_image(tmp_path / "stack.tif")
    assert picture.note.endswith("first of 5 pages")
    order = np.argsort(pages[0].ravel(), kind="stable")
    assert (np.diff(picture.rgb[:, :, 0].ravel()[order].astype(int)) >= 0).all()


def test_grey_and_black_and_white(tmp_path):
    grey = SMOOTH[:, :, 0]
    Image.fromarray(grey).save(tmp_path / "grey.png")
    assert (load_image(tmp_path / "grey.png").rgb == grey[:, :, np.newaxis]).all()
    bits = grey > 100
    Image.fromarray(bits).save(tmp_path / "bits.tif")
    assert (load_image(tmp_path / "bits.tif").rgb == 255 * bits[:, :, np.newaxis]).all()


def test_a_palette_becomes_its_colours(tmp_path):
    image = Image.fromarray((np.arange(12) % 3).reshape(3, 4).astype(np.uint8), mode="L")
    image.putpalette([1, 2, 3, 40, 50, 60, 255, 0, 7])
    image.save(tmp_path / "palette.png")
    expected = np.array([(1, 2, 3), (40, 50, 60), (255, 0, 7)])[np.arange(12) % 3]
    assert (load_image(tmp_path / "palette.png").rgb.reshape(-1, 3) == expected).all()


def test_a_transparent_palette_entry_is_alpha(tmp_path):
    image = Image.fromarray(np.array([[0, 1]], np.uint8), mode="L")
    image.putpalette([10, 20, 30, 40, 50, 60])
    image.save(tmp_path / "p.png", transparency=0)
    picture = load_image(tmp_path / "p.png")
    assert picture.alpha.tolist() == [[0, 255]]
    assert picture.rgb.tolist() == [[[255, 255, 255], [40, 50, 60]]]


def test_alpha_is_kept_and_blended_with_white(tmp_path):
    rgba = RNG.integers(0, 256, (20, 30, 4), dtype=np.uint8)
    Image.fromarray(rgba).save(tmp_path / "alpha.png")
    picture = load_image(tmp_path / "alpha.png")
    white = Image.new("RGBA", (30, 20), "white")
    expected = np.array(Image.alpha_composite(white, Image.fromarray(rgba)))[:, :, :3]
    assert (picture.alpha == rgba[:, :, 3]).all()
    assert np.abs(picture.rgb.astype(int) - expected).max() <= 1


def test_an_alpha_that_hides_nothing_is_none(tmp_path):
    Image.fromarray(SMOOTH).convert("RGBA").save(tmp_path / "opaque.png")
    picture = load_image(tmp_path / "opaque.png")
    assert picture.alpha is None
    assert (picture.rgb == SMOOTH).all()


@pytest.mark.parametrize("suffix", ["jpg", "tif"])
def test_cmyk(tmp_path, suffix):
    Image.new("CMYK", (8, 8), (0, 255, 255, 0)).save(tmp_path / f"red.{suffix}")
    rgb = load_image(tmp_path / f"red.{suffix}").rgb
    assert np.abs(rgb.astype(int) - (255, 0, 0)).max() <= 4


def test_a_colour_profile_is_applied(tmp_path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
    Image.fromarray(SMOOTH).save(tmp_path / "srgb.png", icc_profile=profile.tobytes())
    assert np.abs(load_image(tmp_path / "srgb.png").rgb.astype(int) - SMOOTH).max() <= 2
    Image.fromarray(SMOOTH).save(tmp_path / "broken.png", icc_profile=b"no profile at all")
    assert (load_image(tmp_path / "broken.png").rgb == SMOOTH).all()


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bit_grey_is_stretched(tmp_path, suffix):
    values = np.linspace(13, 4095, 1200).reshape(30, 40).astype(np.uint16)
    Image.fromarray(values).save(tmp_path / f"deep.{suffix}")
    picture = load_image(tmp_path / f"deep.{suffix}")
    grey = picture.rgb[:, :, 0].astype(int)
    assert (picture.rgb == grey[:, :, np.newaxis]).all()
    assert grey.min() == 0
    assert grey.max() == 255
    assert (np.diff(grey.ravel()) >= 0).all()
    assert picture.note.startswith("16-bit, shown from ")


def test_sixteen_bit_colour_tiff_keeps_its_ratios(tmp_path):
    values = (SMOOTH.astype(np.uint16) + 1) * 16
    tifffile.imwrite(tmp_path / "deep.tif", values, photometric="rgb")
    picture = load_image(tmp_path / "deep.tif")
    low, high = np.percentile(values, (0.1, 99.9))
    expected = np.rint(255 * np.clip((values - low) / (high - low), 0, 1))
    assert (picture.rgb == expected).all()
    assert picture.note == f"16-bit, shown from {low:.5g} to {high:.5g}"


@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_deep_tiff_with_alpha(tmp_path, planar):
    values = RNG.integers(0, 65536, (12, 9, 4), dtype=np.uint16)
    tifffile.imwrite(
        tmp_path / "a.tif",
        values if planar == "contig" else np.moveaxis(values, -1, 0),
        photometric="rgb",
        planarconfig=planar,
        extrasamples=["unassalpha"],
    )
    picture = load_image(tmp_path / "a.tif")
    assert (picture.alpha == np.rint(values[:, :, 3] / 257)).all()
    clear = picture.alpha == 0
    assert (picture.rgb[clear] == 255).all()


def test_more_channels_than_colours(tmp_path):
    values = RNG.integers(0, 1000, (12, 9, 5), dtype=np.uint16)
    tifffile.imwrite(
        tmp_path / "five.tif", values, photometric="minisblack", planarconfig="contig"
    )
    picture = load_image(tmp_path / "five.tif")
    assert picture.rgb.shape == (12, 9, 3)
    assert picture.note.endswith("channels 1 to 3 of 5")


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.uint32, np.int16])
def test_float_and_wide_integers(tmp_path, kind):
    values = np.linspace(-5, 900, 1200).reshape(30, 40).astype(kind)
    tifffile.imwrite(tmp_path / "wide.tif", np.maximum(values, 0) if kind is np.uint32 else values)
    picture = load_image(tmp_path / "wide.tif")
    assert picture.rgb.min() == 0
    assert picture.rgb.max() == 255
    assert "shown from" in picture.note


def test_nan_and_infinity_are_tolerated(tmp_path):
    values = np.linspace(0, 1, 100, dtype=np.float32).reshape(10, 10)
    values[3, 4], values[5, 6], values[7, 8] = np.nan, np.inf, -np.inf
    tifffile.imwrite(tmp_path / "nan.tif", values)
    picture = load_image(tmp_path / "nan.tif")
    assert picture.rgb[3, 4].tolist() == [0, 0, 0]
    assert picture.rgb[5, 6].tolist() == [255, 255, 255]
    assert picture.rgb[7, 8].tolist() == [0, 0, 0]
    assert picture.rgb[9, 9].tolist() == [255, 255, 255]
    assert picture.note.endswith("3 values are not numbers")


@pytest.mark.parametrize("value", [0.0, 7.5, np.nan])
def test_a_float_picture_without_contrast(tmp_path, value):
    tifffile.imwrite(tmp_path / "flat.tif", np.full((4, 5), value, np.float32))
    picture = load_image(tmp_path / "flat.tif")
    assert picture.rgb.shape == (4, 5, 3)
    assert np.ptp(picture.rgb) == 0


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tif"])
def test_orientations(tmp_path, orientation, suffix):
    """All eight, against a picture that was turned by hand."""
    upright = np.zeros((16, 24, 3), np.uint8)
    upright[:8, :8] = (255, 0, 0)
    upright[:8, 16:] = (0, 255, 0)
    upright[8:, :8] = (0, 0, 255)
    # How a camera stores the upright picture for each value of the tag.
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.swapaxes(0, 1),
        6: np.rot90(upright),
        7: upright[::-1, ::-1].swapaxes(0, 1),
        8: np.rot90(upright, -1),
    }[orientation]
    exif = Image.Exif()
    exif[274] = orientation
    path = tmp_path / f"turned.{suffix}"
    options = {"quality": 100, "subsampling": 0} if suffix == "jpg" else {}
    options |= {"lossless": True} if suffix == "webp" else {}
    Image.fromarray(np.ascontiguousarray(stored)).save(path, exif=exif, **options)
    with Image.open(path) as raw:
        assert raw.getexif().get(274, 1) == orientation
    rgb = load_image(path).rgb
    assert rgb.shape == upright.shape
    assert np.abs(rgb.astype(int) - upright).max() <= 5


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientations_of_deep_tiff(tmp_path, orientation):
    values = np.arange(12 * 10, dtype=np.uint16).reshape(10, 12) * 100
    path = tmp_path / "deep.tif"
    tifffile.imwrite(path, values, extratags=[(274, "H", 1, orientation, True)])
    turned = load_image(path).rgb[:, :, 0]
    eight = Image.fromarray((values // 100).astype(np.uint8))
    exif = Image.Exif()
    exif[274] = orientation
    buffer = io.BytesIO()
    eight.save(buffer, "PNG", exif=exif)
    expected = np.array(ImageOps.exif_transpose(Image.open(buffer)))
    assert turned.shape == expected.shape
    assert (np.argsort(turned.ravel()[::7]) == np.argsort(expected.ravel()[::7])).all()


def chunk(kind, data):
    crc = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)


def huge_png(width, height):
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = zlib.compress(bytes(1000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    )


def test_a_decompression_bomb_is_refused_before_it_goes_off(tmp_path):
    path = tmp_path / "bomb.png"
    path.write_bytes(huge_png(60000, 60000))
    with pytest.raises(ImageError, match="60000 x 60000 pixels: at most 250 million"):
        load_image(path)


def test_a_deep_bomb_is_refused(tmp_path, monkeypatch):
    tifffile.imwrite(tmp_path / "deep.tif", np.zeros((40, 50), np.uint16))
    monkeypatch.setattr(image_limits, "MAX_PIXELS", 1999)
    with pytest.raises(ImageError, match="50 x 40 pixels"):
        load_image(tmp_path / "deep.tif")


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "tif", "webp", "gif"])
@pytest.mark.parametrize("part", [0.05, 0.5, 0.9])
def test_truncated_files(tmp_path, suffix, part):
    noise = RNG.integers(0, 256, (60, 50, 3), dtype=np.uint8)
    whole = tmp_path / f"whole.{suffix}"
    Image.fromarray(noise).save(whole)
    data = whole.read_bytes()
    path = tmp_path / f"part.{suffix}"
    path.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(ImageError, match=f"part.{suffix} is .*\\.$"):
        load_image(path)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "webp", "gif"])
def test_damaged_files_give_a_picture_or_a_sentence(tmp_path, suffix):
    noise = RNG.integers(0, 256, (30, 30, 3), dtype=np.uint8)
    whole = tmp_path / f"whole.{suffix}"
    Image.fromarray(noise).save(whole)
    data = whole.read_bytes()
    path = tmp_path / f"hurt.{suffix}"
    for _ in range(40):
        hurt = bytearray(data)
        for place in RNG.integers(0, len(hurt), 8):
            hurt[place] = RNG.integers(0, 256)
        path.write_bytes(hurt)
        with contextlib.suppress(ImageError):
            load_image(path)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            b"",
            f"thing.png is empty: wanted {WANTED}.",
        ),
        (
            b"Dear diary\n",
            f"thing.png is not an image: wanted {WANTED}.",
        ),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "thing.png is not an image: "),
        (b"II*\0\x08\0\0\0", "thing.png is "),
    ],
)
def test_no_image(tmp_path, content, sentence):
    path = tmp_path / "thing.png"
    path.write_bytes(content)
    with pytest.raises(ImageError) as caught:
        load_image(path)
    assert str(caught.value).startswith(sentence)


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(ImageError, match=r"There is no file .*gone.png"):
        load_image(tmp_path / "gone.png")
    with pytest.raises(ImageError, match="is a folder: wanted an image file"):
        load_image(tmp_path)


def test_names_of_any_kind(tmp_path):
    path = tmp_path / "été 中文 #1.png"
    Image.fromarray(SMOOTH).save(path)
    assert (load_image(path).rgb == SMOOTH).all()


def test_indices_are_read_and_not_colours(tmp_path):
    values = (np.arange(12) % 3).reshape(3, 4).astype(np.uint8)
    image = Image.fromarray(values, mode="L")
    image.putpalette([9, 9, 9, 9, 9, 9, 9, 9, 9])
    image.save(tmp_path / "index.png")
    read = load_indices(tmp_path / "index.png")
    assert read.palette[:3].tolist() == [[9, 9, 9]] * 3
    assert (read.values == values).all()
    Image.fromarray(values * 100).save(tmp_path / "grey.png")
    read = load_indices(tmp_path / "grey.png")
    assert read.palette is None
    assert (read.values == values * 100).all()


def test_indices_of_a_colour_picture_are_refused(tmp_path):
    Image.fromarray(SMOOTH).save(tmp_path / "colour.png")
    with pytest.raises(ImageError, match=r"wanted one channel of 8 bits .*, got RGB"):
        load_indices(tmp_path / "colour.png")


def tiff_that_claims(width, height):
    """A TIFF of 16 bits with deflate whose one strip holds next to nothing."""
    strip = zlib.compress(bytes(8000))
    tags = [
        (256, 4, width), (257, 4, height), (258, 3, 16), (259, 3, 8), (262, 3, 1),
        (273, 4, 8), (277, 3, 1), (278, 4, height), (279, 4, len(strip)),
    ]  # fmt: skip
    body = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
    start = 8 + len(strip)
    header = b"II*\0" + struct.pack("<I", start)
    return header + strip + struct.pack("<H", len(tags)) + body + bytes(4)


def test_a_small_tiff_that_claims_many_pixels_is_refused(tmp_path):
    path = tmp_path / "claims.tif"
    path.write_bytes(tiff_that_claims(64, 1_048_640))
    tracemalloc.start()
    try:
        with pytest.raises(ImageError, match=r"claims.tif is damaged: its \d+ bytes cannot hold"):
            load_image(path)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_a_small_png_that_claims_many_pixels_is_refused(tmp_path):
    (tmp_path / "claims.png").write_bytes(huge_png(10_000, 10_000))
    for load in (load_image, load_indices):
        with pytest.raises(ImageError, match="cannot hold"):
            load(tmp_path / "claims.png")


def test_flat_pictures_are_small_files_and_open(tmp_path):
    flat = np.zeros((3000, 3000), np.uint16)
    tifffile.imwrite(tmp_path / "flat.tif", flat, compression="zlib", compressionargs={"level": 9})
    Image.fromarray(flat.astype(np.uint8)).save(tmp_path / "flat.png", compress_level=9)
    Image.fromarray(flat.astype(np.uint8)).convert("1").save(tmp_path / "flat.gif")
    for name in ("flat.tif", "flat.png", "flat.gif"):
        assert load_image(tmp_path / name).size == (3000, 3000)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@pytest.mark.parametrize("suffix", ["jpg", "png", "webp"])
@pytest.mark.parametrize(
    "exif",
    [
        b"Exif\0\0" + b"XX*\0\x08\0\0\0",
        b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x02\0\x04\0\0\0abc\0\0\0\0\0",
        b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x63\0\0\0\0\0\0\0",
        b"Exif\0\0MM",
    ],
    ids=["no byte order", "a text", "no orientation", "cut off"],
)
def test_damaged_exif_shows_the_pixels_without_turning_and_says_so(tmp_path, suffix, exif):
    path = tmp_path / f"a.{suffix}"
    options = {"webp": {"lossless": True}, "jpg": {"quality": 95, "subsampling": 0}}
    Image.fromarray(SMOOTH).save(path, exif=exif, **options.get(suffix, {}))
    picture = load_image(path)
    assert np.abs(picture.rgb.astype(int) - SMOOTH).max() <= 3
    assert picture.note == "shown unrotated, as its EXIF data are damaged"


@pytest.mark.skipif(sys.platform == "win32", reason="no such files")
def test_devices_and_pipes_are_no_images(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    for path in ("/dev/zero", tmp_path / "pipe.png"):
        with pytest.raises(ImageError, match="is a device or a pipe: wanted an image file"):
            load_image(path)


@pytest.mark.parametrize("value", [-1.7e308, 1.7e308])
def test_the_largest_numbers_are_shown(tmp_path, value):
    values = np.array([[value, -value, 0.0, 1.0]] * 4)
    tifffile.imwrite(tmp_path / "big.tif", values)
    rgb = load_image(tmp_path / "big.tif").rgb
    assert sorted(rgb[0, :, 0].tolist()) == [0, 128, 128, 255]


def test_complex_numbers_are_no_picture(tmp_path):
    tifffile.imwrite(tmp_path / "c.tif", np.ones((4, 5), np.complex64))
    with pytest.raises(ImageError, match=r"c\.tif: wanted whole or floating-point numbers, got"):
        load_image(tmp_path / "c.tif")


def test_a_tiff_whose_decoder_is_not_installed_gives_a_sentence(tmp_path):
    data = bytearray(tiff_that_claims(40, 50))
    place = data.index(struct.pack("<HHII", 259, 3, 1, 8))
    for compression in (50000, 34925, 34712, 50001):
        struct.pack_into("<I", data, place + 8, compression)
        (tmp_path / "a.tif").write_bytes(data)
        with pytest.raises(ImageError, match=r"^a\.tif is .*\.$"):
            load_image(tmp_path / "a.tif")


def test_a_small_animation_on_a_vast_canvas_is_refused(tmp_path):
    frames = [Image.fromarray(SMOOTH), Image.fromarray(SMOOTH[::-1].copy())]
    frames[0].save(tmp_path / "a.webp", save_all=True, append_images=frames[1:])
    data = bytearray((tmp_path / "a.webp").read_bytes())
    assert data[12:16] == b"VP8X"
    data[24:27] = (4_194_335).to_bytes(3, "little")
    (tmp_path / "a.webp").write_bytes(data)
    with pytest.raises(ImageError, match="cannot hold"):
        load_image(tmp_path / "a.webp")


def test_flat_pictures_of_any_format_open(tmp_path):
    flat = Image.new("RGB", (5000, 3000), "white")
    flat.save(tmp_path / "a.webp", lossless=True)
    flat.save(tmp_path / "a.jpg", progressive=True, optimize=True, quality=1)
    for name in ("a.webp", "a.jpg"):
        assert load_image(tmp_path / name).size == (3000, 5000)


SIZE = (2000, 3000)
RGB = 3  # bytes a pixel of the result
ABOVE = 16  # bytes a pixel that may be used besides
FIXED = 24 << 20  # what decoders load and keep, whatever the picture

# The peak of `getrusage` begins with that of the process that started this one.
MEASURE = """
import sys
from segapp.io.images import load_image
from PIL import Image
Image.init()
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
before = peak()
picture = load_image(sys.argv[1])
print(peak() - before)
"""


@pytest.fixture(scope="module")
def values():
    block = np.random.default_rng(1).integers(0, 65536, (100, 100, 4), dtype=np.uint16)
    return np.tile(block, (SIZE[0] // 100, SIZE[1] // 100, 1))


def save(path, values, kind):
    eight = (values >> 8).astype(np.uint8)
    if kind == "8-bit PNG":
        Image.fromarray(eight[:, :, :3]).save(path, "PNG", compress_level=1)
    elif kind == "8-bit PNG with alpha":
        Image.fromarray(eight).save(path, "PNG", compress_level=1)
    elif kind == "turned JPEG":
        exif = Image.Exif()
        exif[274] = 6
        Image.fromarray(eight[:, :, :3]).save(path, "JPEG", exif=exif)
    elif kind == "16-bit grey PNG":
        Image.fromarray(values[:, :, 0].copy()).save(path, "PNG", compress_level=1)
    elif kind == "16-bit TIFF with alpha":
        tifffile.imwrite(path, values, photometric="rgb", extrasamples=["unassalpha"])
    elif kind == "32-bit float TIFF":
        tifffile.imwrite(path, values[:, :, :3].astype(np.float32), photometric="rgb")
    else:
        compression = "zlib" if kind == "16-bit packed TIFF" else None
        tifffile.imwrite(path, values[:, :, :3], photometric="rgb", compression=compression)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is told in another place")
@pytest.mark.parametrize(
    "kind",
    [
        "8-bit PNG",
        "8-bit PNG with alpha",
        "turned JPEG",
        "16-bit grey PNG",
        "16-bit TIFF",
        "16-bit packed TIFF",
        "16-bit TIFF with alpha",
        "32-bit float TIFF",
    ],
)
def test_loading_needs_few_bytes_a_pixel(tmp_path, values, kind):
    path = tmp_path / "picture"
    save(path, values, kind)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
    )
    pixels = SIZE[0] * SIZE[1]
    assert int(done.stdout) < pixels * (RGB + ABOVE) + FIXED
    if kind.startswith(("8-bit", "16-bit", "turned")):
        assert int(done.stdout) < pixels * 13 + FIXED


ODD = os.fsdecode(b"caf\xe9 \xff.png")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")


@pytest.fixture
def odd(tmp_path):
    path = tmp_path / os.fsdecode(b"f\xf6lder") / ODD
    path.parent.mkdir()
    Image.new("RGB", (6, 5), "red").save(path)
    return path


@pytest.mark.parametrize("name", ["plain.png", "été 中.png", ODD, "100%25 \udcff%ff"])
def test_a_name_comes_back_through_utf8(name):
    values: dict = {}
    store_file_name(values, "relative", name)
    text = json.dumps(values, ensure_ascii=False).encode("utf-8")
    assert load_file_name(json.loads(text), "relative") == name


def test_a_project_of_an_image_whose_name_is_not_utf8_comes_back(odd):
    project = Project(Document(), Settings(), odd, load_image(odd).sha256)
    path = odd.with_suffix(".segapp")
    save_project(path, project)
    assert load_project(path) == project
    path = odd.parents[1] / "plain.segapp"
    save_project(path, project)
    assert load_project(path).image_path == odd


def test_a_project_names_no_file_with_a_zero_byte():
    with pytest.raises(ValueError, match="relative: wanted the name of a file"):
        load_file_name({"relative": "a\0b"}, "relative")


@pytest.mark.parametrize("name", FORMATS)
def test_every_export_of_such_an_image_is_written(odd, name):
    nothing = np.zeros((5, 6), np.uint8)
    answer = Labelling(nothing, nothing.astype(np.float32), nothing.astype(np.uint32), 2, 1)
    entry = FORMATS[name]
    target = odd.with_suffix(entry.suffix).with_stem("out\udcff")
    for path in entry.write(target, answer, Document(), load_image(odd)):
        assert path.stat().st_size
        if entry.suffix == ".json":
            content = json.loads(path.read_text(encoding="utf-8"))
            assert "imagePath" not in content or content["imagePath"] == ODD


def test_sentences_about_such_files_can_be_printed(odd):
    odd.write_bytes(b"no image\n")
    with pytest.raises(ValueError, match="caf\ufffd") as caught:
        load_image(odd)
    assert str(caught.value).encode("utf-8")


def test_a_heic_is_read(tmp_path):
    pillow_heif = pytest.importorskip("pillow_heif", reason="pip install '.[heif]'")
    rgb = np.zeros((40, 60, 3), np.uint8)
    rgb[:, :30] = (200, 40, 40)
    pillow_heif.from_pillow(Image.fromarray(rgb)).save(tmp_path / "a.heic", quality=90)
    picture = load_image(tmp_path / "a.heic")
    assert picture.size == (40, 60)
    assert np.abs(picture.rgb.astype(int) - rgb)[:, [5, 50]].max() < 20


def test_a_heic_without_the_extra_tells_its_name(tmp_path, monkeypatch):
    (tmp_path / "a.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(100))
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(ImageError, match=r'pip install "segapp\[heif\]"'):
        load_image(tmp_path / "a.heic")


def test_a_damaged_heic_is_told_in_one_sentence(tmp_path):
    pytest.importorskip("pillow_heif", reason="pip install '.[heif]'")
    (tmp_path / "a.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(100))
    with pytest.raises(ImageError, match=r"a\.heic"):
        load_image(tmp_path / "a.heic")


# Files of strangers ----------------------------------------------------------------------------


def endless_gif(path, n_frames):
    """Write a GIF of many frames of one pixel."""
    frame = bytes.fromhex("21f9040005000000 2c000000000100010000 02024401 00")
    head = b"GIF89a" + bytes.fromhex("01000100800000 000000ffffff")
    path.write_bytes(head + frame * n_frames + b";")
    return path


def long_tiff(path, n_pages):
    """Write a TIFF whose pages are one after the other."""
    tags = ((256, 3, 1, 1), (257, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 0), (279, 4, 1, 1))
    size = 2 + 12 * len(tags) + 4
    page = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
    places = [8 + number * size for number in range(1, n_pages)] + [0]
    path.write_bytes(b"II*\0\x08\0\0\0" + b"".join(page + struct.pack("<I", at) for at in places))
    return path


@pytest.mark.parametrize("n_frames", [1, 2, 30])
def test_frames_are_counted_as_pillow_counts_them(tmp_path, n_frames):
    path = endless_gif(tmp_path / "a.gif", n_frames)
    with Image.open(path) as image:
        assert image.n_frames == n_frames == len(list_pages(path))
    frames = [
        Image.fromarray(SMOOTH),
        Image.fromarray(SMOOTH[::-1]),
        Image.fromarray(SMOOTH[:, ::-1]),
    ]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    assert len(list_pages(path)) == 3


def test_a_gif_of_frames_without_end_is_listed_and_opened_up_to_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "MAX_FRAMES", 50)
    path = endless_gif(tmp_path / "a.gif", 200)
    assert len(list_pages(path)) == 50
    assert "first of 50 pages" in load_image(path).note


def test_a_tiff_of_pages_without_end_is_refused_before_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "MAX_PAGES", 50)
    path = long_tiff(tmp_path / "a.tif", 200)
    assert list_pages(path) == [path]
    with pytest.raises(ImageError, match="more than 50 pages"):
        load_image(path)
    assert len(list_pages(long_tiff(tmp_path / "b.tif", 50))) == 50


def test_a_tiff_whose_pages_go_round_in_a_circle_is_listed(tmp_path):
    path = long_tiff(tmp_path / "a.tif", 3)
    content = bytearray(path.read_bytes())
    content[-4:] = struct.pack("<I", 8)
    path.write_bytes(content)
    assert list_pages(path)[0] == path


def test_a_huge_file_with_holes_is_neither_hashed_nor_read_whole(tmp_path, monkeypatch):
    path = tmp_path / "a.jpg"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ImageError, match="has 1024 GB: at most 64 can be worked on"):
        load_image(path)
    with path.open("wb") as file:
        file.truncate(60 << 30)
    monkeypatch.setattr(images.hashlib, "file_digest", pytest.fail)
    with pytest.raises(ImageError, match="is not an image"):
        load_image(path)


def test_no_other_file_is_read_that_an_ome_tiff_names(tmp_path, monkeypatch):
    schema, opened = "http://www.openmicroscopy.org/Schemas/OME/2016-06", []
    secret, path = tmp_path / "secret.ome.tif", tmp_path / "folder" / "a.ome.tif"
    path.parent.mkdir()
    named = (("a.ome.tif", 0), ("a.ome.tif", 1), ("../secret.ome.tif", 0))
    parts = [
        f'<TiffData FirstC="{channel}" IFD="{page}" PlaneCount="1">'
        f'<UUID FileName="{name}">urn:uuid:{name}</UUID></TiffData>'
        for channel, (name, page) in enumerate(named)
    ]
    description = (
        f'<?xml version="1.0" encoding="UTF-8"?><OME xmlns="{schema}" '
        f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="{schema} {schema}/ome.xsd" UUID="urn:uuid:0" Creator="x">'
        '<Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYCZT" Type="uint8" '
        'SizeX="9" SizeY="8" SizeC="3" SizeZ="1" SizeT="1">'
        f"{''.join(parts)}</Pixels></Image></OME>"
    )
    for file, value in ((path, 1), (secret, 200)):
        values = np.full((2, 8, 9), value, np.uint8)
        tifffile.imwrite(
            file, values, description=description, metadata=None, photometric="minisblack"
        )

    def recorded(name, *arguments, **named):
        opened.append(os.path.basename(name))
        return open(name, *arguments, **named)

    monkeypatch.setattr(tifffile.tifffile, "open", recorded, raising=False)
    assert len(list_pages(path)) == 2
    assert load_image(path).rgb.max() < 200
    assert len(open_stack(path).paths) == 2
    assert opened == []


def test_the_reading_of_a_file_ends_when_it_is_not_wanted_any_more(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(SMOOTH).resize((900, 900)).save(path, compress_level=0)
    answers = iter([False, False, True])

    def read():
        pages.stop_requested.set(lambda: next(answers))
        load_image(path)

    with pytest.raises(pages.ReadingStopped):
        contextvars.copy_context().run(read)
    assert next(answers, None) is None
    load_image(path)
