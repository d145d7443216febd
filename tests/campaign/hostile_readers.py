"""Readers of files, with good files, mutations and permitted errors of each."""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.batch.cases import Case, CaseError, load_truth
from segapp.batch.task import Task, read_record
from segapp.engine.learnt_model import LearntModelError, load_model
from segapp.imaging.rasterise import rasterize
from segapp.io.class_list import (
    CLASS_LIST_FILE,
    ClassListError,
    import_class_list,
    read_class_list,
    write_class_list,
)
from segapp.io.folder_files import PROGRESS_FILE, ProgressError, read_progress
from segapp.io.images import load_image, load_indices
from segapp.io.masks import load_strokes
from segapp.io.pages import ImageError
from segapp.io.project import ProjectError, load_project, save_project
from segapp.model.document import Document
from segapp.model.settings import SettingsChoice, from_plain, to_plain
from segapp.model.validation import from_json
from shlcore import SHL
from shlcore.experiments.datasets import DatasetError as ShlDatasetError
from shlcore.experiments.datasets import load_dataset
from shlcore.experiments.journal import JOURNAL, Journal, JournalError
from shlcore.model_file import ModelFileError
from tests.campaign import hostile_mutations as damage
from tests.campaign import hostile_pictures as pictures
from tests.campaign import hostile_seeds as seeds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

    from tests.campaign.hostile_mutations import Mutation


@dataclass(frozen=True)
class Reader:
    """Attack on one kind of file: good files, mutations and limits.

    ``open`` reads a file and uses what it gives, ``errors`` are its ways to refuse one, and
    ``megabytes`` is what it may need for a file of this size, whatever that claims.
    """

    name: str
    file_name: str
    seeds: Callable[[], list[bytes]]
    damage: Mutation
    open: Callable[[Path], object]
    errors: tuple[type[Exception], ...]
    megabytes: int = 300
    ends_with_stop: bool = True


def _use_image(path: Path) -> None:
    picture = load_image(path)
    height, width = picture.size
    if picture.rgb.shape != (height, width, 3) or picture.rgb.dtype != np.uint8:
        raise AssertionError("not a picture")
    picture.note.encode("utf-8")


def _use_project(path: Path) -> None:
    project = load_project(path)
    rasterize(project.document, seeds.SIZE)
    again = path.with_name("again.segapp")
    save_project(again, project)
    if load_project(again).document != project.document:
        raise AssertionError("another document came back")


def _use_strokes(path: Path) -> None:
    rasterize(load_strokes(path, seeds.SIZE).document, seeds.SIZE)


def _use_truth(path: Path) -> None:
    truth = load_truth(path, seeds.SIZE, 2)
    if truth.min() < -1 or truth.max() > 1:
        raise AssertionError("a class that is none")


_SMALL = np.random.default_rng(4).integers(0, 256, (*seeds.SIZE, 3), dtype=np.uint8)


def _use_model(path: Path) -> None:
    model = load_model(path)
    labels = model.apply(_SMALL).labels
    if labels.max() >= len(model.classes):
        raise AssertionError("a class that is none")


def _use_settings(path: Path) -> None:
    settings = from_plain(from_json(path.read_bytes(), "settings"))
    if from_plain(to_plain(settings)) != settings:
        raise AssertionError("other settings came back")


def _use_record(path: Path) -> None:
    case = Case("a", path, path, None)
    task = Task(case, path.parents[1], SettingsChoice())
    if read_record(task, "key") is not None:
        raise AssertionError("a record without its mask was trusted")


def _use_classes(path: Path) -> None:
    listing = read_class_list(path)
    write_class_list(path, listing)
    if read_class_list(path) != listing:
        raise AssertionError("another list came back")


def _use_labels(path: Path) -> None:
    Document(import_class_list(path).classes)


def _use_shl(path: Path) -> None:
    SHL.load(path)


def _use_idx(path: Path) -> None:
    beside = path.with_name(path.name.replace("images-idx3", "labels-idx1"))
    labels = seeds.idx_labels()
    beside.write_bytes(gzip.compress(labels) if path.suffix == ".gz" else labels)
    load_dataset(path)


def _use_journal(path: Path) -> None:
    Journal(path.parent, {"bits": 4})


def _in_gzip(inner: Mutation) -> Mutation:
    def mutation(data: bytes, rng: Random) -> bytes:
        if rng.random() < 0.4:
            return damage.of_bytes(data, rng)
        try:
            return gzip.compress(inner(gzip.decompress(data), rng), 1, mtime=0)
        except (OSError, EOFError, zlib.error):
            return damage.of_bytes(data, rng)

    return mutation


def _text(data: bytes, rng: Random) -> bytes:
    """Swap a word of a text for another one, or damage bytes."""
    words = data.split(b",") if b"," in data else data.split(b" ")
    if rng.random() < 0.4 or not data:
        return damage.of_bytes(data, rng)
    odd = (b"nan", b"inf", b"1e999", b"-1", b"x", b"", b"9" * 5000, b'"', b"\0", b"1:2:3", b"\xff")
    words[rng.randrange(len(words))] = rng.choice(odd)
    return (b"," if b"," in data else b" ").join(words)


