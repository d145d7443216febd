import csv
import io
import json

import numpy as np
import pandas as pd

from segapp.io.export.tables import insight_csv, insight_json
from segapp.model.classes import ClassInfo
from segapp.model.labelling import Insight

INSIGHT = Insight(
    kernels=("colour, sigma 0.5", "position, sigma 1"),
    kernel_weights=np.array([[0.75, 0.25], [0.1, 0.9]]),
    codewords=np.array([[[1, -1]], [[-1, 1]], [[0, 0]]], dtype=np.int8),
    objective=(9.0, 4.0),
    seconds={"kernels": 0.1},
)
CLASSES = tuple(ClassInfo(name, (0, 0, 0)) for name in ('a "cat", grey', "Hintergrund", "leer"))


def test_the_table_holds_every_number():
    rows = list(csv.reader(io.StringIO(insight_csv(INSIGHT, CLASSES))))
    assert rows == [
        ["part", "name", "index", "value"],
        ["kernel weight", "colour, sigma 0.5", "1", "0.75"],
        ["kernel weight", "colour, sigma 0.5", "2", "0.1"],
        ["kernel weight", "position, sigma 1", "1", "0.25"],
        ["kernel weight", "position, sigma 1", "2", "0.9"],
        ["codeword", 'a "cat", grey', "1", "+-"],
        ["codeword", "Hintergrund", "1", "-+"],
        ["objective", "", "1", "9.0"],
        ["objective", "", "2", "4.0"],
        ["seconds", "kernels", "1", "0.1"],
    ]


def test_others_read_the_table():
    table = pd.read_csv(io.StringIO(insight_csv(INSIGHT, CLASSES)))
    weights = table[table.part == "kernel weight"].value.astype(float)
    assert weights.sum() == INSIGHT.kernel_weights.sum()


def test_json_gives_back_all_arrays():
    content = json.loads(insight_json(INSIGHT, CLASSES))
    np.testing.assert_array_equal(content["kernel_weights"], INSIGHT.kernel_weights)
    np.testing.assert_array_equal(content["codewords"], INSIGHT.codewords)
    assert content["classes"] == [info.name for info in CLASSES]
    assert content["objective"] == [9.0, 4.0]
    assert content["seconds"] == {"kernels": 0.1}
