"""Good files of every kind that the program reads, small and made on the fly."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tifffile
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from sklearn.datasets import dump_svmlight_file

from segapp.engine.learnt_model import save_model
from segapp.engine.trainer import Trainer
from segapp.io.class_list import ClassList, write_class_list
from segapp.io.folder_files import ProgressChanges, update_progress
from segapp.io.project import Project, save_project
from segapp.model.answer import AnswerSnapshot
from segapp.model.classes import ClassInfo
from segapp.model.document import Document, Patch, Stroke
from segapp.model.settings import PRESETS, Settings, to_plain
from shlcore import SHL

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SIZE = (24, 32)
_RNG = np.random.default_rng(0)
_RGBA = np.dstack(
    [*np.broadcast_arrays(*np.ogrid[0 : 240 : SIZE[0] * 1j, 0 : 250 : SIZE[1] * 1j])] * 2
).astype(np.uint8)
_ROWS = _RNG.normal(size=(30, 4)).round(3)
_CLASSES = np.arange(30) % 3


def _pillow(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def _tiff(values: NDArray[Any], **options: Any) -> bytes:
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, values, **options)
    return buffer.getvalue()


def _exif(turn: int) -> Image.Exif:
    exif = Image.Exif()
    exif[274], exif[271], exif[282] = turn, "maker", 72.0
    return exif


def _rgb() -> Image.Image:
    return Image.fromarray(_RGBA[:, :, :3].copy())


def _frames() -> dict[str, Any]:
    return {"save_all": True, "append_images": [_rgb().transpose(1), _rgb().rotate(180)]}


def png_seeds() -> list[bytes]:
    """Images of 8, 16 and 1 bits, palette, alpha, grey, EXIF and an invalid profile."""
    deep = _RGBA[:, :, 0].astype(np.uint16) * 250
    palette = _rgb().quantize(7)
    return [
        _pillow(_rgb(), "PNG", exif=_exif(6)),
        _pillow(Image.fromarray(_RGBA), "PNG", icc_profile=b"no profile"),
        _pillow(Image.fromarray(deep), "PNG"),
        _pillow(palette, "PNG"),
        _pillow(palette, "PNG", transparency=2),
        _pillow(_rgb().convert("LA"), "PNG"),
        _pillow(_rgb().convert("1"), "PNG"),
    ]


def jpeg_seeds() -> list[bytes]:
    """Colour with EXIF, grey, CMYK, progressive."""
    return [
        _pillow(_rgb(), "JPEG", exif=_exif(8)),
        _pillow(_rgb().convert("L"), "JPEG"),
        _pillow(_rgb().convert("CMYK"), "JPEG"),
        _pillow(_rgb(), "JPEG", progressive=True, quality=40),
    ]


def tiff_seeds() -> list[bytes]:
    """8 and 16 bits, float, planar, alpha, palette, pages, tiles, five compressions."""
    deep = _RGBA.astype(np.uint16) * 250
    wide = deep[:, :, 0].astype(np.float32) / 7
    return [
        _pillow(_rgb(), "TIFF"),
        _pillow(_rgb(), "TIFF", compression="tiff_lzw", exif=_exif(3)),
        _pillow(_rgb(), "TIFF", compression="tiff_adobe_deflate"),
        _pillow(_rgb(), "TIFF", compression="packbits"),
        _pillow(_rgb(), "TIFF", compression="jpeg"),
        _pillow(_rgb().convert("1"), "TIFF", compression="group4"),
        _pillow(_rgb().quantize(9), "TIFF"),
        _pillow(_rgb(), "TIFF", **_frames()),
        _tiff(deep[:, :, :3], photometric="rgb"),
        _tiff(deep, photometric="rgb", extrasamples=["unassalpha"], compression="zlib"),
        _tiff(np.moveaxis(deep, 2, 0)[:3], photometric="rgb", planarconfig="separate"),
        _tiff(wide, tile=(16, 16)),
        _tiff(wide.astype(np.float64), byteorder=">"),
        _tiff(np.stack([deep[:, :, 0]] * 3), photometric="minisblack", bigtiff=True),
        _tiff(deep[:, :, 0].astype(np.int32), photometric="miniswhite", compression="zlib"),
    ]


def bmp_seeds() -> list[bytes]:
    """Colour, palette, one bit, with alpha."""
    images = (_rgb(), _rgb().quantize(9), _rgb().convert("1"), Image.fromarray(_RGBA))
    return [_pillow(image, "BMP") for image in images]


def gif_seeds() -> list[bytes]:
    """One frame, three frames, transparent."""
    return [
        _pillow(_rgb(), "GIF"),
        _pillow(_rgb(), "GIF", **_frames()),
        _pillow(_rgb().quantize(9), "GIF", transparency=2),
    ]


def webp_seeds() -> list[bytes]:
    """Lossy, lossless with alpha and EXIF, animated."""
    return [
        _pillow(_rgb(), "WEBP"),
        _pillow(Image.fromarray(_RGBA), "WEBP", lossless=True, exif=_exif(5)),
        _pillow(_rgb(), "WEBP", **_frames()),
    ]


def _index_png(values: NDArray[Any], text: str | None = None) -> bytes:
    image = Image.fromarray(values.astype(np.uint8), mode="L")
    image.putpalette([part for k in range(9) for part in (9 * k, 200 - k, k)])
    info = PngInfo()
    if text is not None:
        info.add_itxt("Classes", text)
    return _pillow(image, "PNG", pnginfo=info)


def stroke_seeds() -> list[bytes]:
    """With names, without, grey."""
    values = np.zeros(SIZE, np.uint8)
    values[2:5, 3:9], values[15:18, 2:30], values[20:22, 20:24] = 1, 2, 3
    return [
        _index_png(values, json.dumps(["leaf", "background", "中"])),
        _index_png(values),
        _pillow(Image.fromarray(values), "PNG"),
        _pillow(_rgb().convert("1"), "PNG"),
    ]


def truth_seeds() -> list[bytes]:
    """Grey, and with a palette."""
    values = np.where(np.indices(SIZE).sum(axis=0) % 9 < 4, 255, 0).astype(np.uint8)
    values[10] = 128
    return [_pillow(Image.fromarray(values), "PNG"), _index_png(values // 255)]


def _written(write: Callable[[Path], object], name: str = "seed") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / name)
        return (Path(folder) / name).read_bytes()


def _document() -> Document:
    mask = np.zeros(SIZE, bool)
    mask[18:22, 4:28] = True
    strokes = (
        Stroke(((8.0, 8.0), (14.5, 9.25)), 3.0, 0, (0.5, 1.0)),
        Stroke(((2.0, 2.0), (30.0, 3.0)), 1.5, 1),
        Patch.of_mask(mask, 1),
        Stroke(((8.0, 8.0),), 1.0, None),
    )
    return Document(strokes=strokes)


def project_seeds() -> list[bytes]:
    """Projects with strokes, patches, a model, an answer and a name outside UTF-8."""
    seeds = []
    answer = AnswerSnapshot("cd" * 32, 2, bytes(range(240)), bytes(range(100)))
    for image, model, carried in (
        (Path("a.png"), None, None),
        (Path("caf\udce9.png"), b"model" * 20, answer),
    ):
        project = Project(_document(), Settings(), image, "ab" * 32, model, carried)
        seeds.append(_written(partial(save_project, project=project)))
    return seeds


def model_seeds() -> list[bytes]:
    """Models of two presets, learnt on a small picture."""
    noise = np.random.default_rng(1).normal(0, 9, (*SIZE, 3))
    inside = np.hypot(*(np.indices(SIZE) - np.array([[[8]], [[11]]]))) < 7
    rgb = np.where(inside[..., None], (200, 90, 60), (60, 110, 160)) + noise
    trainer = Trainer(np.clip(rgb, 0, 255).astype(np.uint8))
    seeds = []
    for settings in (Settings(prototypes=60), PRESETS["paper"]):
        seeds.append(_written(partial(save_model, trainer.learnt_model(_document(), settings))))
    return seeds


def settings_seeds() -> list[bytes]:
    """The presets as JSON."""
    return [json.dumps(to_plain(settings)).encode() for settings in PRESETS.values()]


def record_seeds() -> list[bytes]:
    """The record of a batch's case."""
    figures = {"width": 32, "height": 24, "classes": 2, "ious": [0.5], "seconds": [0.1]}
    digests = {"mask": "00" * 32, "strokes": "11" * 32}
    record = {"key": "key", "name": "a", "error": "", "reused": False, "digests": digests}
    return [json.dumps(record | figures).encode()]


