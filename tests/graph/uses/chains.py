"""Uses of operators on sequences, optional values and texts: a few nodes each, from tensors to tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.uses.base import f, n, v
from onnx import TensorProto, helper

A, B = f(2, 3), f(2, 3)
TEXT = np.array(["a b", "c", "", "d e f"], object)


def node(op: str, inputs: str, outputs: str, **attrs: Any) -> Any:
    """Node with names separated by spaces."""
    return helper.make_node(op, inputs.split(), outputs.split(), name=outputs, **attrs)


MADE = node("SequenceConstruct", "a b", "s")
PLUS = helper.make_graph(
    [helper.make_node("Add", ["e", "e"], ["r"])],
    "plus",
    [helper.make_tensor_value_info("e", TensorProto.FLOAT, None)],
    [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)],
)

#: nodes, inputs, the tensors that are compared, opset
CHAINS: dict[str, tuple[list[Any], dict[str, np.ndarray], str, int]] = {
    "SequenceAt": ([MADE, node("SequenceAt", "s i", "y")], {"a": A, "b": B, "i": n(-1)}, "y", 11),
    "SequenceInsert": (
        [
            MADE,
            node("SequenceInsert", "s c i", "t"),
            node("SequenceInsert", "t c", "u"),
            node("ConcatFromSequence", "u", "y", axis=0),
        ],
        {"a": A, "b": B, "c": 2 * A, "i": n(1)},
        "y",
        11,
    ),
    "SequenceErase": (
        [
            MADE,
            node("SequenceErase", "s i", "t"),
            node("SequenceErase", "s", "u"),
            node("SequenceAt", "t o", "x"),
            node("SequenceAt", "u o", "y"),
            node("SequenceLength", "t", "z"),
        ],
        {"a": A, "b": B, "i": n(-2), "o": n(0)},
        "x y z",
        11,
    ),
    "SequenceEmpty": (
        [
            node("SequenceEmpty", "", "e"),
            node("SequenceLength", "e", "y"),
            node("SequenceInsert", "e a", "t"),
            node("SequenceLength", "t", "z"),
        ],
        {"a": A},
        "y z",
        11,
    ),
    "ConcatFromSequence": (
        [
            MADE,
            node("ConcatFromSequence", "s", "x", axis=-1),
            node("ConcatFromSequence", "s", "y", axis=-1, new_axis=1),
            node("ConcatFromSequence", "s", "z", axis=0, new_axis=1),
        ],
        {"a": A, "b": B},
        "x y z",
        11,
    ),
    "SplitToSequence": (
        [
            node("SplitToSequence", "a", "s"),
            node("SplitToSequence", "a", "t", keepdims=0, axis=1),
            node("SplitToSequence", "a k", "u", axis=-1),
            node("SplitToSequence", "a l", "w", axis=1),
            *(node("SequenceAt", f"{q} i", f"{q}.y") for q in "stuw"),
            *(node("SequenceLength", q, f"{q}.n") for q in "stuw"),
        ],
        {"a": A, "k": n(2), "l": v(1, 2), "i": n(1)},
        "s.y t.y u.y w.y s.n t.n u.n w.n",
        11,
    ),
    "SequenceMap": (
        [MADE, node("SequenceMap", "s", "t", body=PLUS), node("ConcatFromSequence", "t", "y", axis=0)],
        {"a": A, "b": B},
        "y",
        17,
    ),
    **{
        f"Optional {opset}": (
            [node("Optional", "a", "o"), node("OptionalHasElement", "o", "x"), node("OptionalGetElement", "o", "y")],
            {"a": A},
            "x y",
            opset,
        )
        for opset in (15, 18)
    },
    "StringConcat": ([node("StringConcat", "p q", "y")], {"p": TEXT, "q": TEXT[::-1].copy()}, "y", 20),
    "RegexFullMatch": ([node("RegexFullMatch", "p", "y", pattern="[a-c ]*")], {"p": TEXT}, "y", 20),
    "StringSplit": ([node("StringSplit", "p", "y z")], {"p": TEXT}, "y z", 20),
    "StringNormalizer": (
        [node("StringNormalizer", "p", "y", case_change_action="UPPER", stopwords=["c"], locale="C")],
        {"p": TEXT},
        "y",
        10,
    ),
}
