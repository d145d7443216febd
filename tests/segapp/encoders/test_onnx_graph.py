"""ONNX graphs against the onnx package and the networks as a whole."""

import hashlib
import time
from contextlib import suppress

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from segapp.encoders import onnx_graph
from segapp.encoders.onnx_graph import (
    extract_subgraph,
    min_step_in_cells,
    read_network,
    resize_network,
)
from tests.segapp.encoders import networks

# Inspection --------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [networks.pooled, networks.like_sam, networks.like_dino, networks.endless]
)
def test_inputs_are_those_that_the_runtime_reads(tmp_path, make):
    path = make(tmp_path / "a.onnx")
    found = networks.facts(path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [(port.name, port.is_float) for port in found.inputs] == [
        (port.name, port.type == "tensor(float)") for port in session.get_inputs()
    ]
    for port, known in zip(found.inputs, session.get_inputs(), strict=True):
        lengths = [length if isinstance(length, int) else None for length in known.shape]
        assert list(port.shape) == lengths
    assert found.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.n_bytes == path.stat().st_size


def test_weights_among_the_inputs_are_none(tmp_path):
    path = networks.like_sam(tmp_path / "a.onnx")
    model = onnx.load(path)
    weight = model.graph.initializer[0]
    info = helper.make_tensor_value_info(weight.name, TensorProto.FLOAT, list(weight.dims))
    model.graph.input.append(info)
    onnx.save(model, path)
    assert [port.name for port in networks.facts(path).inputs] == ["x"]


def refused(path):
    with pytest.raises(ValueError, match=r"^its? ") as error:
        networks.facts(path)
    return str(error.value)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n" * 9, b"hello world", b"\x08\x09"])
def test_a_file_that_is_no_network_is_refused(tmp_path, content):
    path = tmp_path / "a.onnx"
    path.write_bytes(content)
    assert refused(path).startswith("it is no ONNX network")


def _foreign(domain="com.example"):
    return helper.make_node("Magic", ["x"], ["y"], domain=domain)


def test_operators_of_others_are_refused(tmp_path):
    opset = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    path = networks.save(
        tmp_path / "a.onnx", [_foreign()], [("x", [1])], [("y", [1])], opset=opset
    )
    assert refused(path) == "it needs operators of 'com.example': wanted those of ONNX alone"


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

    assert networks.facts(made(helper.make_node("Add", ["a", "a"], ["b"]))).inputs
    assert "'evil'" in refused(made(helper.make_node("M", ["a"], ["b"], domain="evil")))


@pytest.mark.parametrize("place", ["weights", "constant", "branch", "sparse", "list"])
def test_weights_in_another_file_are_refused(tmp_path, place):
    tensor = numpy_helper.from_array(np.zeros(3, np.float32), "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../../secrets"
    path = networks.pooled(tmp_path / "a.onnx")
    model = onnx.load(path)
    graph = model.graph
    if place == "weights":
        graph.initializer.append(tensor)
    elif place == "constant":
        graph.node.append(helper.make_node("Constant", [], ["w"], value=tensor))
    elif place == "branch":
        inner = helper.make_graph([], "inner", [], [], [tensor])
        graph.node.append(helper.make_node("If", ["c"], ["w"], then_branch=inner))
    elif place == "sparse":
        graph.sparse_initializer.add().values.CopyFrom(tensor)
    else:
        graph.node.append(helper.make_node("Constant", [], ["w"], any=[tensor]))
    path.write_bytes(model.SerializeToString())
    assert refused(path) == "it keeps its weights in another file: wanted all in the one"


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


def test_too_many_operators_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_graph, "_MAX_NODES", 3)
    nodes = [helper.make_node("Identity", ["x"], [f"y{each}"]) for each in range(4)]
    path = networks.save(tmp_path / "a.onnx", nodes, [("x", [1])], [("y0", [1])])
    assert refused(path) == "it has more than 3 operators"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_damage_is_a_sentence_or_a_network(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    make = data.draw(st.sampled_from([networks.like_dino, networks.endless]))
    path = make(folder / "a.onnx")
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    with suppress(ValueError):  # and nothing else
        networks.facts(path)


@pytest.mark.parametrize("field", [1, 5, 11, 12, 15])
def test_many_empty_messages_end_soon(field):
    """Two bytes of a file become an object of a hundred bytes."""
    empty = bytes([field << 3 | 2, 0]) * (1 << 17)
    graph = b"\x3a" + _varint(len(empty)) + empty
    start = time.process_time()
    with suppress(ValueError):
        read_network(b"\x08\x09\x42\x02\x10\x11" + graph)
    assert time.process_time() - start < 5


def _varint(value):
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*written, value))


# Subgraphs --------------------------------------------------------------------


@pytest.fixture
def picture():
    return np.random.default_rng(4).normal(size=(1, 3, 8, 8)).astype(np.float32)


def pooling(read, given, side=2):
    return helper.make_node(
        "AveragePool", [read], [given], kernel_shape=[side, side], strides=[side, side]
    )


