import numpy as np
import pytest

from segapp.batch.robot_user import (
    EXACT,
    NoisyHand,
    Start,
    begin,
    first_dabs,
    iou,
    robot_steps,
    robot_stroke,
    score,
    strokes_to,
)
from segapp.imaging.rasterise import rasterize
from segapp.model.classes import TWO_CLASSES, ClassInfo
from segapp.model.document import Document, Stroke
from segapp.model.labelling import Labelling

SIZE = (60, 80)


def marked(patch, size=SIZE):
    classes = tuple(ClassInfo(str(index), (0, 0, 0)) for index in range(9))
    return rasterize(Document(classes, (patch,)), size)


def disc(row, column, radius, size=SIZE):
    y, x = np.mgrid[: size[0], : size[1]]
    return (y - row) ** 2 + (x - column) ** 2 <= radius**2


def test_the_middle_of_a_missed_object_is_dabbed():
    truth = np.where(disc(30, 40, 15), 0, 1)
    patch = robot_stroke(np.ones(SIZE, int), truth)
    assert (marked(patch) == np.where(disc(30, 40, 8), 0, -1)).all()


def test_a_dab_is_clipped_to_the_true_side():
    truth = np.where(disc(30, 40, 5), 0, 1)
    patch = robot_stroke(np.ones(SIZE, int), truth)
    assert ((marked(patch) == 0) == (truth == 0)).all()


def test_false_foreground_gets_background():
    truth = np.ones(SIZE, int)
    labels = np.where(disc(20, 20, 10), 0, 1)
    patch = robot_stroke(labels, truth)
    assert patch.label == 1
    assert (marked(patch) == np.where(disc(20, 20, 8), 1, -1)).all()


def test_missed_and_false_foreground_are_parts_of_their_own():
    """They touch and together would be the largest; apart, a third one is larger."""
    truth = np.ones(SIZE, int)
    truth[10:20, 10:20] = 0  # missed, 100 pixels
    labels = np.ones(SIZE, int)
    labels[10:20, 20:30] = 0  # false, 100 pixels, touching
    labels[40:52, 40:50] = 0  # false, 120 pixels
    patch = robot_stroke(labels, truth)
    assert patch.label == 1
    assert 40 <= patch.top + patch.height / 2 <= 52


def test_of_equal_mistakes_the_background_is_taken():
    truth = np.ones(SIZE, int)
    truth[10:20, 10:20] = 0
    labels = np.ones(SIZE, int)
    labels[30:40, 30:40] = 0
    assert robot_stroke(labels, truth).label == 1


def test_the_band_is_no_mistake_and_no_place_to_paint():
    truth = np.where(disc(30, 40, 12), 0, np.where(disc(30, 40, 16), -1, 1))
    assert robot_stroke(np.where(disc(30, 40, 14), 0, 1), truth) is None
    patch = robot_stroke(np.ones(SIZE, int), np.where(truth == -1, -1, np.where(truth == 0, 0, 1)))
    assert (truth[marked(patch) >= 0] == 0).all()


def test_the_image_edge_counts_as_an_edge():
    """An error that fills the left half: its deepest pixel is not at the image's border."""
    truth = np.ones(SIZE, int)
    labels = np.ones(SIZE, int)
    labels[:, :40] = 0
    rows, columns = np.nonzero(marked(robot_stroke(labels, truth)) == 1)
    assert 18 <= columns.mean() <= 21
    assert rows.min() > 8


def test_four_classes():
    truth = np.zeros(SIZE, int)
    truth[:, 20:40], truth[:, 40:60], truth[:, 60:] = 1, 2, 3
    labels = truth.copy()
    labels[5:50, 42:58] = 0
    patch = robot_stroke(labels, truth)
    assert patch.label == 2
    assert (truth[marked(patch) >= 0] == 2).all()


def copying(document):
    """A learner that only knows what is marked; the rest is background."""
    labels = np.maximum(rasterize(document, SIZE), -1)
    labels = np.where(labels == -1, 1, labels).astype(np.uint8)
    return Labelling(labels, np.zeros(SIZE, np.float32), np.zeros(SIZE, np.uint32), 2, 1)


def test_the_robot_goes_on_until_all_is_right():
    truth = np.where(disc(30, 30, 14), 0, 1)
    steps = list(robot_steps(copying, Document(), truth, 100))
    ious = [step.iou for step in steps]
    assert ious[0] == 0.0
    assert ious == sorted(ious)
    assert ious[-1] == 1.0
    assert len(steps) < 101
    assert [len(step.document.strokes) for step in steps] == list(range(len(steps)))
    assert all(step.seconds >= 0 for step in steps)


def test_the_robot_stops_after_its_strokes():
    truth = np.where(disc(30, 30, 25), 0, 1)
    steps = list(robot_steps(copying, Document(), truth, 3))
    assert len(steps) == 4
    assert steps[-1].iou < 1


@pytest.mark.parametrize(("level", "count"), [(0.1, 0), (0.85, 1), (0.9, 3), (0.99, 4)])
def test_strokes_to_a_level(level, count):
    assert strokes_to([0.5, 0.85, 0.8, 0.95], level) == count


def begun(start, truth, given=None, hand=EXACT):
    return begin(start, given or Document(TWO_CLASSES), truth, hand)


