"""Networks at work: what they give is the closed form, and nothing of theirs gets out."""

import os
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from segapp.encoders import runner
from segapp.encoders.encoder import Encoder, Fit, Layout
from segapp.encoders.feature_cache import FeatureExtractor, MissingEncoderError, resolve_encoder
from segapp.encoders.onnx_file import EncoderError, read_network
from segapp.encoders.preprocessing import fitted, parts
from segapp.encoders.runner import EncodingStopped, RunningNetwork
from segapp.io.images import load_image
from segapp.model.picture import EncoderFeatures
from tests.segapp.encoders import networks

POOLED = Encoder(
    name="pooled",
    digest="0" * 64,
    n_bytes=1,
    input="x",
    output="y",
    size=(32, 32),
    mean=(10.0, 20.0, 30.0),
    std=(2.0, 4.0, 5.0),
    fit=Fit.PAD,
    layout=Layout.CHANNELS_FIRST,
    skipped=0,
    grid=(8, 8),
    channels=3,
)


@pytest.fixture
def rgb(rng):
    return rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def run(path, encoder, rgb, seconds=60.0):
    digest = read_network(path).digest
    with RunningNetwork("It", path, digest, seconds) as network:
        return network.encode(replace(encoder, digest=digest), fitted(rgb, encoder))


def test_cells_are_what_the_network_gives_of_the_picture_less_mean_by_deviation(tmp_path, rgb):
    encoded = run(networks.pooled(tmp_path / "a.onnx"), POOLED, rgb)
    wanted = (rgb.reshape(8, 4, 8, 4, 3).mean(axis=(1, 3)) - POOLED.mean) / POOLED.std
    np.testing.assert_allclose(encoded.cells, wanted, rtol=2e-3, atol=2e-3)
    assert encoded.step == (4.0, 4.0)
    assert encoded.cells.dtype == np.float16


def test_the_same_picture_gives_the_same_bits(tmp_path, rgb):
    path = networks.pooled(tmp_path / "a.onnx")
    assert np.array_equal(run(path, POOLED, rgb).cells, run(path, POOLED, rgb).cells)


def test_a_padded_picture_keeps_its_proportions(tmp_path):
    rgb = np.full((50, 100, 3), 100, np.uint8)
    encoded = run(networks.pooled(tmp_path / "a.onnx"), POOLED, rgb)
    assert encoded.cells.shape == (4, 8, 3)  # the lower half is filled with nothing
    assert encoded.step == (12.5, 12.5)
    wanted = np.broadcast_to((100 - np.array(POOLED.mean)) / POOLED.std, encoded.cells.shape)
    np.testing.assert_allclose(encoded.cells, wanted, rtol=2e-3)


def test_a_stretched_picture_fills_the_whole_grid(tmp_path):
    rgb = np.full((50, 100, 3), 100, np.uint8)
    encoded = run(networks.pooled(tmp_path / "a.onnx"), replace(POOLED, fit=Fit.STRETCH), rgb)
    assert encoded.cells.shape == (8, 8, 3)
    assert encoded.step == (50 / 8, 100 / 8)


def test_tokens_come_row_by_row_after_those_that_are_none(tmp_path, rgb):
    path = networks.like_dino(tmp_path / "a.onnx", size=32, patch=8, extra=1)
    encoder = replace(
        POOLED, layout=Layout.TOKENS, skipped=1, grid=(4, 4), channels=5, fit=Fit.STRETCH
    )
    encoded = run(path, encoder, rgb)
    weights = np.random.default_rng(1).standard_normal((5, 3, 8, 8)).astype(np.float32)
    ready = (rgb - np.array(POOLED.mean)) / POOLED.std
    blocks = ready.reshape(4, 8, 4, 8, 3)
    wanted = np.einsum("aibjc,kcij->abk", blocks, weights)
    np.testing.assert_allclose(encoded.cells, wanted, rtol=5e-3, atol=0.5)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5000), (5000, 1), (7, 13), (4000, 3000)])
@pytest.mark.parametrize("fit", list(Fit))
def test_any_picture_fits(shape, fit):
    encoder = replace(POOLED, fit=fit)
    picture = fitted(np.zeros((*shape, 3), np.uint8), encoder)
    assert picture.shape == shape
    assert max(picture.pixels.shape[:2]) == 32
    (part,) = parts(shape, encoder)
    (rows, columns, channels), step = part.shape, part.step
    assert channels == encoder.channels
    assert 1 <= rows <= 8
    assert 1 <= columns <= 8
    # The cells cover the picture, and the last ones stick out by less than they are long.
    assert (rows - 1) * step[0] < shape[0] <= rows * step[0] * 1.001
    assert (columns - 1) * step[1] < shape[1] <= columns * step[1] * 1.001


