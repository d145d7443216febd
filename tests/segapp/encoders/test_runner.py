"""Networks in the worker process against closed forms, and its isolation."""

import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from segapp.encoders import ipc, runner
from segapp.encoders.encoder import EncoderError, Fit, HeadFile, Layout
from segapp.encoders.ipc import EncodingStopped, WorkerProcess
from segapp.encoders.preprocessing import cell_grids, fit_picture, input_size
from segapp.encoders.runner import RunningNetwork, inspect_network
from segapp.encoders.signatures import NetworkOptions, probe_network
from tests.segapp.encoders import networks
from tests.segapp.encoders.networks import POOLED


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def rgb(rng):
    return rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def worker():
    """Return a process for all tests that do not need one of their own."""
    process = WorkerProcess(60.0)
    yield process
    process.close()


def run(path, encoder, rgb, worker=None):
    digest = networks.facts(path).digest
    network = RunningNetwork("It", path, digest, worker=worker)
    try:
        return network.encode(replace(encoder, digest=digest), fit_picture(rgb, encoder))
    finally:
        if worker is None:
            network.close()


def test_cells_are_the_output_for_the_normalised_picture(tmp_path, rgb, worker):
    encoded = run(networks.pooled(tmp_path / "a.onnx"), POOLED, rgb, worker)
    wanted = (rgb.reshape(8, 4, 8, 4, 3).mean(axis=(1, 3)) - POOLED.mean) / POOLED.std
    np.testing.assert_allclose(encoded.cells, wanted, rtol=2e-3, atol=2e-3)
    assert encoded.step == (4.0, 4.0)
    assert encoded.cells.dtype == np.float16


def test_the_same_picture_gives_the_same_bits(tmp_path, rgb):
    path = networks.pooled(tmp_path / "a.onnx")
    assert np.array_equal(run(path, POOLED, rgb).cells, run(path, POOLED, rgb).cells)


def test_a_padded_picture_keeps_its_proportions(tmp_path, worker):
    rgb = np.full((50, 100, 3), 100, np.uint8)
    encoded = run(networks.pooled(tmp_path / "a.onnx"), POOLED, rgb, worker)
    assert encoded.cells.shape == (4, 8, 3)  # the lower half is filled with nothing
    assert encoded.step == (12.5, 12.5)
    wanted = np.broadcast_to((100 - np.array(POOLED.mean)) / POOLED.std, encoded.cells.shape)
    np.testing.assert_allclose(encoded.cells, wanted, rtol=2e-3)


def test_a_stretched_picture_fills_the_whole_grid(tmp_path, worker):
    rgb = np.full((50, 100, 3), 100, np.uint8)
    encoded = run(networks.pooled(tmp_path / "a.onnx"), replace(POOLED, fit=Fit.STRETCH), rgb)
    assert encoded.cells.shape == (8, 8, 3)
    assert encoded.step == (50 / 8, 100 / 8)


def test_tokens_come_row_by_row_after_those_that_are_none(tmp_path, rgb, worker):
    path = networks.like_dino(tmp_path / "a.onnx", size=32, patch=8, extra=1)
    encoder = replace(
        POOLED, layout=Layout.TOKENS, skipped=1, grid=(4, 4), channels=5, fit=Fit.STRETCH
    )
    encoded = run(path, encoder, rgb, worker)
    weights = np.random.default_rng(1).standard_normal((5, 3, 8, 8)).astype(np.float32)
    ready = (rgb - np.array(POOLED.mean)) / POOLED.std
    blocks = ready.reshape(4, 8, 4, 8, 3)
    wanted = np.einsum("aibjc,kcij->abk", blocks, weights)
    np.testing.assert_allclose(encoded.cells, wanted, rtol=5e-3, atol=0.5)


def refused(path, encoder, rgb, worker=None):
    with pytest.raises(EncoderError) as error:
        run(path, encoder, rgb, worker)
    sentence = str(error.value)
    assert sentence.startswith("It ")
    assert sentence.endswith(".")
    return sentence