def _lines(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    lines[place] = damage.of_json(lines[place], rng)
    return b"\n".join(lines)


_PROJECT = damage.of_zip(lambda name: damage.of_json if name.endswith("json") else damage.of_bytes)
_NPZ = damage.of_zip(lambda name: _npy_or_header if name == "header.npy" else damage.of_npy)


def _npy_or_header(data: bytes, rng: Random) -> bytes:
    """Damage JSON that is stored as an array of bytes, and let the array fit."""
    try:
        text = np.load(io.BytesIO(data)).tobytes()
    except (ValueError, EOFError, OSError, SyntaxError):
        return damage.of_npy(data, rng)
    buffer = io.BytesIO()
    np.save(buffer, np.frombuffer(damage.of_json(text, rng), np.uint8))
    return buffer.getvalue()


def _model_part(name: str) -> Mutation:
    kinds = {"model.json": damage.of_json, "learner": _NPZ}
    return kinds.get(name, damage.of_bytes)


_IMAGES = (ImageError,)
SEGAPP: tuple[Reader, ...] = (
    Reader("png", "a.png", seeds.png_seeds, pictures.of_png, _use_image, _IMAGES),
    Reader("jpeg", "a.jpg", seeds.jpeg_seeds, pictures.of_jpeg, _use_image, _IMAGES, 700),
    Reader("bmp", "a.bmp", seeds.bmp_seeds, damage.of_bytes, _use_image, _IMAGES),
    Reader("tiff", "a.tif", seeds.tiff_seeds, pictures.of_tiff, _use_image, _IMAGES, 700),
    Reader("webp", "a.webp", seeds.webp_seeds, damage.of_bytes, _use_image, _IMAGES, 700),
    Reader("gif", "a.gif", seeds.gif_seeds, damage.of_bytes, _use_image, _IMAGES),
    Reader("indices", "a.png", seeds.stroke_seeds, pictures.of_png, load_indices, _IMAGES),
    Reader(
        "strokes", "a.png", seeds.stroke_seeds, pictures.of_png, _use_strokes, (ValueError,)
    ),
    Reader(
        "truth", "a.png", seeds.truth_seeds, pictures.of_png, _use_truth,
        (ImageError, CaseError),
    ),
    Reader(
        "project", "a.segapp", seeds.project_seeds, _PROJECT, _use_project, (ProjectError,), 700
    ),
    Reader(
        "model", "a.shlmodel", seeds.model_seeds, damage.of_zip(_model_part), _use_model,
        (LearntModelError,),
    ),
    Reader(
        "settings", "a.json", seeds.settings_seeds, damage.of_json, _use_settings, (ValueError,),
        ends_with_stop=False,
    ),
    Reader("record", "cases/a.json", seeds.record_seeds, damage.of_json, _use_record, ()),
    Reader(
        "classes", CLASS_LIST_FILE, seeds.class_list_seeds, damage.of_json, _use_classes,
        (ClassListError,),
    ),
    Reader(
        "labels", "labels.json", seeds.label_seeds, damage.of_json, _use_labels,
        (ClassListError,),
    ),
    Reader(
        "progress", PROGRESS_FILE, seeds.progress_seeds, damage.of_json, read_progress,
        (ProgressError,),
    ),
)  # fmt: skip

_SETS = (ShlDatasetError,)
SHLCORE: tuple[Reader, ...] = tuple(
    Reader(*fields, ends_with_stop=False)
    for fields in (
        ("shl", "a.shl", seeds.shl_seeds, _NPZ, _use_shl, (ModelFileError,)),
        ("npz", "a.npz", seeds.npz_seeds, _NPZ, load_dataset, _SETS),
        ("csv", "a.csv", seeds.csv_seeds, _text, load_dataset, _SETS),
        ("csv.gz", "a.csv.gz", seeds.packed(seeds.csv_seeds), _in_gzip(_text),
         load_dataset, _SETS),
        ("libsvm", "a.libsvm", seeds.libsvm_seeds, _text, load_dataset, _SETS),
        ("libsvm.gz", "a.libsvm.gz", seeds.packed(seeds.libsvm_seeds), _in_gzip(_text),
         load_dataset, _SETS),
        ("idx", "a-images-idx3-ubyte", seeds.idx_seeds, damage.of_numbers, _use_idx, _SETS),
        ("idx.gz", "a-images-idx3-ubyte.gz", seeds.packed(seeds.idx_seeds),
         _in_gzip(damage.of_numbers), _use_idx, _SETS),
        ("journal", JOURNAL, seeds.journal_seeds, _lines, _use_journal, (JournalError,)),
    )
)  # fmt: skip

READERS: dict[str, Reader] = {reader.name: reader for reader in (*SEGAPP, *SHLCORE)}