def refused(path, encoder, rgb, seconds=60.0):
    with pytest.raises(EncoderError) as told:
        run(path, encoder, rgb, seconds)
    sentence = str(told.value)
    assert sentence.startswith("It ")
    assert sentence.endswith(".")
    return sentence


def test_a_network_that_does_not_end_is_ended(tmp_path, rgb):
    told = refused(networks.endless(tmp_path / "a.onnx"), POOLED, rgb, seconds=3.0)
    assert told == "It was stopped: it took longer than 3 s."


def test_values_that_are_no_numbers_are_refused(tmp_path, rgb):
    told = refused(networks.not_a_number(tmp_path / "a.onnx"), POOLED, rgb)
    assert "values that are no numbers" in told


def test_more_values_than_are_kept_are_refused(tmp_path, rgb):
    path = networks.huge(tmp_path / "a.onnx", 1 << 19)
    assert "it gives 33554432 values" in refused(path, POOLED, rgb)


@pytest.mark.skipif(sys.platform == "win32", reason="memory is not counted there")
def test_more_memory_than_is_given_is_refused(tmp_path, rgb):
    path = networks.huge(tmp_path / "a.onnx", 1 << 28)
    assert refused(path, POOLED, rgb)


def test_a_grid_that_is_not_the_one_expected_is_refused(tmp_path, rgb):
    path = networks.pooled(tmp_path / "a.onnx")
    assert "8 x 8 cells, not 4 x 8" in refused(path, replace(POOLED, grid=(4, 8)), rgb)


def test_a_file_that_has_changed_is_refused(tmp_path, rgb):
    path = networks.pooled(tmp_path / "a.onnx")
    with (
        RunningNetwork("It", path, "1" * 64) as network,
        pytest.raises(EncoderError, match="its file has changed since it was added"),
    ):
        network.encode(POOLED, fitted(rgb, POOLED))


def _dying(code):
    """Start another process instead: one that dies, as for want of memory."""
    return lambda: subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


@pytest.mark.parametrize(
    "code", ["import os; os.abort()", "import sys; sys.stdin.buffer.read(8)", "pass"]
)
def test_a_process_that_dies_is_a_sentence(tmp_path, rgb, monkeypatch, code):
    monkeypatch.setattr(runner, "_started", _dying(code))
    assert "broke off" in refused(networks.pooled(tmp_path / "a.onnx"), POOLED, rgb)


@pytest.mark.parametrize("reply", ["b'x' * 200", "b'\\x05' + bytes(7) + b'hello'"])
def test_a_process_that_talks_nonsense_is_a_sentence(tmp_path, rgb, monkeypatch, reply):
    code = f"import sys; sys.stdout.buffer.write({reply}); sys.stdout.flush(); sys.stdin.read()"
    monkeypatch.setattr(runner, "_started", _dying(code))
    assert "cannot be used" in refused(networks.pooled(tmp_path / "a.onnx"), POOLED, rgb)


def test_stopping_ends_the_process_at_once(tmp_path, rgb):
    path = networks.endless(tmp_path / "a.onnx")
    network = RunningNetwork("It", path, read_network(path).digest)
    started = threading.Event()
    begin = network._loaded

    def loaded():
        process = begin()
        started.set()
        return process

    network._loaded = loaded
    ended = []

    def work():
        with pytest.raises(EncodingStopped):
            network.encode(POOLED, fitted(rgb, POOLED))
        ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(60)
    process = network._process
    network.stop()
    thread.join(30)
    assert ended
    assert process.poll() is not None
    with pytest.raises(EncodingStopped):
        network.encode(POOLED, fitted(rgb, POOLED))


def test_without_the_runtime_a_sentence_names_the_extra(tmp_path, rgb, monkeypatch):
    monkeypatch.setattr(runner, "has_runtime", lambda: False)
    path = networks.pooled(tmp_path / "a.onnx")
    with (
        RunningNetwork("It", path, "1" * 64) as network,
        pytest.raises(EncoderError, match=r'pip install "segapp\[encoder\]"'),
    ):
        network.encode(POOLED, fitted(rgb, POOLED))


def test_the_process_does_not_load_what_lies_in_the_working_folder(tmp_path, rgb, monkeypatch):
    (tmp_path / "onnxruntime.py").write_text("raise SystemExit('hijacked')")
    monkeypatch.chdir(tmp_path)
    assert run(networks.pooled(tmp_path / "a.onnx"), POOLED, rgb).cells.any()


