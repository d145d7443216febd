"""A microscopist counts cells in 16 bits of grey, all alike, and measures them."""

import csv

import numpy as np
import pytest
import tifffile

from tests.segapp.walkthroughs.real_window import in_looks, needs_a_screen, program_in

pytestmark = [pytest.mark.slow, needs_a_screen]
SIZE = (640, 480)
CELLS = [(x, y) for y in (80, 240, 400) for x in (100, 260, 420, 560)]


@pytest.fixture
def slide(tmp_path):
    """Twelve bright round cells on dark ground, 12 of the 16 bits used."""
    rows, columns = np.mgrid[: SIZE[1], : SIZE[0]]
    seen = np.full((SIZE[1], SIZE[0]), 600.0)
    for number, (x, y) in enumerate(CELLS):
        radius = 26 + 2 * (number % 5)
        seen[(columns - x) ** 2 + (rows - y) ** 2 < radius**2] = 2600
    seen += np.random.default_rng(4).normal(0, 90, seen.shape)
    path = tmp_path / "slide.tif"
    tifffile.imwrite(path, np.clip(seen, 0, 4095).astype(np.uint16))
    return path


@in_looks("small")
def test_microscopist(look, tmp_path, slide):
    table = tmp_path / "cells.csv"
    with program_in(look, "microscopist", tmp_path / "home") as program:
        program.prefer(export="measures")
        program.start(slide, title=slide.name)
        for x, y in CELLS:
            program.stroke(1, SIZE, (x - 8, y), (x + 8, y))
        program.stroke(3, SIZE, (180, 20), (180, 240), (180, 460))
        program.shot("cells")
        for keys, view in (("ctrl+5", "confidence"), ("ctrl+2", "outline")):
            program.desk.keys(keys)
            program.shot(view)
        program.write("ctrl+e", "Export", table)
        program.desk.window(slide.name)
        program.write("ctrl+s", "Save project", tmp_path / "slide.segapp")
        program.quit("segapp")
    with table.open(newline="", encoding="utf-8") as file:
        parts = [row for row in csv.DictReader(file) if row["object"].isdigit()]
    assert len(parts) == len(CELLS)
