"""AVIF, JPEG 2000, PPM, TGA, DICOM and NIfTI, from files that other libraries write."""

import contextvars
import datetime
import gzip
import os
import struct
import sys

import numpy as np
import pytest
from PIL import Image, features

from segapp.app.workspace import left_out, list_images
from segapp.io import pages
from segapp.io.images import ImageError, load_image
from segapp.model.picture import Scale

RGB = np.random.default_rng(0).integers(0, 256, (24, 36, 3), dtype=np.uint8)
SLICES = np.random.default_rng(1).integers(-900, 2000, (5, 24, 36)).astype(np.int16)


@pytest.mark.parametrize("suffix", [".ppm", ".tga", ".jp2", ".pgm"])
def test_lossless_files_of_pillow(tmp_path, suffix):
    if suffix == ".jp2" and not features.check("jpg_2000"):
        pytest.skip("this Pillow has no JPEG 2000")
    path = tmp_path / f"a{suffix}"
    image = Image.fromarray(RGB)
    image = image.convert("L") if suffix == ".pgm" else image
    image.save(path)
    assert (load_image(path).rgb == np.array(image.convert("RGB"))).all()
    assert list_images(tmp_path) == [path]


def test_avif(tmp_path):
    if not features.check("avif"):
        pytest.skip("this Pillow has no AVIF")
    path = tmp_path / "a.avif"
    ramp = np.linspace(0, 255, 36).astype(np.uint8)
    smooth = np.dstack([np.tile(ramp, (24, 1))] * 3)
    Image.fromarray(smooth).save(path, quality=95)
    assert np.abs(load_image(path).rgb.astype(int) - smooth).max() < 12


def test_deep_jpeg_2000_and_pgm_keep_their_numbers(tmp_path):
    deep = np.arange(24 * 36, dtype=np.uint16).reshape(24, 36) * 70
    for suffix in (".jp2", ".pgm"):
        path = tmp_path / f"deep{suffix}"
        Image.fromarray(deep).save(path)
        assert (load_image(path).raw_image.values[:, :, 0] == deep).all()


def test_no_other_file_is_taken_for_a_tga(tmp_path):
    for name in ("a.png", "a.jpg"):
        Image.fromarray(RGB).save(tmp_path / "b.tga")
        (tmp_path / name).write_bytes((tmp_path / "b.tga").read_bytes())
        with pytest.raises(ImageError, match="is not an image: wanted JPEG"):
            load_image(tmp_path / name)


def dicom(path, pixels, **values):
    pydicom = pytest.importorskip("pydicom", reason="pydicom is not installed")
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage, generate_uid

    meta = FileMetaDataset()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID = SecondaryCaptureImageStorage
    meta.MediaStorageSOPInstanceUID = generate_uid()
    told = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    told.SOPClassUID, told.SOPInstanceUID = SecondaryCaptureImageStorage, generate_uid()
    told.ContentDate = datetime.date(2026, 1, 2).strftime("%Y%m%d")
    colour = pixels.ndim == 3 and pixels.shape[2] == 3
    told.Rows, told.Columns = pixels.shape[:2] if colour else pixels.shape[-2:]
    told.SamplesPerPixel = 3 if colour else 1
    told.PhotometricInterpretation = "RGB" if colour else "MONOCHROME2"
    if colour:
        told.PlanarConfiguration = 0
    elif pixels.ndim == 3:
        told.NumberOfFrames = len(pixels)
    told.BitsAllocated = told.BitsStored = 8 * pixels.dtype.itemsize
    told.HighBit = told.BitsStored - 1
    told.PixelRepresentation = int(pixels.dtype.kind == "i")
    for name, value in values.items():
        setattr(told, name, value)
    told.PixelData = pixels.tobytes()
    told.save_as(path, enforce_file_format=True)
    del pydicom
    return path


def test_dicom_with_its_spacing_and_rescaled_values(tmp_path):
    path = dicom(
        tmp_path / "ct.dcm",
        SLICES[0],
        PixelSpacing=[0.7, 0.7],
        RescaleSlope="2",
        RescaleIntercept="-1000",
    )
    picture = load_image(path)
    assert picture.scale == Scale(0.7, "mm", "DICOM")
    assert (picture.raw_image.values[:, :, 0] == SLICES[0].astype(float) * 2 - 1000).all()


