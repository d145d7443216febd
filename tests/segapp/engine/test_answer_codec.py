"""A project with a snapshot has the same answer, only sooner."""

import struct
import tracemalloc
import zlib
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import segapp.engine
import segapp.imaging
import segapp.model
import shlcore
from segapp.engine import answer_codec, digests
from segapp.engine import trainer as training
from segapp.engine.answer_codec import PastAnswer
from segapp.engine.prior import RegionShares
from segapp.engine.refinement import CutLabels
from segapp.engine.state_update import StateUpdate
from segapp.engine.trainer import Trainer
from segapp.model.answer import AnswerSnapshot, final_answer
from segapp.model.classes import TWO_CLASSES, ClassInfo
from segapp.model.document import Document
from tests.segapp.engine.test_state_update import QUICK, RGB, START, dab, dabs

LONG = Document(strokes=(*START, dab(50, 10, 1), dab(30, 50, 0), dab(60, 40, 1)))


def answered(document, carried=None, wanted=QUICK, rgb=RGB):
    trainer = Trainer(rgb)
    if carried is not None:
        trainer.recall(carried)
    return final_answer(trainer.updates(document, wanted))


@pytest.fixture
def learnt(monkeypatch):
    """Count the states that are learnt."""
    states = []

    class Counted(StateUpdate):
        def __init__(self, picture, document, *others):
            states.append(document)
            super().__init__(picture, document, *others)

    monkeypatch.setattr(training, "StateUpdate", Counted)
    return states


@pytest.fixture(scope="module")
def carried():
    return answered(LONG).snapshot()


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(dabs, min_size=1, max_size=4))
def test_the_answer_is_the_same_with_and_without_a_snapshot(more):
    document = Document(strokes=(*START, *more))
    try:
        plain = answered(document)
    except ValueError:  # a class was erased
        return
    again = answered(document, plain.snapshot())
    np.testing.assert_array_equal(plain.labelling.labels, again.labelling.labels)
    np.testing.assert_array_equal(plain.labelling.margin, again.labelling.margin)
    assert again.snapshot() == plain.snapshot()


def test_encoding_a_snapshot_does_not_read_the_image(monkeypatch):
    """A digest of 100 MP takes a quarter of a second, and the window may encode."""
    answer = answered(LONG)
    monkeypatch.delattr(training, "pixels_digest")
    assert answer.snapshot() is not None


def test_only_the_newest_stroke_is_learnt(carried, learnt):
    answered(LONG, carried)
    assert learnt == [LONG]
    learnt.clear()
    answered(LONG)
    assert len(learnt) == 5


def test_the_next_stroke_continues_from_the_snapshot(carried, learnt):
    trainer = Trainer(RGB)
    trainer.recall(carried)
    final_answer(trainer.updates(LONG, QUICK))
    longer = LONG.with_stroke(dab(20, 8, 1))
    found = final_answer(trainer.updates(longer, QUICK))
    assert learnt == [LONG, longer]
    np.testing.assert_array_equal(found.labelling.labels, answered(longer).labelling.labels)


def swapped(document):
    *first, second, last = document.strokes
    return replace(document, strokes=(*first, last, second))


def foreign(name):
    """Return a document, settings and an image that differ in one thing from the snapshot."""
    background_first = tuple(ClassInfo(n, (0, 0, 0)) for n in ("background", "cat"))
    moved = replace(LONG, strokes=(dab(15, 31, 0), *LONG.strokes[1:]))
    other = RGB.copy()
    other[0, 0, 0] ^= 1
    return {
        "another picture": (LONG, QUICK, other),
        "a picture of another shape": (LONG, QUICK, RGB[:-1]),
        "other settings": (LONG, replace(QUICK, smoothness=QUICK.smoothness + 1), RGB),
        "other strokes": (moved, QUICK, RGB),
        "another order": (swapped(LONG), QUICK, RGB),
        "one state": (LONG.as_one_state().with_stroke(dab(9, 9, 0)), QUICK, RGB),
        "another background": (replace(LONG, classes=background_first), QUICK, RGB),
    }[name]


@pytest.mark.parametrize(
    "name",
    [
        "another picture",
        "a picture of another shape",
        "other settings",
        "other strokes",
        "another order",
        "one state",
        "another background",
    ],
)
def test_a_snapshot_of_other_inputs_is_ignored(name, carried, learnt):
    document, wanted, rgb = foreign(name)
    found = answered(document, carried, wanted, rgb)
    with_carried = len(learnt)
    learnt.clear()
    plain = answered(document, None, wanted, rgb)
    assert with_carried == len(learnt)
    np.testing.assert_array_equal(found.labelling.labels, plain.labelling.labels)


def test_a_snapshot_of_another_program_is_ignored(carried, learnt, monkeypatch):
    monkeypatch.setattr(answer_codec, "program_digest", lambda: "another")
    answered(LONG, carried)
    assert len(learnt) == 5


@pytest.mark.parametrize(
    "shares",
    [
        lambda shares: shares[:-2],
        lambda shares: shares * 2,
        lambda shares: bytes(len(shares)),
        lambda shares: bytes([shares[0] ^ 64]) + shares[1:],
    ],
)
def test_wrong_shares_are_ignored_even_under_a_right_digest(shares, carried, learnt):
    values = shares(carried.shares)
    before = LONG.previous_state
    digest = answer_codec._digest(
        digests.pixels_digest(RGB),
        before,
        QUICK,
        carried.n_classes,
        (values, carried.boundary),
    )
    answered(LONG, AnswerSnapshot(digest, carried.n_classes, values, carried.boundary))
    assert len(learnt) == 5


