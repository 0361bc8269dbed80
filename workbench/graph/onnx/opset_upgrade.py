"""Operators that later opsets replaced: written as what replaced them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workbench.graph.graph import Node

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
    if node.op == "TfIdfVectorizer" and "weights" not in node.attrs:  # all are 1, which the onnx package has to be told
        return [replace(node, attrs={**node.attrs, "weights": (1.0,) * len(_listed(node, "ngram_indexes"))})]
    if node.version < 7 and node.attrs.keys() == {"broadcast"}:  # aligned at the end, which goes without saying since
        return [replace(node, attrs={}, version=7)]
    if node.op == "Upsample" or (node.op == "Resize" and node.version < 11):
        return _resize(node)
    return [node]


def _listed(node: Node, name: str) -> Sequence[object]:
    found = node.attrs.get(name, ())
    return found if isinstance(found, tuple) else ()


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