def class_list_seeds() -> list[bytes]:
    """Names, colours, a key, a background, numbers."""
    classes = (
        ClassInfo("leaf é中", (1, 2, 3), key="4"),
        ClassInfo("soil", (9, 8, 7), background=True),
        ClassInfo("stem", (0, 0, 0)),
    )
    return [_written(partial(write_class_list, listing=ClassList(classes, (1, 5, 2))))]


def label_seeds() -> list[bytes]:
    """CVAT's labels, as a list and within a task."""
    rows = [{"name": "a", "color": "#ff0000", "attributes": []}, {"name": "background"}]
    return [json.dumps(each).encode() for each in (rows, {"labels": rows})]


def progress_seeds() -> list[bytes]:
    """Pictures that are answered or done, one with a name that is not UTF-8."""
    done = {"a.png": True, "caf\udce9.png": True}
    changes = ProgressChanges({"b.png": True}, done, "a.png")
    return [_written(partial(update_progress, changes=changes))]


# --- shlcore -----------------------------------------------------------------------------


def shl_seeds() -> list[bytes]:
    """Fitted estimators, exact and with random features."""
    exact = SHL(n_bits=4, random_state=0, max_iter=3).fit(_ROWS, _CLASSES)
    random = SHL(n_bits=4, random_state=0, max_iter=3, solver="random_features", n_components=20)
    return [_written(exact.save), _written(random.fit(_ROWS, _CLASSES).save)]


