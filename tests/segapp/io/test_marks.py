"""Packed strokes: what is written is read, and older strokes are packed once."""

import json
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from segapp.io import marks as marks_file
from segapp.io.marks import PackedMarks, unpack_marks
from segapp.io.project import Project, ProjectError, load_project, save_project
from segapp.model.document import NO_MARKS, Document, Marks, Patch, Stroke
from segapp.model.settings import DEFAULT_SETTINGS
from segapp.model.validation import SegappError

MEGABYTE = 1 << 20


def mark(number):
    if number % 5 == 4:
        return Patch(number, 2, 2, 2, b"\xf0", number % 2, joined=True)
    return Stroke(((number / 7, 1.0), (2.0, 3.0)), 1.5, number % 2 or None)


def saved(path, document):
    save_project(path, Project(document, DEFAULT_SETTINGS, Path("a.png"), "ab"))
    return load_project(path).document


@pytest.mark.parametrize("count", [0, 1, 31, 32, 63, 64, 65, 96, 200])
def test_any_number_of_strokes_comes_back_in_its_order(tmp_path, count):
    document = Document(strokes=map(mark, range(count)))
    assert saved(tmp_path / "p.segapp", document) == document
    with zipfile.ZipFile(tmp_path / "p.segapp") as archive:
        version = json.loads(archive.read("project.json"))["version"]
        assert ("strokes" in archive.namelist(), version) == (count >= 64, 6 if count >= 64 else 1)


def test_a_chunk_is_packed_once_however_often_it_is_saved(tmp_path, monkeypatch):
    packed = []
    pack = zlib.compress
    monkeypatch.setattr(marks_file.zlib, "compress", lambda b: packed.append(b) or pack(b))
    document = Document(strokes=map(mark, range(1000)))
    saved(tmp_path / "p.segapp", document)
    first = len(packed)
    for number in range(1000, 1064):
        document = document.with_stroke(mark(number))
        saved(tmp_path / "p.segapp", document)
    assert (first, len(packed)) == (1000 // 32 - 1, 1064 // 32 - 1)


def test_digests_are_equal_where_marks_are(monkeypatch):
    marks = Marks.of(map(mark, range(100)))
    again = Marks.of(map(mark, range(100)))
    assert PackedMarks.of(marks).digest() == PackedMarks.of(again).digest()
    for other in (marks[:99], marks.plus(mark(0)), Marks.of(map(mark, [5, *range(1, 100)]))):
        assert PackedMarks.of(other).digest() != PackedMarks.of(marks).digest()


def hostile(content):
    packed = zlib.compress(content)
    return struct.pack(">I", len(packed)) + packed


@pytest.mark.parametrize(
    "packed",
    [
        b"\0",
        b"\0\0\0\x09nonsense!",
        hostile(b"[]")[:-1],
        hostile(b"{}"),
        hostile(b"[1]"),
        hostile(b'[{"class": 0}]'),
        hostile(b" " * (MEGABYTE + 1)),
        hostile(b"[]".ljust(700_000)) * 2,
        PackedMarks.of(Marks.of(map(mark, range(100)))).older[:-5],
    ],
)
def test_damaged_chunks_are_told_as_such(packed):
    with pytest.raises(SegappError):
        list(unpack_marks(packed, MEGABYTE))


def test_a_project_with_damaged_strokes_is_refused(tmp_path):
    path = tmp_path / "p.segapp"
    saved(path, Document(strokes=map(mark, range(64))))
    content = zipfile.ZipFile(path).read("project.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("project.json", content)
        archive.writestr("strokes", b"\0\0\0\x01!")
    with pytest.raises(ProjectError, match="damaged: strokes"):
        load_project(path)


def test_strokes_alone_are_kept_in_memory_by_no_chunk():
    marks = Marks.of(map(mark, range(100)))
    PackedMarks.of(marks)
    count = len(marks_file._chunks)
    del marks
    assert len(marks_file._chunks) == count - 2
    assert NO_MARKS not in marks_file._chunks
