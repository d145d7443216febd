import pytest

from segapp.model import validation
from segapp.model.validation import as_file_name, reason, sanitize, sentence, short_repr


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"[" * 100_000, "thing: wanted plain values, got some nested too deeply"),
        (b"[" * 200 + b"]" * 200, "thing: wanted plain values, got some nested too deeply"),
        (b"NaN", "thing: wanted finite numbers, got NaN"),
        (b"[-Infinity]", "thing: wanted finite numbers, got -Infinity"),
        (b"1" * 5000, "thing: "),
        (b"\xff\xfe", "thing: wanted UTF-8"),
        (b"{", "thing: wanted JSON"),
        (b"[" + b"{}," * 3_000_000 + b"{}]", "thing: wanted at most 256 MB of values"),
    ],
    ids=["deep", "deeper than any file", "nan", "infinity", "digits", "bytes", "text", "bomb"],
)
def test_json_of_strangers(content, sentence):
    with pytest.raises(ValueError, match=sentence):
        validation.from_json(content, "thing")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: validation.require_number("1", "radius"), "radius: wanted a number, got '1'"),
        (lambda: validation.require_number(True, "radius"), "radius: wanted a number, got True"),
        (lambda: validation.require_number(1e999, "radius"), "radius: wanted a number, got inf"),
        (
            lambda: validation.require_number(float("nan"), "radius"),
            "radius: wanted a number, got nan",
        ),
        (lambda: validation.require_number(10**400, "radius"), "got a number of about 401 digits"),
        (
            lambda: validation.require_number(7, "radius", 0, 5),
            "radius: wanted a number from 0 to 5, got 7",
        ),
        (lambda: validation.require_int(1.0, "class"), "class: wanted a whole number, got 1.0"),
        (
            lambda: validation.require_int(9, "class", 0, 3),
            "wanted a whole number from 0 to 3, got 9",
        ),
        (lambda: validation.require_text(3, "name"), "name: wanted a text, got 3"),
        (
            lambda: validation.require_text("x" * 2000, "name"),
            "wanted at most 1000 characters, got 2000",
        ),
        (
            lambda: validation.require_text("\ud800", "name"),
            "name: wanted a text of whole characters",
        ),
        (lambda: validation.require_list({}, "points"), "points: wanted a list, got {}"),
        (lambda: validation.require_list([1], "points", 2, 2), "points: wanted 2, got 1"),
        (lambda: validation.require_object([], "image"), "image: wanted named values"),
        (lambda: validation.require_field({}, "image"), "'image' is missing"),
    ],
)
def test_every_refusal_names_the_field_what_was_wanted_and_what_came(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_the_value_in_a_message_is_cut_short_and_stays_on_its_line():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for value in ("x" * 10**6, [["x" * 1000] * 1000] * 1000, "a\nb", deep, 10**5000, [10**5000]):
        assert len(short_repr(value)) < 300
        assert "\n" not in short_repr(value)


def test_names_that_cannot_be_shown():
    assert sanitize("\u202egnp.exe \x9b2J\u2066") == "\ufffdgnp.exe \ufffd2J\ufffd"
    assert as_file_name("\u202ea/b: \x9b2J") == "_a_b_ _2J"
    assert sanitize("caf\udce9 \x1b[2J\n.png") == "caf\ufffd \ufffd[2J\ufffd.png"


def test_reasons_are_the_end_of_a_sentence():
    assert reason(KeyError("image")) == "'image' is missing"
    assert reason(ValueError("one\n  two.")) == "one two"
    assert reason(ValueError()) == "ValueError"
    assert sentence(MemoryError()) == "It does not fit into the memory."
    assert sentence(ValueError("bits: wanted 1, got 2")) == "bits: wanted 1, got 2."
    assert reason(MemoryError()) == "it does not fit into the memory"
    assert len(reason(ValueError("x" * 10**6))) < 600