def test_first_dabs_lie_in_the_middle_of_each_class_and_are_one_state():
    truth = np.ones((60, 80), np.int16)
    truth[5:15, 5:15] = 0  # a small component of the object
    truth[20:50, 30:60] = 0  # its largest one
    truth[:3] = -1
    document, planned = begun(Start.DABS, truth)
    assert (document.previous_state, planned) == (None, ())
    marked = rasterize(document, truth.shape)
    assert marked[35, 45] == 0
    assert (truth[marked == 0] == 0).all()
    assert (truth[marked == 1] == 1).all()
    assert np.count_nonzero(marked == 0) == 197  # a disc of radius 8


def test_a_class_that_the_truth_lacks_gets_no_dab():
    assert [mark.label for mark in first_dabs(np.zeros((30, 30), np.int16), 2)] == [0]


def test_classes_are_dabbed_one_after_the_other_with_the_background_last():
    names = ("background", "one", "two")
    given = Document(tuple(ClassInfo(name, (0, 0, 0)) for name in names))
    truth = np.zeros(SIZE, int)
    truth[10:30, 10:30], truth[30:50, 40:70] = 1, 2
    document, planned = begun(Start.CLASSES, truth, given)
    assert [mark.label for mark in (*document.strokes, *planned)] == [1, 2, 0]
    steps = list(robot_steps(copying, document, truth, 2, planned=planned))
    assert [len(step.document.strokes) for step in steps] == [1, 2, 3]


def test_the_largest_given_stroke_of_each_class_comes_first():
    given = Document(TWO_CLASSES).with_stroke(Stroke(((10.5, 10.5), (20.5, 10.5)), 2, 1))
    given = given.with_stroke(Stroke(((40.5, 30.5), (60.5, 30.5)), 2, 0))
    given = given.with_stroke(Stroke(((70.5, 50.5),), 2, 0))
    document, planned = begun(Start.OBJECT, np.ones(SIZE, int), given)
    (first,), (second,) = document.strokes, planned
    assert (marked(first) == 0)[30, 41:60].all()
    assert not (marked(first) == 0)[50, 70]
    assert (marked(second) == 1)[10, 11:20].all()


def test_a_noisy_hand_paints_the_first_background_stroke_itself():
    given = Document(TWO_CLASSES).with_stroke(Stroke(((0.5, 0.5), (80.5, 0.5)), 9, 1))
    given = given.with_stroke(Stroke(((40.5, 30.5),), 5, 0))
    truth = np.where(disc(30, 40, 15), 0, 1)
    begun_as = {begun(Start.OBJECT, truth, given, NoisyHand((seed,))) for seed in range(4)}
    assert len({document for document, _ in begun_as}) == 1
    painted = [marked(mark) for _, planned in begun_as for mark in planned]
    assert len({mask.tobytes() for mask in painted}) == 4
    assert all((truth[mask >= 0] == 1).all() and (mask == 1).any() for mask in painted)


@pytest.mark.parametrize("seed", range(20))
def test_noisy_strokes_are_right_and_touch_the_error(seed):
    truth = np.where(disc(30, 40, 15), 0, 1)
    labels = np.where(disc(30, 34, 12), 0, 1)
    patch = robot_stroke(labels, truth, NoisyHand((seed,)))
    painted = marked(patch) >= 0
    assert (truth[painted] == patch.label).all()
    assert (painted & (truth == patch.label) & (labels != truth)).any()
    again = robot_stroke(labels, truth, NoisyHand((seed,)))
    assert again == patch


def test_noisy_strokes_scatter():
    truth = np.where(disc(30, 40, 15), 0, 1)
    hand = NoisyHand((1,))
    strokes = [robot_stroke(np.ones(SIZE, int), truth, hand) for _ in range(20)]
    sizes = [np.count_nonzero(stroke.mask()) for stroke in strokes]
    assert len(set(strokes)) == 20
    assert max(sizes) > 3 * min(sizes)


# Scores -------------------------------------------------------------------------


def test_against_counting_by_hand():
    labels = np.array([[0, 0, 1, 1], [0, 0, 1, 1]])
    truth = np.array([[0, 1, 1, 0], [0, -1, -1, 0]])
    # found 0: (0,0) (0,1) (1,0); wanted 0: (0,0) (0,3) (1,0) (1,3); the band does not count
    assert iou(labels, truth) == pytest.approx(2 / 5)
    # found 1: (0,2) (0,3) (1,3); wanted 1: (0,1) (0,2)
    assert iou(labels, truth, 1) == pytest.approx(1 / 4)
    assert score(labels, truth, 2) == iou(labels, truth)


def test_more_classes_count_alike_however_large():
    truth = np.zeros((10, 10), int)
    truth[0, 0], truth[0, 1] = 1, 2
    labels = truth.copy()
    labels[0, 1] = 0
    assert score(labels, truth, 3) == pytest.approx((98 / 99 + 1 + 0) / 3)


def test_a_class_that_is_nowhere_is_right():
    nothing = np.ones((3, 3), int)
    assert iou(nothing, nothing) == 1.0
    assert iou(np.zeros((3, 3)), nothing) == 0.0
    assert iou(np.zeros((3, 3)), np.full((3, 3), -1)) == 1.0