def npz_seeds() -> list[bytes]:
    """A data set in NumPy's archive, packed and not."""
    seeds = []
    for save in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, X=_ROWS, y=_CLASSES, is_test=_CLASSES == 2)
        seeds.append(buffer.getvalue())
    return seeds


def csv_seeds() -> list[bytes]:
    """With and without a header."""
    lines = [",".join(map(str, [*row, k])) for row, k in zip(_ROWS, _CLASSES, strict=True)]
    return ["\n".join(lines).encode(), "\n".join(["a,b,c,d,label", *lines]).encode()]


def libsvm_seeds() -> list[bytes]:
    """One data set."""
    return [_written(lambda path: dump_svmlight_file(_ROWS, _CLASSES, str(path)))]


def idx_seeds() -> list[bytes]:
    """Pictures of 2 x 2; their labels lie beside them."""
    values = np.arange(120, dtype=np.uint8)
    return [struct.pack(">HBB3I", 0, 8, 3, 30, 2, 2) + values.tobytes()]


def idx_labels() -> bytes:
    """Return the labels for `idx_seeds`."""
    return struct.pack(">HBBI", 0, 8, 1, 30) + _CLASSES.astype(np.uint8).tobytes()


def packed(seeds: Callable[[], list[bytes]]) -> Callable[[], list[bytes]]:
    """Return the seeds in gzip."""
    return lambda: [gzip.compress(seed, mtime=0) for seed in seeds()]


def journal_seeds() -> list[bytes]:
    """Three finished cells."""
    lines = [
        {"settings": {"bits": 4}},
        *({"cell": f"c{k}", "found": {"map": k}} for k in range(3)),
    ]
    return ["".join(json.dumps(line) + "\n" for line in lines).encode()]
