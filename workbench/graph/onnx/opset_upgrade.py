"""Operators that later opsets replaced, and uses that are better told apart: written as what is meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workbench.graph.graph import Array, Node
from workbench.graph.node_steps import OWN

#: Names that a newer operator has taken over.
REPLACED = {"Scatter": "ScatterElements", "Upsample": "Resize"}


def modern(node: Node) -> list[Node]:
    """The node as newer opsets write it, after what it needs; itself where nothing has changed.

    Scatter became ScatterElements; Upsample, and Resize before opset 11, became a Resize that says how it rounds; so
    does RoiAlign.
    """
    if node.domain:
        return [node]
    if node.op == "Scatter":
        return [replace(node, op="ScatterElements", version=11)]
    if node.op == "RoiAlign" and node.version < 16:
        how = {"coordinate_transformation_mode": "output_half_pixel"}
        return [replace(node, attrs={**node.attrs, **how}, version=16)]
    if node.op == "TfIdfVectorizer" and "pool_int64s" in node.attrs:
        return _grams(node)
    if node.op == "TfIdfVectorizer" and "weights" not in node.attrs:  # all are 1, which the onnx package has to be told
        return [replace(node, attrs={**node.attrs, "weights": (1.0,) * len(_listed(node, "ngram_indexes"))})]
    if node.version < 7 and node.attrs.keys() == {"broadcast"}:  # aligned at the end, which goes without saying since
        return [replace(node, attrs={}, version=7)]
    if node.op == "Dropout" and any(node.inputs[2:]):
        return [replace(node, op="TrainingDropout", domain=OWN)]
    if node.op == "BatchNormalization" and node.version >= 14 and node.attrs.get("training_mode"):
        return [replace(node, op="BatchStatisticsNormalization", domain=OWN)]
    if node.op == "Upsample" or (node.op == "Resize" and node.version < 11):
        return _resize(node)
    return [node]


def _listed(node: Node, name: str) -> Sequence[object]:
    found = node.attrs.get(name, ())
    return found if isinstance(found, tuple) else ()


def _grams(node: Node) -> list[Node]:
    """Counts of known runs: their numbers, where each begins and goes, and the weights, as constants."""
    pool, starts, columns = (_whole(node, n) for n in ("pool_int64s", "ngram_counts", "ngram_indexes"))
    least, most = (int(_number(node, f"{n}_gram_length")) for n in ("min", "max"))
    ends, runs, number = [*starts[1:], len(pool)], list[tuple[int, int, int]](), 0
    for size, (first, last) in enumerate(zip(starts, ends, strict=True), 1):
        for place in range(first, last, size):
            if least <= size <= most:
                runs.append((size, place, columns[number]))
            number += 1
    weights = np.ones(max(columns, default=-1) + 1, np.float32)
    for column, w in zip(columns, _listed(node, "weights"), strict=False):
        weights[column] = float(str(w))
    table: dict[str, Array] = {
        "pool": np.array(pool, np.int64),
        "runs": np.array(runs, np.int64).reshape(-1, 3),
        "weights": weights,
    }
    names = {what: f"{node.name}.{what}" for what in table}
    before = [Node(names[what], "Constant", (), (names[what],), {"value": v}) for what, v in table.items()]
    kept = {k: v for k, v in node.attrs.items() if k in ("max_gram_length", "max_skip_count", "mode")}
    inputs = (*node.inputs, *names.values())
    return [*before, replace(node, op="CountedGrams", domain=OWN, inputs=inputs, attrs=kept)]


def _whole(node: Node, name: str) -> list[int]:
    return [int(str(v)) for v in _listed(node, name)]


def _number(node: Node, name: str) -> int:
    found = node.attrs.get(name, 1)
    return found if isinstance(found, int) else 1


def _resize(node: Node) -> list[Node]:
    attrs = {k: v for k, v in node.attrs.items() if k != "scales"}
    how = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "simple"}
    before = list[Node]()
    first = node.inputs[0] if node.inputs else ""
    inputs: tuple[str, ...] = (first, "", *node.inputs[1:])
    if "scales" in node.attrs:  # an attribute until opset 8
        value = np.asarray(node.attrs["scales"], np.float32)
        name = f"{node.name}.scales"
        before.append(Node(name, "Constant", (), (name,), {"value": value}))
        inputs = (first, "", name)
    return [*before, replace(node, op="Resize", inputs=inputs, attrs={**attrs, **how}, version=13)]
