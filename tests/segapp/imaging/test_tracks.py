"""Objects keep their numbers from page to page."""

import numpy as np

from segapp.imaging.components import split_at_necks, split_at_walls
from segapp.imaging.tracks import Tracker, contrast_of


def page(*boxes):
    labels = np.ones((40, 80), np.uint8)
    for top, left, height, width in boxes:
        labels[top : top + height, left : left + width] = 0
    return labels


def followed(pages, split=()):
    tracker, maps = Tracker([0], split), [None]
    for number, labels in enumerate(pages):
        maps.append(tracker.follow(number, labels, maps[-1]))
    return tracker.tracks, maps[1:]


def test_objects_that_move_keep_their_numbers_and_others_are_born_and_end():
    tracks, maps = followed(
        [
            page((5, 5, 10, 10), (5, 50, 10, 10)),
            page((6, 8, 10, 10), (5, 48, 10, 10)),
            page((7, 11, 10, 10), (25, 60, 10, 10)),
        ]
    )
    assert [(track.number, track.first, track.last) for track in tracks] == [
        (1, 0, 2),
        (2, 0, 1),
        (3, 2, 2),
    ]
    assert maps[2][12, 15] == 1
    assert maps[2][30, 65] == 3


def test_a_fast_object_is_found_within_its_own_size():
    tracks, _ = followed([page((5, 5, 10, 10)), page((6, 15, 8, 8)), page((5, 60, 10, 10))])
    assert [(track.first, track.last) for track in tracks] == [(0, 1), (2, 2)]


def test_objects_that_come_to_touch_stay_two():
    tracks, maps = followed([page((10, 10, 16, 16), (10, 30, 16, 16)), page((10, 12, 16, 32))])
    assert len(tracks) == 2
    assert np.unique(maps[1]).tolist() == [0, 1, 2]
    assert (maps[1][10:26, 12:24] == 1).all()
    assert (maps[1][10:26, 32:44] == 2).all()


def test_a_division_ends_the_mother_and_names_her():
    tracks, _ = followed([page((10, 10, 12, 30)), page((10, 10, 12, 13), (10, 27, 12, 13))])
    assert [(t.number, t.first, t.last, t.parent) for t in tracks] == [
        (1, 0, 0, 0),
        (2, 1, 1, 1),
        (3, 1, 1, 1),
    ]


def test_a_speck_that_comes_off_is_no_division():
    tracks, maps = followed([page((10, 10, 12, 30)), page((10, 10, 12, 26), (10, 38, 3, 2))])
    assert tracks[0].last == 1
    assert maps[1][15, 15] == 1


def overlapping(wall):
    """Return a picture of two discs, the second over the first, and the region that they make."""
    rows, columns = np.indices((60, 80))
    first = (rows - 30) ** 2 + (columns - 32) ** 2 < 18**2
    second = (rows - 30) ** 2 + (columns - 43) ** 2 < 18**2
    rgb = np.full((60, 80, 3), 40, np.uint8)
    rgb[first | second] = 160
    edge = np.abs(np.hypot(rows - 30, columns - 43) - 18) < 1.5
    if wall:
        rgb[edge & first] = 40
    rgb += np.random.default_rng(1).integers(0, 12, rgb.shape).astype(np.uint8)
    return rgb, (first | second).astype(np.int32), second


def test_objects_that_overlap_are_divided_at_the_wall_between_them():
    rgb, region, second = overlapping(wall=True)
    assert split_at_necks(region).max() == 1
    divided = split_at_walls(region, contrast_of(rgb))
    assert divided.max() == 2
    of_second = divided == divided[30, 50]
    assert (of_second & second).sum() / (of_second | second).sum() > 0.85


def test_without_a_wall_necks_alone_divide():
    rgb, region, _ = overlapping(wall=False)
    assert split_at_walls(region, contrast_of(rgb)).max() == 1
    labels = page((10, 10, 16, 16), (10, 30, 16, 16), (15, 20, 5, 15)) != 1
    pieces = labels.astype(np.int32)
    flat = np.zeros(pieces.shape, np.float32)
    rgb = np.where(labels[..., None], 160, 40).repeat(3, axis=2).astype(np.uint8)
    for contrast in (flat, contrast_of(rgb)):
        assert split_at_walls(pieces, contrast).max() == split_at_necks(pieces).max() == 2
    assert split_at_walls(np.zeros_like(pieces), flat).max() == 0
