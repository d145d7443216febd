"""Loading takes little more than the picture it gives: measured in a process of its own."""

import subprocess
import sys

import numpy as np
import pytest
import tifffile
from PIL import Image

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
