"""Encoders are installed whole or not at all, under names that lead nowhere else."""

import json
from dataclasses import replace

import pytest

from segapp.encoders.encoder import EncoderError
from segapp.encoders.registry import EncoderRegistry
from tests.segapp.encoders import networks
from tests.segapp.encoders.networks import POOLED


@pytest.fixture
def network(tmp_path):
    return networks.pooled(tmp_path / "pooled.onnx")


@pytest.fixture
def encoder(network):
    found = networks.facts(network)
    return replace(POOLED, digest=found.digest, n_bytes=found.n_bytes)


def test_an_added_encoder_is_listed_found_and_removed(installed, encoder, network):
    assert installed.encoders() == []
    installed.add(encoder, network, "free")
    assert EncoderRegistry(installed.root).encoders() == [encoder]
    assert installed.get("Pooled") == encoder
    assert installed.find(encoder.digest) == encoder
    assert installed.find("1" * 64) is None
    assert installed.network_path(encoder).read_bytes() == network.read_bytes()
    assert installed.licence(encoder) == "free"
    installed.remove("pooled")
    assert installed.names() == []
    assert not list(installed.root.iterdir())


def test_the_same_name_or_network_is_reported(installed, encoder, network):
    installed.add(encoder, network)
    with pytest.raises(EncoderError, match="There is already an encoder POOLED"):
        installed.add(replace(encoder, name="POOLED", digest="1" * 64), network)
    with pytest.raises(EncoderError, match="installed as pooled"):
        installed.add(replace(encoder, name="other"), network)


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "", "a b", "x" * 65, "dot.", "ö"])
def test_names_that_are_no_folders_are_refused(installed, encoder, name):
    with pytest.raises(EncoderError, match="--name: wanted up to 64"):
        installed.check_new(name, encoder.digest)


@pytest.mark.parametrize("name", ["../secrets", "..", "/etc"])
def test_no_name_leads_out_of_the_folder(installed, tmp_path, name):
    secret = tmp_path / "home" / "data" / "segapp" / "secrets"
    secret.mkdir(parents=True)
    with pytest.raises(EncoderError, match="There is no encoder"):
        installed.remove(name)
    assert secret.is_dir()


def test_a_copy_that_fails_leaves_nothing(installed, encoder, network):
    with pytest.raises(OSError, match=r"."):
        installed.add(encoder, network.with_name("nothing.onnx"))
    assert list(installed.root.iterdir()) == []


@pytest.mark.parametrize("damage", ["facts", "network", "json", "values"])
def test_a_damaged_encoder_is_reported_and_can_be_removed(installed, encoder, network, damage):
    installed.add(encoder, network)
    folder = installed.root / "pooled"
    if damage == "facts":
        (folder / "encoder.json").unlink()
    elif damage == "network":
        (folder / "network.onnx").unlink()
    elif damage == "json":
        (folder / "encoder.json").write_text("{")
    else:
        facts = json.loads((folder / "encoder.json").read_text())
        (folder / "encoder.json").write_text(json.dumps(facts | {"std": [0, 0, 0]}))
    assert installed.encoders() == []
    assert installed.names() == ["pooled"]
    with pytest.raises(EncoderError, match=r"The encoder pooled is damaged \(.*\): remove it"):
        installed.get("pooled")
    installed.remove("pooled")
    assert installed.names() == []