def test_changed_shares_are_detected(carried, learnt):
    """Two shares of a region that were exchanged still sum to all of it."""
    rows = np.frombuffer(carried.shares, np.uint8).reshape(-1, carried.n_classes).copy()
    rows[0] = rows[0, ::-1] if rows[0, 0] != rows[0, 1] else (255, 0)
    answered(LONG, replace(carried, shares=rows.tobytes()))
    assert len(learnt) == 5


def test_a_snapshot_round_trips_more_than_two_classes():
    classes = (ClassInfo("third", (1, 2, 3)), *TWO_CLASSES)
    shares = RegionShares(np.array([[85, 85, 85], [0, 0, 255], [128, 128, 0]], np.uint8))
    document = Document(classes, START)
    cut = CutLabels(np.array([0, 2, 2, 1], np.uint8), np.full((3, 5), 2, np.uint8))
    kept = PastAnswer.of(shares, cut)
    carried = answer_codec.encode_snapshot("pixels", document, QUICK, kept)
    found = answer_codec.decode_snapshot(carried, "pixels", document, QUICK, 3)
    np.testing.assert_array_equal(found.shares.shares, shares.shares)
    np.testing.assert_array_equal(found.cut(4, (3, 5)).patches, cut.patches)
    np.testing.assert_array_equal(found.cut(4, (3, 5)).labels, cut.labels)


def test_a_changed_cut_is_detected(carried, learnt):
    answered(LONG, replace(carried, boundary=carried.boundary[:-1] + b"x"))
    assert len(learnt) == 5


def packed_cut(n_patches, shape):
    labels = np.arange(shape[0] * shape[1], dtype=np.uint8).reshape(shape) % 3
    cut = CutLabels(np.zeros(n_patches, np.uint8), labels)
    return PastAnswer.of(RegionShares(np.array([[255, 0]], np.uint8)), cut).packed_cut


@pytest.mark.parametrize(
    "packed",
    [b"", b"nonsense", packed_cut(3, (3, 5)), packed_cut(5, (3, 5)), packed_cut(4, (5, 4))],
)
def test_a_cut_of_another_size_is_none(packed):
    kept = PastAnswer.of(RegionShares(np.array([[255, 0]], np.uint8)))
    assert replace(kept, packed_cut=packed).cut(4, (3, 5)) is None
    assert replace(kept, packed_cut=packed_cut(4, (3, 5))).cut(4, (3, 5)) is not None


def test_a_cut_that_would_fill_the_memory_is_not_decompressed():
    bomb = zlib.compress(bytes(200 << 20), 9)
    kept = PastAnswer.of(RegionShares(np.array([[255, 0]], np.uint8)))
    kept = replace(kept, packed_cut=struct.pack(">I", len(bomb)) + bomb)
    tracemalloc.start()
    assert kept.cut(4, (3, 5)) is None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_there_is_no_snapshot_where_it_would_save_nothing():
    assert answered(Document(strokes=START[:1])).snapshot() is None
    assert answered(LONG.as_one_state()).snapshot() is None
    assert answered(LONG, wanted=replace(QUICK, locality=0.0)).snapshot() is None


@pytest.mark.parametrize("package", [segapp.engine, segapp.imaging, segapp.model, shlcore])
def test_the_digest_of_the_program_covers_all_packages(package, monkeypatch):
    """A renamed package must not silently leave the digest."""
    own, read = Path(package.__path__[0]), []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or read_bytes(path))
    digests.program_digest.__wrapped__()
    assert {path for path in read if path.parent == own} == set(own.glob("*.py"))


def test_the_digest_of_the_program_covers_its_sources():
    assert answer_codec.program_digest() == answer_codec.program_digest()
    assert len(answer_codec.program_digest()) == 64


def test_other_libraries_have_another_digest(monkeypatch):
    """Unknown versions must not fail, or a bundle could not save."""
    fresh = digests.program_digest.__wrapped__

    def missing(name):
        raise PackageNotFoundError(name)

    known = fresh()
    monkeypatch.setattr("importlib.metadata.version", missing)
    assert fresh() != known


@pytest.mark.parametrize(
    ("digest", "n_classes", "shares", "sentence"),
    [
        ("ab", 2, b"12", "digest: wanted 64 hexadecimal digits, got 'ab'"),
        ("g" * 64, 2, b"12", "digest: wanted 64 hexadecimal digits"),
        ("a" * 64, 1, b"12", "classes: wanted 2 to 255, got 1"),
        ("a" * 64, 2, b"123", "shares: wanted 2 bytes for each of 1 to 65536 regions, got 3"),
        ("a" * 64, 2, b"", "got 0"),
        ("a" * 64, 2, bytes(2 * 65537), "got 131074"),
    ],
)
def test_an_invalid_snapshot_is_refused(digest, n_classes, shares, sentence):
    with pytest.raises(ValueError, match=sentence):
        AnswerSnapshot(digest, n_classes, shares)


def test_a_snapshot_with_too_large_a_cut_is_refused():
    with pytest.raises(ValueError, match="outline: wanted at most 4194304 bytes, got 4194305"):
        AnswerSnapshot("a" * 64, 2, b"12", bytes((4 << 20) + 1))