def test_frames_of_dicom_are_pages(tmp_path):
    path = dicom(tmp_path / "ct.dcm", SLICES)
    pages = list_images(tmp_path)
    assert len(pages) == 5
    assert pages[0] == path
    for page, pixels in zip(pages, SLICES, strict=True):
        assert (load_image(page).raw_image.values[:, :, 0] == pixels).all()


def test_colour_and_inverted_dicom(tmp_path):
    colour = load_image(dicom(tmp_path / "colour.dcm", RGB))
    assert (colour.rgb == RGB).all()
    grey = RGB[:, :, 0]
    path = dicom(tmp_path / "film.dcm", grey, PhotometricInterpretation="MONOCHROME1")
    assert (load_image(path).rgb[:, :, 0] == 255 - grey).all()


def test_a_damaged_dicom_is_refused_in_one_sentence(tmp_path):
    path = dicom(tmp_path / "ct.dcm", SLICES[0])
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(ImageError, match=r"^ct\.dcm (is damaged|cannot be)"):
        load_image(path)


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
def test_slices_of_nifti_are_pages_with_their_spacing(tmp_path, suffix):
    nibabel = pytest.importorskip("nibabel", reason="nibabel is not installed")
    volume = SLICES.transpose(2, 1, 0)  # x, y, z
    image = nibabel.Nifti1Image(volume, np.diag([0.8, 0.8, 2.5, 1.0]))
    image.header.set_xyzt_units("mm")
    path = tmp_path / f"head{suffix}"
    nibabel.save(image, path)
    pages = list_images(tmp_path)
    assert len(pages) == 5
    for page, pixels in zip(pages, SLICES, strict=True):
        picture = load_image(page)
        assert (picture.raw_image.values[:, :, 0] == pixels[::-1]).all()  # the front is up
        assert picture.scale == Scale(0.8, "mm", "NIfTI")


def test_the_unpacking_of_a_nifti_ends_when_it_is_not_wanted_any_more(tmp_path):
    nibabel = pytest.importorskip("nibabel", reason="nibabel is not installed")
    nibabel.save(nibabel.Nifti1Image(SLICES, np.eye(4)), tmp_path / "a.nii")
    content = bytearray((tmp_path / "a.nii").read_bytes())
    content[108:112] = struct.pack("<f", 3e7)  # where the pixels begin: far behind
    path = tmp_path / "a.nii.gz"
    path.write_bytes(gzip.compress(bytes(content[:352]) + os.urandom(1 << 20) + bytes(1 << 25)))
    answers = iter([False] * 4)

    def read():
        pages.stop_requested.set(lambda: next(answers, True))
        load_image(path)

    with pytest.raises(pages.ReadingStopped):
        contextvars.copy_context().run(read)
    assert load_image(path).rgb.shape == (24, 5, 3)


@pytest.mark.parametrize(("library", "name"), [("pydicom", "DICOM"), ("nibabel", "NIfTI")])
def test_what_is_missing_is_named(tmp_path, monkeypatch, library, name):
    path = tmp_path / ("a.dcm" if library == "pydicom" else "a.nii")
    path.write_bytes(b"\0" * 128 + b"DICM" * (library == "pydicom") + b"\0" * 400)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImageError, match=rf"{name} needs the extra medical: pip install"):
        load_image(path)


def test_a_folder_counts_what_it_leaves_out(tmp_path):
    for name in ("a.png", "a-mask.png", "a-strokes.png", ".hidden.png"):
        Image.fromarray(RGB).save(tmp_path / name)
    for name in (
        "notes.txt",
        "more.txt",
        "table.CSV",
        "a.segapp",
        "segapp-view.json",
        ".DS_Store",
    ):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    found = left_out(tmp_path)
    assert found.others == {".csv": 1, ".txt": 2}
    assert (found.companions, found.hidden, found.total) == (2, 1, 6)
    assert [path.name for path in list_images(tmp_path)] == ["a.png"]
