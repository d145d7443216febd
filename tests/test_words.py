"""Words of the source: docstrings begin plainly, and a short list of words stays out."""

import pytest

from tests.benchmarks.structure import Module, duplicate_classes, modules_of


@pytest.mark.parametrize("package", ["segapp", "shlcore"])
def test_words_are_those_of_the_field(package):
    assert [hit for module in modules_of(package) for hit in module.word_hits()] == []


@pytest.mark.parametrize("package", ["segapp", "shlcore"])
def test_a_class_name_names_one_class(package):
    assert duplicate_classes(modules_of(package)) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", '"""What is drawn."""'),
        ("a.py", 'class A:\n    """How it is drawn."""'),
        ("a.py", f'def f():\n    """Draw {"a " * 40}."""'),
        ("a.py", "x = 1  # nobody reads it"),
        ("a.py", 'raise ValueError("No one may")'),
        ("keeping.py", '"""Locations."""'),
    ],
)
def test_a_hit_is_found(path, text):
    assert len(list(Module(path, text).word_hits())) == 1


def test_plain_words_are_none():
    text = '"""Draw strokes.\n\nWhat follows is free.\n"""\n# an anybodyish word\n'
    assert list(Module("drawing_order.py", text).word_hits()) == []
