"""Networks cut short, against the whole ones."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from segapp.encoders.onnx_surgery import extract_subgraph
from tests.segapp.encoders import networks


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


def test_what_leads_to_the_value_stays_and_the_rest_goes(tmp_path, picture):
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


def test_what_joins_other_values_is_no_activation(tmp_path):
    nodes = [
        pooling("x", "inner"),
        helper.make_node("ReduceMean", ["inner"], ["mean"], keepdims=1),
        helper.make_node("Sub", ["inner", "mean"], ["masks"]),
    ]
    model = written(tmp_path, nodes, ["masks"])
    short = onnx.load_from_string(extract_subgraph(model, "inner"))
    assert [node.op_type for node in short.graph.node] == ["AveragePool"]


def test_what_graphs_within_a_node_read_from_around_it_stays(tmp_path, picture):
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
