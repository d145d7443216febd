"""Marks against tuples, which have the same order and comparisons, and share nothing."""

import copy
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapp.model.document import NO_MARKS, Document, Marks, Patch, Stroke

MARKS = [
    Stroke(((1.0, 2.0),), 3.0, 0),
    Stroke(((1.0, 2.0),), 3.0, 1),
    Stroke(((1.0, 2.0), (3.0, 4.0)), 3.0, None),
    Patch(0, 0, 2, 2, b"\xf0", 2, joined=True),
    Stroke(((1.0, 2.0),), 3.0, 1, object_number=4),
]
SEQUENCES = st.lists(st.sampled_from(MARKS), max_size=6).map(tuple)


@given(SEQUENCES, st.slices(6))
def test_they_read_like_a_tuple(marks, part):
    linked = Marks.of(marks)
    assert (tuple(linked), len(linked), bool(linked)) == (marks, len(marks), bool(marks))
    assert tuple(reversed(linked)) == marks[::-1]
    assert tuple(linked[part]) == marks[part]
    assert all(linked[k] is marks[k] for k in range(-len(marks), len(marks)))
    assert linked.labels == {mark.label for mark in marks} - {None}
    assert linked.objects == {(m.label, m.object_number) for m in marks if m.object_number}
    assert [tuple(each) for each in linked.beginnings()] == [
        marks[:length] for length in range(len(marks), -1, -1)
    ]
    assert Marks.of(linked) is linked


@pytest.mark.parametrize("index", [2, -3])
def test_a_mark_that_is_not_there_is_an_error(index):
    with pytest.raises(IndexError):
        Marks.of(MARKS[:2])[index]


@given(SEQUENCES, SEQUENCES, SEQUENCES)
def test_comparisons_are_those_of_tuples_whatever_is_shared(start, one, other):
    shared = Marks.of(start)
    left, right = shared.plus(*one), Marks.of(copy.deepcopy(start + other))
    fork = shared.plus(*other)
    for first, second in ((left, right), (left, fork), (fork, right)):
        same = tuple(first) == tuple(second)
        assert (first == second) is same
        assert not same or hash(first) == hash(second)
        common = 0
        while tuple(first)[: common + 1] == tuple(second)[: common + 1] and common < len(first):
            if common == min(len(first), len(second)):
                break
            common += 1
        assert len(first.common_beginning(second)) == common
        begins = tuple(first)[: len(second)] == tuple(second)
        assert first.after(second) == (tuple(first)[len(second) :] if begins else None)


def test_equal_hashes_alone_make_no_equality():
    one, other = Marks.of(MARKS[:1]), Marks.of(MARKS[1:2])
    other._hash = one._hash
    assert one != other


def test_long_sequences_exceed_no_stack():
    count = 20 * sys.getrecursionlimit()
    marks = NO_MARKS.plus(*(MARKS[0] for _ in range(count)))
    again = pickle.loads(pickle.dumps(marks))
    assert again == marks
    assert len(copy.deepcopy(marks)) == count
    del marks, again


def test_a_thousandth_stroke_is_added_without_reading_the_others(monkeypatch):
    document = Document()
    for _ in range(1000):
        document = document.with_stroke(MARKS[0])
    read = []
    monkeypatch.setattr(Stroke, "__eq__", lambda *_: read.append("=="))
    monkeypatch.setattr(Marks, "__iter__", lambda _: read.append("iter"))
    later = document.with_stroke(MARKS[1])
    assert later.previous_state == document
    assert later.strokes.after(document.strokes) == (MARKS[1],)
    assert later != document
    assert read == []