def test_a_network_that_does_not_end_is_ended(tmp_path, rgb):
    message = refused(networks.endless(tmp_path / "a.onnx"), POOLED, rgb, WorkerProcess(3.0))
    assert message == "It was stopped: it took longer than 3 s."


def test_values_that_are_no_numbers_are_refused(tmp_path, rgb, worker):
    message = refused(networks.not_a_number(tmp_path / "a.onnx"), POOLED, rgb, worker)
    assert "values that are no numbers" in message


def test_more_values_than_are_kept_are_refused(tmp_path, rgb, worker):
    path = networks.huge(tmp_path / "a.onnx", 1 << 19)
    assert "it gives 33554432 values" in refused(path, POOLED, rgb, worker)


@pytest.mark.skipif(sys.platform == "win32", reason="memory is not counted there")
def test_more_memory_than_is_given_is_refused(tmp_path, rgb, worker):
    path = networks.huge(tmp_path / "a.onnx", 1 << 28)
    assert refused(path, POOLED, rgb, worker)


def test_a_grid_that_is_not_the_one_expected_is_refused(tmp_path, rgb, worker):
    path = networks.pooled(tmp_path / "a.onnx")
    assert "8 x 8 cells, not 4 x 8" in refused(path, replace(POOLED, grid=(4, 8)), rgb)


def test_a_file_that_has_changed_is_refused(tmp_path, rgb):
    path = networks.pooled(tmp_path / "a.onnx")
    with (
        RunningNetwork("It", path, "1" * 64) as network,
        pytest.raises(EncoderError, match="its file has changed since it was added"),
    ):
        network.encode(POOLED, fit_picture(rgb, POOLED))


def _dying(code):
    """Start another process instead: one that dies, as for want of memory."""
    return lambda: subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


@pytest.mark.parametrize(
    "code", ["import os; os.abort()", "import sys; sys.stdin.buffer.read(8)", "pass"]
)
def test_a_process_that_dies_is_a_sentence(tmp_path, rgb, monkeypatch, code):
    monkeypatch.setattr(ipc, "start_worker", _dying(code))
    assert "broke off" in refused(networks.pooled(tmp_path / "a.onnx"), POOLED, rgb)


@pytest.mark.parametrize("reply", ["b'x' * 200", "b'\\x05' + bytes(7) + b'hello'"])
def test_a_process_that_talks_nonsense_is_a_sentence(tmp_path, rgb, monkeypatch, reply):
    code = f"import sys; sys.stdout.buffer.write({reply}); sys.stdout.flush(); sys.stdin.read()"
    monkeypatch.setattr(ipc, "start_worker", _dying(code))
    assert "cannot be used" in refused(networks.pooled(tmp_path / "a.onnx"), POOLED, rgb)


def test_stopping_ends_the_process_at_once(tmp_path, rgb):
    path = networks.endless(tmp_path / "a.onnx")
    network = RunningNetwork("It", path, networks.facts(path).digest)
    started = threading.Event()
    exchange = network.worker._exchange

    def exchanged(process, name, request, *content):
        if request["do"] == "encode":  # the network is loaded
            started.set()
        return exchange(process, name, request, *content)

    network.worker._exchange = exchanged
    ended = []

    def work():
        with pytest.raises(EncodingStopped):
            network.encode(POOLED, fit_picture(rgb, POOLED))
        ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(60)
    process = network.worker.process
    network.stop()
    thread.join(30)
    assert ended
    assert process.poll() is not None
    with pytest.raises(EncodingStopped):
        network.encode(POOLED, fit_picture(rgb, POOLED))


def test_without_the_runtime_a_sentence_names_the_extra(tmp_path, rgb, monkeypatch):
    monkeypatch.setattr(runner, "has_runtime", lambda: False)
    path = networks.pooled(tmp_path / "a.onnx")
    with (
        RunningNetwork("It", path, "1" * 64) as network,
        pytest.raises(EncoderError, match=r'pip install "segapp\[encoder\]"'),
    ):
        network.encode(POOLED, fit_picture(rgb, POOLED))


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
    monkeypatch.setattr(ipc, "start_worker", _dying(code))
    assert run(networks.pooled(tmp_path / "a.onnx"), POOLED, rgb).cells.any()


