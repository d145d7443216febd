"""Stacks are read page by page, with their axes."""

import os

import numpy as np
import pytest
import tifffile
from PIL import Image

from segapp.io.films import open_film, write_film
from segapp.io.pages import ImageError
from segapp.io.stacks import StackAxes, has_pages, open_stack
from segapp.model.display import DEFAULT_DISPLAY


def values(*shape):
    return np.arange(np.prod(shape), dtype=np.uint16).reshape(shape)


def read(stack, page):
    return stack.read(page, DEFAULT_DISPLAY).raw_image.values


def test_an_imagej_hyperstack_has_times_slices_and_channels(tmp_path):
    pixels = values(3, 4, 2, 5, 6)
    metadata = {"axes": "TZCYX", "unit": "um", "spacing": 2.0, "finterval": 0.5}
    path = tmp_path / "h.tif"
    tifffile.imwrite(path, pixels, imagej=True, resolution=(4, 4), metadata=metadata)
    stack = open_stack(path)
    assert stack.axes == StackAxes(3, 4, (), 0.25, 2.0, "µm", 2.0)
    for time, depth in ((0, 0), (1, 2), (2, 3)):
        page = read(stack, stack.axes.page(time, depth))
        assert (page == np.moveaxis(pixels[time, depth], 0, -1)).all()


@pytest.mark.parametrize("axes", ["TZCYX", "ZTCYX", "TZYX", "ZTYX"])
def test_an_ome_tiff_is_ordered_by_time_and_slice(tmp_path, axes):
    pixels = values(3, 4, *((2,) if "C" in axes else ()), 5, 6)
    metadata = {"axes": axes, "PhysicalSizeX": 0.3, "PhysicalSizeY": 0.3}
    metadata |= {"Channel": {"Name": ["nuclei", "walls"]}} if "C" in axes else {}
    path = tmp_path / "o.ome.tif"
    tifffile.imwrite(path, pixels, metadata=metadata)
    stack = open_stack(path)
    lengths = dict(zip(axes, pixels.shape, strict=True))
    assert (stack.axes.times, stack.axes.slices) == (lengths["T"], lengths["Z"])
    assert stack.axes.pixel_size == 0.3
    assert stack.axes.channel_names[:2] == (("nuclei", "walls") if "C" in axes else ("",))
    for time, depth in ((0, 1), (2, 3 % lengths["Z"])):
        place = (time, depth) if axes[0] == "T" else (depth, time)
        expected = pixels[place]
        expected = np.moveaxis(expected, 0, -1) if "C" in axes else expected[..., None]
        assert (read(stack, stack.axes.page(time, depth)) == expected).all()


def test_pages_of_a_plain_tiff_are_slices(tmp_path):
    pixels = values(4, 5, 6).astype(np.uint8)
    tifffile.imwrite(tmp_path / "p.tif", pixels, photometric="minisblack")
    stack = open_stack(tmp_path / "p.tif")
    assert (stack.axes.times, stack.axes.slices) == (1, 4)
    assert all((read(stack, page)[..., 0] == pixels[page]).all() for page in range(4))


def test_frames_of_a_folder_are_ordered_by_number(tmp_path):
    for number in (10, 2, 1):
        Image.new("L", (6, 5), number).save(tmp_path / f"frame{number}.png")
    (tmp_path / "notes.txt").write_text("no frame")
    stack = open_stack(tmp_path)
    assert [path.name for path in stack.paths] == ["frame1.png", "frame2.png", "frame10.png"]
    assert stack.axes == StackAxes(times=3)


def test_frames_may_name_times_and_slices(tmp_path):
    for time in range(2):
        for depth in range(3):
            Image.new("L", (6, 5)).save(tmp_path / f"cell_t{time:02}_z{depth:02}.png")
    stack = open_stack(tmp_path)
    assert (stack.axes.times, stack.axes.slices) == (2, 3)
    assert stack.paths[stack.axes.page(1, 2)].name == "cell_t01_z02.png"


