"""Strokes, patches and documents with undo: the annotation of one image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, overload

import numpy as np

from segapp.model.classes import (
    MAX_CLASSES,
    TWO_CLASSES,
    ClassInfo,
    ObjectInfo,
    background_index,
    check_object_number,
)
from segapp.model.display import DEFAULT_DISPLAY, DisplaySettings
from segapp.model.validation import SegappError, short_repr

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from numpy.typing import NDArray

    from segapp.model.classes import Key
    from segapp.model.labelling import InitialLabels

MAX_COORDINATE = 1e10
"""Pixels from the image's corner within which marks lie; sums of squares stay exact enough."""

MAX_RADIUS = 1e6
MAX_PRESSURE = 100.0


@dataclass(frozen=True, slots=True)
class Stroke:
    """A brush movement: discs of a radius swept along points.

    Parameters
    ----------
    points
        ``(x, y)`` in image pixels, where the centre of the top left pixel is ``(0.5, 0.5)``.
        One point alone is a dot.
    radius
        Of the brush, in image pixels.
    label
        Index of the class that is painted; ``None`` erases.
    pressures
        One factor of the radius a point, or empty when the pen reports none.
    joined
        Whether it belongs to one state with the mark before it: see `Document.previous_state`.
    object_number
        Of the object of its class that it marks; 0 for no particular one.
    """

    points: tuple[tuple[float, float], ...]
    radius: float
    label: int | None
    pressures: tuple[float, ...] = ()
    joined: bool = False
    object_number: int = 0

    def __post_init__(self) -> None:
        if not self.points:
            raise SegappError("points: a stroke needs at least one point, got none")
        for x, y in self.points:
            if not (
                -MAX_COORDINATE <= x <= MAX_COORDINATE and -MAX_COORDINATE <= y <= MAX_COORDINATE
            ):
                raise SegappError(
                    f"points: wanted finite numbers from {-MAX_COORDINATE:.0f} to "
                    f"{MAX_COORDINATE:.0f}, got {short_repr((x, y))}"
                )
        if not 0 < self.radius <= MAX_RADIUS:
            raise SegappError(
                f"radius: wanted a positive number up to {MAX_RADIUS:.0f}, "
                f"got {short_repr(self.radius)}"
            )
        if self.pressures and len(self.pressures) != len(self.points):
            raise SegappError(
                f"pressures: wanted {len(self.points)}, one for each point, "
                f"got {len(self.pressures)}"
            )
        for pressure in self.pressures:
            if not 0 <= pressure <= MAX_PRESSURE:
                raise SegappError(
                    f"pressures: wanted finite numbers from 0 to {MAX_PRESSURE:.0f}, "
                    f"got {short_repr(pressure)}"
                )
        check_object_number(self.object_number, self.label)


@dataclass(frozen=True, slots=True)
class Patch:
    """A mask that is marked at once, as of strokes that come as an image.

    ``bits`` holds the ``height x width`` mask, packed row by row (`numpy.packbits`), so that
    a patch is a plain value: comparable, hashable and safe to share between threads. ``joined``
    and ``object_number`` are those of `Stroke`.
    """

    left: int
    top: int
    width: int
    height: int
    bits: bytes
    label: int | None
    joined: bool = False
    object_number: int = 0

    def __post_init__(self) -> None:
        check_object_number(self.object_number, self.label)
        if not (1 <= self.width <= MAX_COORDINATE and 1 <= self.height <= MAX_COORDINATE):
            raise SegappError(
                f"patch: wanted a size, got {short_repr(self.width)} x {short_repr(self.height)}"
            )
        if not (
            -MAX_COORDINATE <= self.left <= MAX_COORDINATE
            and -MAX_COORDINATE <= self.top <= MAX_COORDINATE
        ):
            raise SegappError(
                f"patch: wanted a place within {MAX_COORDINATE:.0f} pixels of the corner, "
                f"got {short_repr(self.left)}, {short_repr(self.top)}"
            )
        if len(self.bits) != (self.width * self.height + 7) // 8:
            raise SegappError(
                f"bits: wanted one for each of {self.width} x {self.height} pixels, "
                f"got {len(self.bits)} bytes"
            )

    @classmethod
    def of_mask(cls, mask: NDArray[np.bool_], label: int | None) -> Patch:
        """Cut the bounding box of a whole-image mask, which must not be empty.

        >>> mask = np.zeros((4, 6), bool)
        >>> mask[1:3, 2:5] = True
        >>> patch = Patch.of_mask(mask, 0)
        >>> patch.left, patch.top, patch.width, patch.height
        (2, 1, 3, 2)
        """
        rows = np.flatnonzero(mask.any(axis=1))
        columns = np.flatnonzero(mask.any(axis=0))
        if not rows.size:
            raise ValueError("mask: wanted at least one marked pixel, got none")
        top, bottom = int(rows[0]), int(rows[-1]) + 1
        left, right = int(columns[0]), int(columns[-1]) + 1
        box = np.ascontiguousarray(mask[top:bottom, left:right], dtype=bool)
        return cls(left, top, right - left, bottom - top, np.packbits(box).tobytes(), label)

    def parts(self) -> list[Patch]:
        """Return the connected parts as patches, each with a label of this one."""
        from scipy import ndimage  # which a window opens without

        numbers, count = ndimage.label(self.mask(), np.ones((3, 3)))
        parts = (Patch.of_mask(numbers == n, self.label) for n in range(1, count + 1))
        return [
            replace(part, left=part.left + self.left, top=part.top + self.top) for part in parts
        ]

    def mask(self) -> NDArray[np.bool_]:
        """Return the ``height x width`` mask of the bounding box."""
        flat = np.unpackbits(
            np.frombuffer(self.bits, dtype=np.uint8), count=self.width * self.height
        )
        return flat.reshape(self.height, self.width).astype(bool)


