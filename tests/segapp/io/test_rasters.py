"""Backgrounds of cut-outs: read from text, scaled to cover, and mixed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from segapp.io.export.formats import ExportChoices, formats
from segapp.io.export.rasters import backdrop_from_text, backdrop_pixels, before_backdrop
from segapp.model.document import Document
from segapp.model.labelling import Labelling
from segapp.model.picture import Picture
from segapp.model.validation import SegappError


def test_an_image_covers_the_size_and_keeps_its_shape(tmp_path):
    wide = np.zeros((10, 40, 3), np.uint8)
    wide[:, 15:25] = (200, 10, 10)
    Image.fromarray(wide).save(tmp_path / "wide.png")
    pixels = backdrop_pixels(tmp_path / "wide.png", (30, 30))
    assert pixels.shape == (30, 30, 3)
    middle = pixels[:, 5:25].astype(int)
    assert np.abs(middle - (200, 10, 10)).max() <= 12, "its middle is cropped, not squeezed"


def test_a_missing_file_is_named():
    with pytest.raises(SegappError, match="nowhere"):
        backdrop_pixels(backdrop_from_text("nowhere.png"), (2, 2))


@given(
    arrays(np.uint8, (2, 3, 4)),
    st.tuples(st.integers(0, 255), st.integers(0, 255), st.integers(0, 255)),
)
def test_mixing_is_pillows(rgba, colour):
    ground = Image.new("RGBA", (3, 2), (*colour, 255))
    ground.alpha_composite(Image.fromarray(rgba))
    mixed = before_backdrop(rgba, backdrop_pixels(colour, (2, 3)))
    expected = np.asarray(ground.convert("RGB")).astype(int)
    assert np.abs(mixed.astype(int) - expected).max() <= 1


def test_a_cut_out_is_written_before_its_background(tmp_path):
    rgb = np.full((6, 8, 3), 90, np.uint8)
    labels = np.ones((6, 8), np.uint8)
    labels[:, :4] = 0
    labelling = Labelling(labels, np.zeros((6, 8), np.float32), np.zeros((6, 8), np.uint32), 2, 1)
    form = formats(ExportChoices(edge=0.0, backdrop=(1, 2, 3)))["cutout"]
    picture = Picture(rgb, None, tmp_path / "image.png", "", "")
    (path,) = form.write(tmp_path / "cut.png", labelling, Document(), picture)
    written = np.asarray(Image.open(path))
    assert (written[:, :4] == 90).all()
    assert (written[:, 4:] == (1, 2, 3)).all()
