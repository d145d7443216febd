"""What a file says of itself is what the onnx package reads in it; the rest is refused."""

import hashlib
from contextlib import suppress

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from segapp.encoders import onnx_file
from segapp.encoders.onnx_file import EncoderError, message_fields, read_network
from tests.segapp.encoders import networks


@pytest.mark.parametrize(
    "make", [networks.pooled, networks.like_sam, networks.like_dino, networks.endless]
)
def test_inputs_and_outputs_are_those_that_onnx_reads(tmp_path, make):
    path = make(tmp_path / "a.onnx")
    found = read_network(path)
    model = onnx.load(path)
    weights = {tensor.name for tensor in model.graph.initializer}
    for ports, infos in (
        (found.inputs, [each for each in model.graph.input if each.name not in weights]),
        (found.outputs, model.graph.output),
    ):
        assert [port.name for port in ports] == [info.name for info in infos]
        for port, info in zip(ports, infos, strict=True):
            tensor = info.type.tensor_type
            assert port.is_float == (tensor.elem_type == TensorProto.FLOAT)
            lengths = [dim.dim_value or None for dim in tensor.shape.dim]
            assert list(port.shape or ()) == lengths
    assert found.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.n_bytes == path.stat().st_size


def test_weights_among_the_inputs_are_none(tmp_path):
    path = networks.like_sam(tmp_path / "a.onnx")
    model = onnx.load(path)
    weight = model.graph.initializer[0]
    info = helper.make_tensor_value_info(weight.name, TensorProto.FLOAT, list(weight.dims))
    model.graph.input.append(info)
    onnx.save(model, path)
    assert [port.name for port in read_network(path).inputs] == ["x"]


def refused(path):
    with pytest.raises(EncoderError) as told:
        read_network(path)
    sentence = str(told.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n" * 9, b"hello world", b"\x08\x09"])
def test_what_is_no_network_is_refused(tmp_path, content):
    path = tmp_path / "a.onnx"
    path.write_bytes(content)
    assert refused(path).startswith("a.onnx is no ONNX network")


def test_a_file_that_is_not_there(tmp_path):
    assert "cannot be read" in refused(tmp_path / "a.onnx")


def test_a_file_that_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_file, "MAX_FILE_BYTES", 1 << 20)
    path = tmp_path / "a.onnx"
    path.write_bytes(bytes(3 << 20))
    assert refused(path) == "a.onnx has 3 MB: wanted at most 1 MB."


def _foreign(domain="com.example"):
    return helper.make_node("Magic", ["x"], ["y"], domain=domain)


def test_operators_of_others_are_refused(tmp_path):
    opset = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    path = networks.save(
        tmp_path / "a.onnx", [_foreign()], [("x", [1])], [("y", [1])], opset=opset
    )
    assert refused(path) == (
        "a.onnx needs operators of 'com.example': wanted those of ONNX alone."
    )


def test_operators_of_others_within_a_branch_are_refused(tmp_path):
    inner = helper.make_graph(
        [_foreign("evil")], "inner", [], [helper.make_tensor_value_info("y", 1, [1])]
    )
    nodes = [helper.make_node("If", ["c"], ["z"], then_branch=inner, else_branch=inner)]
    weights = [("c", np.array(True))]
    path = networks.save(tmp_path / "a.onnx", nodes, [("x", [1])], [("z", [1])], weights)
    assert "'evil'" in refused(path)


def test_functions_that_the_file_defines_are_looked_through(tmp_path):
    opset = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]

    def made(node):
        function = helper.make_function("own", "Twice", ["a"], ["b"], [node], opset)
        nodes = [helper.make_node("Twice", ["x"], ["y"], domain="own")]
        return networks.save(
            tmp_path / "a.onnx",
            nodes,
            [("x", [1])],
            [("y", [1])],
            opset=opset,
            functions=[function],
        )

    assert read_network(made(helper.make_node("Add", ["a", "a"], ["b"]))).inputs
    assert "'evil'" in refused(made(helper.make_node("M", ["a"], ["b"], domain="evil")))


@pytest.mark.parametrize("place", ["weights", "constant"])
def test_weights_in_another_file_are_refused(tmp_path, place):
    tensor = numpy_helper.from_array(np.zeros(3, np.float32), "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../../secrets"
    path = networks.pooled(tmp_path / "a.onnx")
    model = onnx.load(path)
    if place == "weights":
        model.graph.initializer.append(tensor)
    else:
        model.graph.node.append(helper.make_node("Constant", [], ["w"], value=tensor))
    path.write_bytes(model.SerializeToString())
    assert refused(path) == "The network keeps its weights in another file: wanted all in the one."


def test_graphs_in_graphs_in_graphs_are_refused(tmp_path):
    graph = helper.make_graph([], "g", [], [])
    for _ in range(30):
        node = helper.make_node("If", ["c"], ["z"], then_branch=graph, else_branch=graph)
        del node.attribute[1]
        graph = helper.make_graph([node], "g", [], [])
    model = helper.make_model(graph)
    path = tmp_path / "a.onnx"
    path.write_bytes(model.SerializeToString())
    assert "nested deeper" in refused(path)


def test_more_operators_than_anybody_needs_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_file, "_MOST_NODES", 3)
    nodes = [helper.make_node("Identity", ["x"], [f"y{each}"]) for each in range(4)]
    path = networks.save(tmp_path / "a.onnx", nodes, [("x", [1])], [("y0", [1])])
    assert refused(path) == "The network has more than 3 operators."


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_damage_is_a_sentence_or_a_network(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    path = networks.like_dino(folder / "a.onnx")
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    with suppress(EncoderError):  # and nothing else
        read_network(path)


@given(st.binary(max_size=200))
def test_fields_of_any_bytes_end(content):
    try:
        for number, value in message_fields(memoryview(content)):
            assert number > 0 or isinstance(value, int)
    except ValueError:
        pass
