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
        "segapp.values.document.Patch.of_mask",
        "segapp.values.updates.answer_of",
        "segapp.values.plain_settings.with_value",
        "segapp.values.settings_choice.SettingsChoice.settings",
        "segapp.files.export.run_length.run_lengths",
        "segapp.files.export.polygons.polygons",
        "segapp.batch.scores.iou",
    }
