"""Pixel size and channel names, from files that tifffile writes."""

import json

import numpy as np
import pytest
import tifffile
from PIL import Image

from segapp.io.export.tables import channel_names, columns
from segapp.io.folder_files import SCALE_FILE, write_scale
from segapp.io.images import load_image
from segapp.model.picture import PIXELS, Scale
from segapp.model.validation import SegappError

PIXELS_16 = np.random.default_rng(0).integers(0, 4000, (3, 40, 50), dtype=np.uint16)


def imagej(path, unit="um", values=PIXELS_16[:2], **metadata):
    axes = {"axes": "CYX", "unit": unit, **metadata}
    tifffile.imwrite(path, values, imagej=True, resolution=(4.0, 4.0), metadata=axes)
    return path


def test_an_imagej_hyperstack(tmp_path):
    path = imagej(tmp_path / "cells.tif", Labels=["DAPI", "GFP: é"])
    picture = load_image(path)
    assert picture.scale == Scale(0.25, "µm", "ImageJ")
    assert picture.raw_image.n_channels == 2
    assert channel_names(picture.raw_image) == ["DAPI", "GFP: é"]


@pytest.mark.parametrize("unit", ["um", "micron", "\\u00B5m", "mm", "nm"])
def test_units_of_imagej(tmp_path, unit):
    scale = load_image(imagej(tmp_path / "cells.tif", unit)).scale
    assert scale.pixel == pytest.approx(0.25)
    assert scale.unit == (unit if unit in ("mm", "nm") else "µm")


@pytest.mark.parametrize("unit", ["", "pixel"])
def test_imagej_without_a_unit_has_no_size(tmp_path, unit):
    assert load_image(imagej(tmp_path / "cells.tif", unit)).scale is None


def test_an_ome_tiff(tmp_path):
    path = tmp_path / "cells.ome.tif"
    metadata = {
        "axes": "CYX",
        "PhysicalSizeX": 0.325,
        "PhysicalSizeXUnit": "µm",
        "PhysicalSizeY": 0.325,
        "PhysicalSizeYUnit": "µm",
        "Channel": {"Name": ["nucleus", "membrane", "actin"]},
    }
    tifffile.imwrite(path, PIXELS_16, ome=True, photometric="minisblack", metadata=metadata)
    picture = load_image(path)
    assert picture.scale == Scale(0.325, "µm", "OME")
    assert channel_names(picture.raw_image) == ["nucleus", "membrane", "actin"]
    header = columns(picture.scale, picture)
    assert {"area_µm2", "feret_µm", "x_µm", "mean_nucleus", "sd_actin"} <= set(header)


def test_ome_without_a_unit_is_in_micrometres_and_uneven_pixels_have_no_size(tmp_path):
    for height, wanted in ((0.5, Scale(0.5, "µm", "OME")), (0.7, None)):
        path = tmp_path / f"{height}.ome.tif"
        metadata = {"axes": "YX", "PhysicalSizeX": 0.5, "PhysicalSizeY": height}
        tifffile.imwrite(path, PIXELS_16[0], ome=True, metadata=metadata)
        assert load_image(path).scale == wanted


@pytest.mark.parametrize(("unit", "micrometres"), [("CENTIMETER", 10_000), ("INCH", 25_400)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_the_resolution_of_a_plain_tiff(tmp_path, unit, micrometres, dtype):
    """Of deep ones, and of those that Pillow reads."""
    path = tmp_path / "plain.tif"
    values = PIXELS_16[0].astype(dtype)
    tifffile.imwrite(path, values, resolution=(20_000.0, 20_000.0), resolutionunit=unit)
    scale = load_image(path).scale
    assert (scale.unit, scale.source) == ("µm", "TIFF resolution")
    assert scale.pixel == pytest.approx(micrometres / 20_000)


def test_files_without_a_resolution_have_no_size(tmp_path):
    plain, png = tmp_path / "plain.tif", tmp_path / "a.png"
    tifffile.imwrite(plain, PIXELS_16[0])
    Image.new("RGB", (8, 8)).save(png, dpi=(300, 300))
    assert load_image(plain).scale is None
    assert load_image(png).scale is None  # which is that of a printer


@pytest.mark.parametrize(
    "damage", ["<OME>", "no xml", '<!DOCTYPE a [<!ENTITY b "c">]><OME/>', "<OME xmlns='x'/>"]
)
def test_damaged_metadata_count_as_nothing(tmp_path, damage):
    path = tmp_path / "odd.ome.tif"
    tifffile.imwrite(path, PIXELS_16[0], description=f"<?xml version='1.0'?>{damage}</OME>")
    assert load_image(path).scale is None


def test_a_folder_may_set_the_size(tmp_path):
    path = imagej(tmp_path / "cells.tif")
    write_scale(tmp_path, Scale(2.5, "mm"))
    assert load_image(path).scale == Scale(2.5, "mm", "the folder")
    (tmp_path / SCALE_FILE).write_text(json.dumps({"format": "segapp scale", "version": 1}))
    with pytest.raises(SegappError, match="does not tell the size of a pixel: 'pixel' is missing"):
        load_image(path)


def test_channels_without_names_have_colours_or_numbers(tmp_path):
    picture = load_image(imagej(tmp_path / "cells.tif"))
    assert channel_names(picture.raw_image) == ["channel_1", "channel_2"]
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    photo = load_image(tmp_path / "a.png")
    assert channel_names(photo.raw_image) == ["red", "green", "blue"]
    assert "area_µm2" not in columns(PIXELS, photo)
    named = load_image(imagej(tmp_path / "same.tif", Labels=["GFP", "GFP"]))
    assert channel_names(named.raw_image) == ["GFP_1", "GFP_2"]
