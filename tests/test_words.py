"""Words of sources, window and pages: a short list of words stays out."""

import re

import pytest

from tests.benchmarks.structure import Module, duplicate_classes, modules_of
from tests.texts import ROOT, languages, wanted, written

# One word for one thing: a result is no answer, an image no picture, unfinished not undone.
NOT_IN_TEXTS = {
    "en": r"answer\w*|undone|pictures?|anew|alike|shall|nobody|somebody|whoever|at the most",
    "de": r"Antwort\w*|Alles Gleiche|Übertragen|niemand|wer auch immer",
    "zh_CN": "答案|图片",
}


def hits(language, texts):
    """Return the texts of a language that have a word which stays out."""
    words = NOT_IN_TEXTS[language]
    pattern = words if language == "zh_CN" else rf"\b(?:{words})\b"
    return [text for text in texts if re.search(pattern, text.replace("&", ""), re.IGNORECASE)]


def test_texts_of_the_window_have_one_word_for_one_thing():
    assert hits("en", [text for part in wanted().values() for text in part]) == []


@pytest.mark.parametrize("language", languages())
def test_translations_have_one_word_for_one_thing(language):
    texts = [text for part in written(language).values() for text in part.values()]
    assert hits(language, texts) == []


GUIDE = ROOT / "assets" / "guide"
PAGES = {ROOT / "README.md": "en", ROOT / "CHANGELOG.md": "en"}
PAGES |= dict.fromkeys(GUIDE.glob("*.md"), "en")
RESULTS = [
    *sorted((ROOT / "tests" / "benchmarks").glob("*.md")),
    ROOT / "tests" / "campaign" / "CAMPAIGN.md",
]
PAGES |= {path: language for language in languages() for path in GUIDE.glob(f"{language}/*.md")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_pages_have_the_window_s_words(page):
    prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    assert hits(PAGES[page], prose.splitlines()) == []


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.stem)
def test_results_have_no_aims_and_no_days(page):
    told = page.read_text("utf-8")
    words = r"picture|dabbed|nobody|somebody|wanted|aims?|targets?|afternoon|quiet hour|now"
    assert re.findall(rf"\b(?:{words})\b", told, re.IGNORECASE) == []
    if page.stem in ("SEGMENTATION", "SPEED", "ENCODER", "MATTING", "DRAG", "STACKS", "FOLDER"):
        assert all(
            f"**{word}" in told or f"## {word}" in told
            for word in ("Question", "Meaning", "Limits")
        )


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "Hide Ans&wer"), ("en", "Pictures"), ("de", "Die Antworten"), ("zh_CN", "此图片")],
)
def test_a_word_that_stays_out_is_found(language, text):
    assert hits(language, [text, "OK"]) == [text]


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