def test_a_gif_is_a_stack_of_times(tmp_path):
    frames = [Image.new("L", (6, 5), 80 * k) for k in range(3)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    stack = open_stack(tmp_path / "a.gif")
    assert stack.axes.times == 3
    assert [int(read(stack, page).mean()) for page in range(3)] == [0, 80, 160]


def test_a_film_is_read_at_any_frame(tmp_path):
    pytest.importorskip("av")
    path = tmp_path / "a.mp4"
    write_film(path, (np.full((32, 48, 3), 8 * k, np.uint8) for k in range(25)), 10)
    stack = open_stack(path)
    assert (stack.axes.times, stack.axes.frame_rate) == (25, 10)
    for page in (0, 1, 24, 3, 4, 20, 0):
        assert abs(float(read(stack, page).mean()) - 8 * page) < 3
    with pytest.raises(ImageError, match="no page 26: the last one is page 25"):
        open_film(path).frame(25)


def test_a_file_that_is_no_film_is_refused(tmp_path):
    pytest.importorskip("av")
    (tmp_path / "a.mp4").write_bytes(b"no film at all" * 100)
    with pytest.raises(ImageError, match="cannot be read as a film"):
        open_stack(tmp_path / "a.mp4")


def test_a_playlist_of_other_files_is_no_film(tmp_path):
    pytest.importorskip("av")
    write_film(tmp_path / "a.mp4", [np.zeros((32, 48, 3), np.uint8)] * 3, 10)
    (tmp_path / "b.mp4").write_text("ffconcat version 1.0\nfile a.mp4\n")
    with pytest.raises(ImageError, match="cannot be read as a film"):
        open_stack(tmp_path / "b.mp4")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
@pytest.mark.parametrize("name", ["a.tif", "a.gif", "a.mp4"])
def test_a_pipe_is_no_stack_and_is_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    assert not has_pages(tmp_path / name)
    with pytest.raises(ImageError):
        open_stack(tmp_path / name)


def test_no_pixels_outside_of_an_ome_zarr_are_read(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(str(tmp_path / "secret"), data=values(2, 5, 6))
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2)
    level = {"axes": list("zyx"), "datasets": [{"path": "../secret"}]}
    group.attrs.update({"multiscales": [level]})
    with pytest.raises(ImageError, match="its pixels are in another folder"):
        open_stack(tmp_path / "a.zarr")


@pytest.mark.parametrize("version", [2, 3])
def test_ome_zarr_is_read_page_by_page(tmp_path, version):
    zarr = pytest.importorskip("zarr")
    path, pixels = tmp_path / "a.ome.zarr", values(2, 2, 3, 5, 6)
    group = zarr.open_group(path, mode="w", zarr_format=version)
    group.create_array("0", data=pixels, chunks=(1, 1, 1, 5, 6))
    scale = {"type": "scale", "scale": [1, 1, 2.0, 0.5, 0.5]}
    axes = [{"name": name} for name in "tczyx"]
    axes[4]["unit"] = "micrometer"
    notes = {
        "multiscales": [
            {"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": [scale]}]}
        ],
        "omero": {"channels": [{"label": "nuclei"}, {"label": "walls"}]},
    }
    group.attrs.update(notes if version == 2 else {"ome": notes})
    stack = open_stack(path)
    assert stack.axes == StackAxes(2, 3, ("nuclei", "walls"), 0.5, 2.0, "µm")
    page = stack.read(stack.axes.page(1, 2), DEFAULT_DISPLAY)
    assert (page.raw_image.values == np.moveaxis(pixels[1, :, 2], 0, -1)).all()
    assert page.path.name == "a.ome[6].zarr"
    assert page.sha256


@pytest.mark.parametrize("name", ["a.zarr", "missing.tif", "missing.mp4"])
def test_what_is_no_stack_is_refused_in_a_sentence(tmp_path, name):
    if name == "a.zarr":
        pytest.importorskip("zarr")
        (tmp_path / name).mkdir()
    with pytest.raises(ImageError, match=name.split(".", maxsplit=1)[0]):
        open_stack(tmp_path / name)


def test_a_single_picture_is_no_stack(tmp_path):
    Image.new("L", (4, 4)).save(tmp_path / "one.tif")
    with pytest.raises(ImageError, match="has a single page"):
        open_stack(tmp_path / "one.tif")