def test_no_connection_is_opened(tmp_path, rgb, monkeypatch):
    code = (
        "import os, sys; "
        "sys.addaudithook(lambda what, _: what.startswith('socket.') and os._exit(9)); "
        "from segapp.encoders.worker import main; main()"
    )
    monkeypatch.setattr(runner, "_started", _dying(code))
    assert run(networks.pooled(tmp_path / "a.onnx"), POOLED, rgb).cells.any()


def test_the_runtime_is_never_loaded_by_this_process():
    code = (
        "import sys, segapp.encoders.feature_cache, segapp.cli.encoder, segapp.cli.batch; "
        "sys.exit(any(m.startswith(('onnx', 'PySide6')) for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("module", ["segapp.cli.segment", "segapp.cli.batch", "segapp.cli.apply"])
def test_commands_load_nothing_of_encoders_before_one_is_asked_for(module):
    code = (
        f"import sys, {module}; "
        "sys.exit(any(m.startswith('segapp.encoders.') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# What is kept ---------------------------------------------------------------------------------


@pytest.fixture
def encoder(installed, tmp_path):
    path = networks.pooled(tmp_path / "pooled.onnx")
    network = read_network(path)
    added = replace(POOLED, digest=network.digest, n_bytes=network.n_bytes)
    installed.add(added, path)
    return added


def test_what_is_kept_is_what_was_seen(installed, kept, encoder, rgb, monkeypatch):
    with FeatureExtractor(encoder, installed, kept) as extractor:
        first = extractor.features(rgb)
    monkeypatch.setattr(runner, "_started", lambda: pytest.fail("read twice"))
    with FeatureExtractor(encoder, installed, kept) as extractor:
        again = extractor.features(rgb)
    assert np.array_equal(first.cells, again.cells)
    assert (first.step, first.encoder) == (again.step, again.encoder)
    assert len(list(kept.root.iterdir())) == 1


def test_other_pixels_encoders_and_preparations_are_kept_apart(kept, encoder, rgb):
    other = rgb.copy()
    other[0, 0, 0] ^= 1
    even, larger = np.full((32, 32, 3), 7, np.uint8), np.full((64, 64, 3), 7, np.uint8)
    assert np.array_equal(fitted(larger, encoder).pixels, even)  # cells are larger all the same
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
    paths = [kept.path(fitted(picture, by), by) for picture, by in cases]
    assert len(set(paths)) == len(cases)
    named = replace(encoder, name="other")
    assert kept.path(fitted(rgb, named), named) == paths[0]


@pytest.mark.parametrize(
    "damage", ["cut", "flip", "empty", "text", "folder", "pickle", "array", "shape"]
)
def test_damage_is_made_good(installed, kept, encoder, rgb, damage):
    with FeatureExtractor(encoder, installed, kept) as extractor:
        wanted = extractor.features(rgb).cells
        path = kept.path(fitted(rgb, encoder), encoder)
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
        fitted(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8), encoder) for _ in range(6)
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


# Which one ------------------------------------------------------------------------------------


def test_the_only_one_need_not_be_named(encoder, installed, tmp_path):
    assert resolve_encoder(None) == encoder
    assert resolve_encoder("POOLED") == encoder
    path = networks.pooled(tmp_path / "b.onnx", side=8)
    installed.add(replace(encoder, name="b", digest=read_network(path).digest), path)
    with pytest.raises(EncoderError, match="Which encoder is meant"):
        resolve_encoder(None)


def test_a_missing_one_is_told_by_its_digest(home):
    with pytest.raises(MissingEncoderError, match="abababababab… is not there"):
        FeatureExtractor.with_identity("ab" * 32)
    with pytest.raises(EncoderError, match="Which encoder is meant is not said"):
        FeatureExtractor.with_identity("")


def test_one_that_cannot_run_is_told_before_anything_is_done(encoder, monkeypatch):
    monkeypatch.setattr(runner, "has_runtime", lambda: False)
    with pytest.raises(EncoderError, match="needs onnxruntime"):
        resolve_encoder("pooled")


def test_pictures_of_files_are_read_too(installed, kept, encoder, tmp_path, rgb):
    Image.fromarray(rgb).save(tmp_path / "a.png")
    with FeatureExtractor(encoder, installed, kept) as extractor:
        assert extractor.features(load_image(tmp_path / "a.png").rgb).cells.shape == (8, 8, 3)
