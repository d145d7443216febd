"""PNG with 16 bits a channel: written here byte by byte, read to the last bit."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapp.io.images import load_image
from segapp.io.pages import ImageError

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


def test_a_file_that_was_cut_is_told_in_one_sentence(tmp_path):
    values = np.random.default_rng(3).integers(0, 65536, (60, 70, 4)).astype(np.uint16)
    path = tmp_path / "cut.png"
    path.write_bytes(png(values)[:9000])
    with pytest.raises(ImageError, match=r"cut\.png is damaged and cannot be read"):
        load_image(path)