Mark = Stroke | Patch


class Marks(Sequence[Mark]):
    """An immutable sequence of marks, each linked to those before it.

    Adding a mark, comparing with a sequence that this one was made from, and asking for the
    painted classes and objects take the same time however many marks there are, and all states
    of a document share their marks in memory. Reading all of them, or one near the beginning,
    takes as long as for a list that is copied.

    >>> one, two = Stroke(((1, 2),), 3, 0), Stroke(((4, 5),), 3, 1)
    >>> marks = Marks.of((one,)).plus(two)
    >>> len(marks), sorted(marks.labels), marks[-1] is two, marks == Marks.of((one, two))
    (2, [0, 1], True, True)
    """

    __slots__ = (
        *("__weakref__", "_before", "_hash", "_last", "_length", "_unnumbered"),
        *("labels", "objects"),
    )

    def __init__(self, before: Marks | None = None, last: Mark | None = None) -> None:
        self.labels: frozenset[int] = frozenset() if before is None else before.labels
        """The classes that are painted, even where later marks cover all of it."""
        self.objects: frozenset[Key] = frozenset() if before is None else before.objects
        """The objects that are painted, without marks of no particular one."""
        if last is not None and last.label is not None:
            key = last.label, last.object_number
            if last.label not in self.labels:
                self.labels |= {last.label}
            if last.object_number and key not in self.objects:
                self.objects |= {key}
        self._before, self._last = before, last
        self._unnumbered: Marks | None = None  # of marks that have no number these very ones
        if last is not None and self.objects:
            plain = replace(last, object_number=0) if last.object_number else last
            self._unnumbered = Marks(None if before is None else before.unnumbered, plain)
        self._length = 0 if before is None else len(before) + 1
        self._hash = hash((before, last))

    @property
    def unnumbered(self) -> Marks:
        """The same marks of no particular objects."""
        return self._unnumbered or self

    @classmethod
    def of(cls, marks: Iterable[Mark]) -> Marks:
        """Return marks in their order; a value of this class is returned as it is."""
        return marks if isinstance(marks, Marks) else NO_MARKS.plus(*marks)

    def plus(self, *marks: Mark) -> Marks:
        """Return these marks with others on top."""
        end = self
        for mark in marks:
            end = Marks(end, mark)
        return end

    def beginnings(self) -> Iterator[Marks]:
        """Yield these marks, then those without the last one, and so on to none."""
        marks: Marks | None = self
        while marks is not None:
            yield marks
            marks = marks._before

    def first(self, length: int) -> Marks:
        """Return the first marks, all of them where there are fewer."""
        return next(marks for marks in self.beginnings() if len(marks) <= length)

    def after(self, beginning: Marks) -> tuple[Mark, ...] | None:
        """Return the marks that follow a beginning; None where these begin otherwise."""
        if len(beginning) > len(self) or self.first(len(beginning)) != beginning:
            return None
        return self._newest(len(self) - len(beginning))

    def common_beginning(self, other: Marks) -> Marks:
        """Return the longest sequence that both begin with."""
        length = min(len(self), len(other))
        pairs = zip(self.first(length).beginnings(), other.first(length).beginnings(), strict=True)
        return next(own for own, others in pairs if own == others)

    def _newest(self, count: int) -> tuple[Mark, ...]:
        """Return the last few marks in their order."""
        return tuple(mark for _, mark in zip(range(count), reversed(self), strict=False))[::-1]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Mark]:
        return iter(self._newest(len(self)))

    def __reversed__(self) -> Iterator[Mark]:
        for marks in self.beginnings():
            if marks._last is not None:
                yield marks._last

    @overload
    def __getitem__(self, index: int) -> Mark: ...

    @overload
    def __getitem__(self, index: slice) -> Marks: ...

    def __getitem__(self, index: int | slice) -> Mark | Marks:
        if isinstance(index, int):
            return self._newest(len(self) - range(len(self))[index])[0]
        positions = range(len(self))[index]
        if positions.start == 0 and positions.step == 1:
            return self.first(len(positions))
        marks = self._newest(len(self))
        return Marks.of(marks[position] for position in positions)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Marks):
            return NotImplemented
        if self._hash != other._hash or len(self) != len(other):
            return False
        for own, others in zip(self.beginnings(), other.beginnings(), strict=True):
            if own is others:
                break
            if own._last is not others._last and own._last != others._last:
                return False
        return True

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Marks.of({tuple(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return Marks.of, (tuple(self),)  # a link a call would exceed the depth of the stack


NO_MARKS = Marks()


@dataclass(frozen=True, slots=True, init=False)
class Document:
    """Classes, and marks in their order: the last one on a pixel wins.

    ``initial`` are the labels that a model gave before any stroke; strokes correct them.
    ``retouches`` are painted over the answer, whatever it is, and teach nothing: see
    `segapp.imaging.retouch`. ``display`` makes the pixels that the learner gets. ``cuts`` are
    lines along which objects are severed, and ``objects`` tells names, flags and anchors of those
    that have any: see `segapp.imaging.objects`. ``hair`` widens the band of soft edges where it
    is painted; a mark without a class narrows it again. None of them teaches anything.
    """

    classes: tuple[ClassInfo, ...]
    strokes: Marks
    initial: InitialLabels | None
    retouches: Marks
    display: DisplaySettings
    objects: tuple[ObjectInfo, ...]
    cuts: tuple[Stroke, ...]
    hair: tuple[Mark, ...]

    def __init__(
        self,
        classes: tuple[ClassInfo, ...] = TWO_CLASSES,
        strokes: Iterable[Mark] = (),
        initial: InitialLabels | None = None,
        retouches: Iterable[Mark] = (),
        display: DisplaySettings = DEFAULT_DISPLAY,
        objects: tuple[ObjectInfo, ...] = (),
        cuts: tuple[Stroke, ...] = (),
        hair: tuple[Mark, ...] = (),
    ) -> None:
        set_field, count = object.__setattr__, len(classes)
        set_field(self, "classes", classes)
        set_field(self, "strokes", Marks.of(strokes))
        set_field(self, "initial", initial)
        set_field(self, "retouches", Marks.of(retouches))
        set_field(self, "display", display)
        set_field(self, "objects", objects)
        set_field(self, "cuts", cuts)
        set_field(self, "hair", hair)
        if not 2 <= count <= MAX_CLASSES:
            raise SegappError(f"classes: wanted 2 to {MAX_CLASSES}, got {count}")
        for label in self.strokes.labels | self.retouches.labels:
            if not 0 <= label < count:
                raise SegappError(
                    f"label: wanted a class from 0 to {count - 1}, got {short_repr(label)}"
                )
        if initial is not None and initial.n_classes > count:
            raise SegappError(f"start: wanted {count} classes, got {initial.n_classes}")
        keys = [info.key for info in objects]
        if len(set(keys)) < len(keys) or any(label >= count for label, _ in keys):
            raise SegappError(
                f"objects: wanted different ones of {count} classes, got {short_repr(keys)}"
            )

    @property
    def background(self) -> int:
        """Index of the background: the class marked or named so, else the last.

        >>> Document().background
        1
        >>> names = ("Background", "cat", "dog")
        >>> Document(tuple(ClassInfo(name, (0, 0, 0)) for name in names)).background
        0
        """
        return background_index(self.classes)

    def with_background(self, index: int) -> Document:
        """Make one class, and no other, the background."""
        return replace(
            self,
            classes=tuple(
                replace(info, background=row == index) for row, info in enumerate(self.classes)
            ),
        )

    def with_key(self, index: int, key: str) -> Document:
        """Give a class a digit; the class that had the digit takes a free one."""
        return replace(
            self,
            classes=tuple(
                replace(info, key=key if row == index else "" if info.key == key else info.key)
                for row, info in enumerate(self.classes)
            ),
        )

    def border_is_background(self, marked: Collection[int]) -> bool:
        """Return whether the image's border stands for the unmarked background.

        That is so where a class is named background, and any number of others has marks.

        >>> Document().border_is_background({0}), Document().border_is_background({0, 1})
        (True, False)
        """
        return (
            bool(marked)
            and self.background not in marked
            and self.classes[self.background].is_background
        )

    def is_answerable(self, marked: Collection[int]) -> bool:
        """Return whether marks of these classes suffice for an answer.

        >>> Document().is_answerable({0}), Document().is_answerable({1})
        (True, False)
        """
        return len(marked) > 1 or self.border_is_background(marked)

    def with_stroke(self, stroke: Mark) -> Document:
        """Add a stroke."""
        return replace(self, strokes=self.strokes.plus(stroke))

    def with_separate_patches(self) -> Document:
        """Turn each connected part of a patch into a mark of its own, in the same state.

        Strokes that come as an image are one patch for each class; the answer is the same.
        """
        marks: list[Mark] = []
        for mark in self.strokes:
            parts: list[Mark] = [mark]
            if isinstance(mark, Patch):
                parts = [*mark.parts()]
            marks += (replace(part, joined=mark.joined or n > 0) for n, part in enumerate(parts))
        return replace(self, strokes=Marks.of(marks))

    def without_strokes(self, indices: Collection[int]) -> Document:
        """Leave out some strokes; the others stay in their states."""
        kept: list[Mark] = []
        first = True  # of its state, among those that are kept
        for index, mark in enumerate(self.strokes):
            first = first or not mark.joined
            if index not in indices:
                kept.append(replace(mark, joined=not first))
                first = False
        return replace(self, strokes=Marks.of(kept))

    def with_retouch(self, mark: Mark) -> Document:
        """Paint over the answer; a mark without a class uncovers the answer again."""
        return replace(self, retouches=self.retouches.plus(mark))

    def with_hair(self, mark: Mark) -> Document:
        """Widen the band of soft edges; a mark without a class narrows it again."""
        return replace(self, hair=(*self.hair, mark))

    @property
    def previous_state(self) -> Document | None:
        """The document before its newest marks; ``None`` where these are all.

        A state is answered with the answer of the one before it in mind, so that the order of
        the marks counts. Marks that came at once, as an image for instance, are one state.
        """
        shorter = islice(self.strokes.beginnings(), 1, None)
        for mark, before in zip(reversed(self.strokes), shorter, strict=True):
            if not mark.joined:
                return replace(self, strokes=before) if before else None
        return None

    def earlier_states(self) -> Iterator[Document]:
        """Yield the states before this one, newest first, each made on demand."""
        state = self.previous_state
        while state is not None:
            yield state
            state = state.previous_state

    def as_one_state(self) -> Document:
        """Join all marks into one state, so that the learner forgets their order."""
        first, *others = self.strokes or (None,)
        if first is None:
            return self
        joined = (replace(mark, joined=True) for mark in others)
        return replace(self, strokes=Marks.of((replace(first, joined=False), *joined)))

    def without_marks(self) -> Document:
        """Drop all marks, objects and the initial labels, keep the classes."""
        return replace(
            self,
            strokes=NO_MARKS,
            initial=None,
            retouches=NO_MARKS,
            objects=(),
            cuts=(),
            hair=(),
        )

    def with_class(self, info: ClassInfo) -> Document:
        """Add a class at the end; `MAX_CLASSES` is all there can be."""
        return replace(self, classes=(*self.classes, info))

    def with_class_changed(self, index: int, info: ClassInfo) -> Document:
        """Rename or recolour a class."""
        classes = list(self.classes)
        classes[index] = info
        return replace(self, classes=tuple(classes))

    def without_class(self, index: int) -> Document:
        """Delete a class with its strokes; the classes behind it move up."""
        if len(self.classes) <= 2:
            raise SegappError("classes: at least two must remain")
        kept = replace(
            self,
            strokes=Marks.of(mark for mark in self.strokes if mark.label != index),
            retouches=Marks.of(mark for mark in self.retouches if mark.label != index),
            objects=tuple(info for info in self.objects if info.label != index),
        )
        classes = self.classes[:index] + self.classes[index + 1 :]
        indices = [row - (row > index) for row in range(len(self.classes))]
        indices[index] = background_index(classes)
        return kept.with_classes(classes, indices)

    def with_classes(self, classes: tuple[ClassInfo, ...], indices: Sequence[int]) -> Document:
        """Replace the classes; ``indices`` holds the new index of each present one."""
        initial = self.initial and self.initial.with_classes(indices, len(classes))
        strokes = _relabelled(self.strokes, indices)
        retouches = _relabelled(self.retouches, indices)
        objects = {
            (indices[info.label], info.number): replace(info, label=indices[info.label])
            for info in self.objects
        }
        listed = tuple(objects[key] for key in sorted(objects))
        return replace(
            self,
            classes=classes,
            strokes=strokes,
            initial=initial,
            retouches=retouches,
            objects=listed,
        )

    def with_class_moved(self, index: int, target: int) -> Document:
        """Move a class to another index; strokes, retouches and initial labels go along.

        A background that is so by being the last is marked as such, so that it stays one.
        """
        order = list(range(len(self.classes)))
        order.insert(target, order.pop(index))
        indices = [order.index(old) for old in range(len(order))]
        ground = indices[self.background]
        moved = self.with_classes(tuple(self.classes[old] for old in order), indices)
        return moved if moved.background == ground else moved.with_background(ground)

    # Objects ------------------------------------------------------------------------------

    def without_objects(self) -> Document:
        """Return the document with its classes alone, which is all that is learnt."""
        if not self.divides_objects:
            return self
        classes = tuple(replace(info, split=False) for info in self.classes)
        strokes = self.strokes.unnumbered
        return replace(self, strokes=strokes, classes=classes, objects=(), cuts=())

    @property
    def divides_objects(self) -> bool:
        """Whether anything but connectivity tells its objects apart."""
        return bool(
            self.objects
            or self.cuts
            or any(info.split for info in self.classes)
            or self.strokes.objects
        )

    def with_all_split(self) -> Document:
        """Propose cuts at the necks of all classes but the background."""
        classes = tuple(
            info if info.is_background or index == self.background else replace(info, split=True)
            for index, info in enumerate(self.classes)
        )
        return replace(self, classes=classes)

    def object_keys(self) -> set[Key]:
        """Return the objects that have marks, anchors, a name or flags."""
        return {*self.strokes.objects, *(info.key for info in self.objects)}

    def object_info(self, key: Key) -> ObjectInfo:
        """Return name, flags and anchors of an object."""
        return next((info for info in self.objects if info.key == key), ObjectInfo(*key))

    def next_object(self, label: int) -> int:
        """Return the number of the next new object of a class."""
        return 1 + max((number for own, number in self.object_keys() if own == label), default=0)

    def with_object(self, info: ObjectInfo) -> Document:
        """Replace name, flags and anchors of an object."""
        others = [each for each in self.objects if each.key != info.key]
        listed = others if info.says_nothing else [*others, info]
        return replace(self, objects=tuple(sorted(listed, key=lambda each: each.key)))

    def with_object_moved(self, key: Key, target: Key) -> Document:
        """Give all of an object to another one, which may be of another class or be new."""
        if key == target:
            return self
        strokes = Marks.of(
            replace(mark, label=target[0], object_number=target[1])
            if (mark.label, mark.object_number) == key
            else mark
            for mark in self.strokes
        )
        mine, other = self.object_info(key), self.object_info(target)
        moved = replace(
            other,
            name=other.name or mine.name,
            crowd=other.crowd or mine.crowd,
            occluded=other.occluded or mine.occluded,
            anchors=tuple(dict.fromkeys((*other.anchors, *mine.anchors))),
        )
        return replace(self, strokes=strokes).without_object(key).with_object(moved)

    def without_object(self, key: Key) -> Document:
        """Forget an object with its marks."""
        strokes = Marks.of(m for m in self.strokes if (m.label, m.object_number) != key)
        return replace(self, strokes=strokes).with_object(ObjectInfo(*key))


def _relabelled(marks: Marks, indices: Sequence[int]) -> Marks:
    return Marks.of(
        mark if mark.label is None else replace(mark, label=indices[mark.label]) for mark in marks
    )