def written(tmp_path, nodes, outputs, weights=()):
    outputs = [(name, None) for name in outputs]
    path = networks.save(tmp_path / "a.onnx", nodes, [("x", [1, 3, 8, 8])], outputs, weights)
    return path.read_bytes()


def test_nodes_before_the_value_stay_and_the_rest_goes(tmp_path, picture):
    nodes = [
        helper.make_node("Constant", [], ["three"], value_float=3.0),
        pooling("x", "small"),
        helper.make_node("Neg", ["x"], ["aside"]),
        helper.make_node("Mul", ["small", "three"], ["inner"]),
        helper.make_node("ReduceMean", ["inner"], ["masks"], keepdims=1),
    ]
    model = written(tmp_path, nodes, ["masks", "aside"])
    short = onnx.load_from_string(extract_subgraph(model, "inner"))
    assert [node.op_type for node in short.graph.node] == ["Constant", "AveragePool", "Mul"]
    assert [port.name for port in short.graph.output] == ["inner"]
    assert [port.name for port in short.graph.input] == ["x"]
    (inner,) = networks.run(extract_subgraph(model, "inner"), picture)
    np.testing.assert_allclose(
        inner, 3 * picture.reshape(1, 3, 4, 2, 4, 2).mean((3, 5)), rtol=1e-5
    )


def test_an_activation_belongs_to_the_value(tmp_path, picture):
    nodes = [
        pooling("x", "inner"),
        *networks.gelu("inner", "active"),
        pooling("active", "next"),
        helper.make_node("Mul", ["next", "half"], ["masks"]),
    ]
    model = written(tmp_path, nodes, ["masks", "active"], networks.GELU)
    (active,) = networks.run(model, picture, ["active"])
    (given,) = networks.run(extract_subgraph(model, "inner"), picture)
    np.testing.assert_allclose(given, active, rtol=1e-6)


def test_a_node_that_joins_other_values_is_no_activation(tmp_path):
    nodes = [
        pooling("x", "inner"),
        helper.make_node("ReduceMean", ["inner"], ["mean"], keepdims=1),
        helper.make_node("Sub", ["inner", "mean"], ["masks"]),
    ]
    model = written(tmp_path, nodes, ["masks"])
    short = onnx.load_from_string(extract_subgraph(model, "inner"))
    assert [node.op_type for node in short.graph.node] == ["AveragePool"]


def test_outer_values_that_a_subgraph_reads_stay(tmp_path, picture):
    def branch(kind, name):
        nodes = [helper.make_node(kind, ["small"], [name])]
        given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)]
        return helper.make_graph(nodes, name, [], given)

    nodes = [
        pooling("x", "small"),
        helper.make_node("Neg", ["small"], ["aside"]),
        helper.make_node(
            "If",
            ["yes"],
            ["inner"],
            then_branch=branch("Identity", "same"),
            else_branch=branch("Neg", "other"),
        ),
    ]
    model = written(tmp_path, nodes, ["inner", "aside"], [("yes", np.array(True))])
    (given,) = networks.run(extract_subgraph(model, "inner"), picture)
    small = picture.reshape(1, 3, 4, 2, 4, 2).mean((3, 5))
    np.testing.assert_allclose(given, small, rtol=1e-5)


def test_a_value_that_is_not_there_leaves_nothing_to_run(tmp_path, picture):
    model = written(tmp_path, [pooling("x", "y")], ["y"])
    with pytest.raises(Exception, match="elsewhere"):
        networks.run(extract_subgraph(model, "elsewhere"), picture)


# Shorter inputs ----------------------------------------------------------------


@pytest.mark.parametrize("size", [(32, 44), (20, 44), (44, 32), (44, 8)])
def test_a_narrower_network_gives_what_the_same_one_for_that_size_would(tmp_path, size):
    model = networks.windowed(tmp_path / "a.onnx").read_bytes()
    assert min_step_in_cells(model) == 3
    picture = np.random.default_rng(1).normal(size=(1, 3, *size)).astype(np.float32)
    cells = picture.reshape(3, size[0] // 4, 4, size[1] // 4, 4).mean(axis=(2, 4))
    wanted = networks.minus_window_mean(cells.transpose(1, 2, 0))
    (found,) = networks.run(resize_network(model, networks.SIDE, size), picture)
    np.testing.assert_allclose(found[0].transpose(1, 2, 0), wanted, atol=1e-5)


def test_windows_that_cannot_be_whole_are_not_run(tmp_path):
    model = networks.windowed(tmp_path / "a.onnx").read_bytes()
    picture = np.zeros((1, 3, 40, 44), np.float32)
    with pytest.raises(Exception, match="Reshape"):
        networks.run(resize_network(model, networks.SIDE, (40, 44)), picture)


def test_numbers_out_of_proportion_and_two_narrow_sides_are_refused(tmp_path):
    model = networks.windowed(tmp_path / "a.onnx").read_bytes()
    with pytest.raises(ValueError, match="whole number"):
        resize_network(model, networks.SIDE, (33, 44))
    with pytest.raises(ValueError, match="a side of 44"):
        resize_network(model, networks.SIDE, (32, 32))
