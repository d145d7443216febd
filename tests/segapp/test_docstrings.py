"""Examples in docstrings are run; those of the window's rooms would need a screen."""

import pytest

import segapp
from tests.examples import failures, modules_of, with_examples

MODULES = modules_of(segapp, without=["segapp.qt"])


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name):
    assert failures(name) == 0


def test_there_are_examples():
    assert with_examples(MODULES) >= {
        "segapp.model.document.Patch.of_mask",
        "segapp.model.labelling.final_answer",
        "segapp.model.settings.with_value",
        "segapp.model.settings.SettingsChoice.settings",
        "segapp.imaging.rle.run_lengths",
        "segapp.imaging.polygons.polygons",
        "segapp.batch.robot_user.iou",
    }
