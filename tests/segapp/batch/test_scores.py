import numpy as np
import pytest

from segapp.batch.robot_user import iou, score


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