def test_commands_load_encoders_late_and_their_libraries_never():
    code = (
        "import sys, segapp.cli.segment, segapp.cli.batch, segapp.cli.apply; "
        "assert not any(m.startswith('segapp.encoders.') for m in sys.modules); "
        "import segapp.encoders.feature_cache, segapp.encoders.signatures, segapp.cli.encoder; "
        "assert not any(m.startswith(('onnx', 'PySide6')) for m in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Inspection --------------------------------------------------------------------


def not_inspected(worker, path):
    with pytest.raises(EncoderError) as error:
        inspect_network(worker, path)
    return str(error.value)


def test_facts_of_a_file_come_from_the_process(tmp_path, worker):
    path = networks.like_dino(tmp_path / "a.onnx")
    assert inspect_network(worker, path) == networks.facts(path)
    assert inspect_network(worker, path).inputs[0].shape == (1, 3, None, None)


def test_a_file_that_is_not_there_or_not_a_network_is_refused(tmp_path, worker):
    path = tmp_path / "a.onnx"
    assert not_inspected(worker, path).startswith("a.onnx cannot be read: ")
    path.write_bytes(b"hello world")
    message = not_inspected(worker, path)
    assert message.startswith("a.onnx cannot be used: it is no ONNX network")
    assert message.endswith(".")
    assert "\n" not in message


def test_a_file_that_is_too_large_is_refused(tmp_path, worker, monkeypatch):
    monkeypatch.setattr(runner, "MAX_FILE_BYTES", 1 << 20)
    path = tmp_path / "a.onnx"
    path.write_bytes(bytes(3 << 20))
    assert not_inspected(worker, path) == "a.onnx has 3 MB: wanted at most 1 MB."


def test_a_file_of_more_inputs_than_a_reply_holds_is_refused(tmp_path, worker):
    inputs = [(f"x{index}", [1]) for index in range(10_000)]
    path = networks.save(tmp_path / "a.onnx", [], inputs, [])
    assert not_inspected(worker, path).startswith("a.onnx cannot be used: wanted at most 65536")


@pytest.mark.slow
def test_a_hostile_file_costs_the_process_its_time_and_memory_alone(tmp_path):
    """Half a gigabyte of empty tensors would be objects of more than the memory limit."""
    path = tmp_path / "a.onnx"
    empty = b"\x2a\x00" * (1 << 28)
    head = b"\x08\x09\x42\x02\x10\x11\x3a"
    with path.open("wb") as file:
        file.write(head + b"\x80\x80\x80\x80\x02")
        file.write(empty)
    worker = WorkerProcess(10.0)
    assert not_inspected(worker, path).startswith("a.onnx ")
    assert worker.process is None


# Shorter inputs ----------------------------------------------------------------


OPTIONS = NetworkOptions(mean=(100.0, 100.0, 100.0), std=(50.0, 50.0, 50.0), fit=Fit.PAD)


def added(path, options=OPTIONS):
    return probe_network("it", path, None, options)


@pytest.fixture(scope="module")
def windowed(tmp_path_factory):
    path = networks.windowed(tmp_path_factory.mktemp("windowed") / "a.onnx")
    return path, added(path)


@pytest.mark.parametrize("shape", [(30, 44), (33, 44), (44, 20), (88, 10), (44, 44)])
def test_a_picture_is_read_as_far_as_it_goes(windowed, worker, shape):
    path, encoder = windowed
    assert encoder.steps == (12, 12)
    rgb = np.random.default_rng(2).integers(0, 256, (*shape, 3), dtype=np.uint8)
    found = run(path, encoder, rgb, worker)
    ready = np.zeros((*input_size(shape, encoder), 3))
    pixels = fit_picture(rgb, encoder).pixels
    ready[: pixels.shape[0], : pixels.shape[1]] = (pixels - 100.0) / 50
    rows, columns = ready.shape[0] // 4, ready.shape[1] // 4
    cells = networks.minus_window_mean(ready.reshape(rows, 4, columns, 4, 3).mean(axis=(1, 3)))
    (part,) = cell_grids(shape, encoder)
    assert found.cells.shape == part.shape
    np.testing.assert_allclose(found.cells, cells[: part.shape[0], : part.shape[1]], atol=5e-3)


@pytest.mark.parametrize("network", [networks.positioned, networks.scrambled])
def test_a_network_with_other_features_of_narrow_inputs_reads_squares(tmp_path, worker, network):
    path = network(tmp_path / "a.onnx")
    encoder = added(path)
    assert encoder.steps == (0, 0)
    assert run(path, encoder, np.zeros((16, 32, 3), np.uint8), worker).cells.shape == (4, 8, 3)


def test_a_network_that_takes_too_long_to_try_reads_squares(tmp_path, monkeypatch):
    def too_long(*_):
        raise EncoderError("It was stopped: it took longer than 120 s.")

    monkeypatch.setattr(RunningNetwork, "input_steps", too_long)
    assert added(networks.pooled(tmp_path / "a.onnx")).steps == (0, 0)


@pytest.mark.slow
def test_pictures_of_many_shapes_are_read_one_after_the_other(windowed):
    path, encoder = windowed
    rng = np.random.default_rng(7)
    pictures = [
        fit_picture(rng.integers(0, 256, (*shape, 3), dtype=np.uint8), encoder)
        for shape in ((8, 44), (44, 8), (20, 44), (44, 20), (30, 44), (44, 30), (8, 44))
    ]
    with RunningNetwork("It", path, encoder.digest) as running:
        together = [running.encode(encoder, picture).cells for picture in pictures]
    for picture, cells in zip(pictures, together, strict=True):
        with RunningNetwork("It", path, encoder.digest) as running:
            assert np.array_equal(running.encode(encoder, picture).cells, cells)


def test_without_windows_a_cell_is_a_step(tmp_path):
    encoder = added(networks.pooled(tmp_path / "a.onnx"))
    assert encoder.steps == (4, 4)
    assert input_size((17, 32), encoder) == (20, 32)


def test_a_stretched_input_is_never_narrow(tmp_path):
    path = networks.pooled(tmp_path / "a.onnx")
    assert added(path, replace(OPTIONS, fit=Fit.STRETCH)).steps == (0, 0)


def test_tokens_are_read_as_far_as_the_picture_goes(tmp_path, worker):
    path = networks.like_dino(tmp_path / "a.onnx", size=32, patch=8, extra=1)
    encoder = added(path, replace(OPTIONS, layout=Layout.TOKENS))
    assert encoder.steps == (8, 8)
    rgb = np.random.default_rng(5).integers(0, 256, (16, 32, 3), dtype=np.uint8)
    narrow = run(path, encoder, rgb, worker)
    whole = run(path, replace(encoder, steps=(0, 0)), rgb, worker)
    assert narrow.cells.shape == (2, 4, 5)
    np.testing.assert_allclose(narrow.cells, whole.cells, rtol=1e-2)


def test_a_head_goes_on_from_a_square(tmp_path, worker):
    path = networks.pooled(tmp_path / "a.onnx")
    head = networks.like_sam_decoder(tmp_path / "b.onnx")
    encoder = probe_network("it", path, head, OPTIONS)
    assert encoder.steps == (4, 4)
    rgb = np.random.default_rng(6).integers(0, 256, (20, 32, 3), dtype=np.uint8)
    found = []
    for each in (encoder, replace(encoder, steps=(0, 0))):
        file = HeadFile(head, each.head.digest, each.head.output)
        running = RunningNetwork("It", path, each.digest, file, worker=worker)
        found.append(running.encode(each, fit_picture(rgb, each)))
    narrow, whole = found
    assert np.array_equal(narrow.cells, whole.cells)
    assert np.array_equal(narrow.fine.cells, whole.fine.cells)  # here a cell knows no other
