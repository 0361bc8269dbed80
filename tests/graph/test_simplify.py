"""Every rule of `simplify` on the smallest network where it applies, and on those where it must not."""

from __future__ import annotations

import numpy as np
import pytest
from graph.checks import kept
from graph.small import net, weights

from workbench.graph import Graph, Node, TensorType, explain
from workbench.graph.passes.rules.rewriting import apply_rules
from workbench.graph.passes.simplify import RULES

F = np.float32
MASK = {"mask": np.ones((4, 1, 1), bool)}


def chain(*steps, constants=None, shape=(1, 4, 6, 6)) -> Graph:
    """Nodes one after the other from x to y; a step is (operator, other inputs, attributes, opset)."""
    nodes, at = [], "x"
    for k, (op, *rest) in enumerate(steps):
        others, attrs, version = (*rest, *((), {}, 18)[len(rest) :])
        out = "y" if k == len(steps) - 1 else f"t{k}"
        inputs = tuple(at if i == "@" else i for i in others) if "@" in others else (at, *others)
        nodes.append(Node(f"n{k}", op, inputs, (out,), attrs, "", version))
        at = out
    return net(nodes, constants, shape)


def const(**values) -> dict[str, np.ndarray]:
    return {name: np.asarray(v, F if isinstance(v, float) else None) for name, v in values.items()}


def written_out(square="Pow", *after, axis=2, eps=0.01, swap=False) -> Graph:
    """A normalisation of rows as models before opset 17 write it."""
    mean = {"axes": (axis,), "keepdims": 1}
    nodes = [
        Node("m", "ReduceMean", ("x",), ("m",), mean, "", 13),
        Node("c", "Sub", ("m", "x") if swap else ("x", "m"), ("c",)),
        Node("q", square, ("c", "two" if square == "Pow" else "c"), ("q",)),
        Node("v", "ReduceMean", ("q",), ("v",), mean, "", 13),
        Node("e", "Add", ("v", "eps"), ("e",)),
        Node("s", "Sqrt", ("e",), ("s",)),
        Node("d", "Div", ("c", "s"), ("d" if after else "y",)),
    ]
    for k, (op, name) in enumerate(after):
        nodes.append(Node(f"a{k}", op, ("d" if k == 0 else "f", name), ("y" if k == len(after) - 1 else "f",)))
    constants = {"two": np.array(2, F), "eps": np.array([eps], F), "k": weights(1, 8), "h": weights(8, seed=1)}
    return net(nodes, constants, (2, 3, 8))


def by_mean_square(inverse="Reciprocal", *scale) -> Graph:
    """A normalisation of rows by their mean square, as models before opset 23 write it."""
    invert = [Node("i", inverse, ("s",) if inverse == "Reciprocal" else ("one", "s"), ("i",))]
    last = Node("d", "Mul", ("i", "x"), ("d" if scale else "y",))
    nodes = [
        Node("q", "Mul", ("x", "x"), ("q",)),
        Node("v", "ReduceMean", ("q",), ("v",), {"axes": (2,), "keepdims": 1}, "", 13),
        Node("e", "Add", ("v", "eps"), ("e",)),
        Node("s", "Sqrt", ("e",), ("s",)),
        *([*invert, last] if inverse else [Node("d", "Div", ("x", "s"), last.outputs)]),
        *(Node("k", op, ("d", "k"), ("y",)) for op in scale),
    ]
    constants = {"one": np.ones(1, F), "eps": np.array([0.01], F), "k": weights(8)}
    return net(nodes, constants, (2, 3, 8))


#: rule -> network, and the operators that remain (without the Relu that keeps outputs from being inputs)
APPLIES = {
    "neutral_element": [
        (chain(("Relu",), ("Mul", ("c",)), constants=const(c=np.ones((4, 1, 1), F))), ["Relu"]),
        (chain(("Relu",), ("Mul", ("c", "@")), ("Div", ("c",)), ("Pow", ("c",)), constants=const(c=1.0)), ["Relu"]),
        (chain(("Relu",), ("Add", ("c",)), ("Sub", ("c",)), ("Add", ("c", "@")), constants=const(c=0.0)), ["Relu"]),
        (
            chain(("Greater", ("c",)), ("And", ("mask",)), ("Not",), constants={**const(c=0.0), **MASK}),
            ["Greater", "Not"],
        ),
        (
            chain(("Less", ("c",)), ("Or", ("f", "@")), ("Xor", ("f",)), constants=const(c=0.0, f=np.array(False))),
            ["Less"],
        ),
    ],
    "one_branch": [
        (
            chain(("Relu",), ("Where", ("t", "@", "c")), constants=const(t=np.array(True), c=2.0)),
            ["Relu"],
        ),
        (
            net(
                [
                    Node("r", "Relu", ("x",), ("r",)),
                    Node("g", "Greater", ("r", "z"), ("g",)),
                    Node("w", "Where", ("g", "r", "r"), ("y",)),
                ],
                const(z=0.0),
            ),
            ["Relu"],
        ),
    ],
    "square": [(chain(("Pow", ("c",)), constants=const(c=2.0)), ["Mul"])],
    "cube": [(chain(("Pow", ("c",)), constants=const(c=3.0)), ["Mul", "Mul"])],
    "reciprocal_factor": [
        (chain(("Div", ("c",)), constants=const(c=np.array([[[2.0]], [[-8.0]], [[0.25]], [[1.0]]], F))), ["Mul"])
    ],
    "mul_chain": [
        (chain(("Mul", ("c",)), ("Mul", ("d",)), constants=const(c=1.7, d=np.full((4, 1, 1), 0.3, F))), ["Mul"])
    ],
    "add_negative": [
        (chain(("Neg",), ("Add", ("x",))), ["Sub"]),
        (chain(("Neg",), ("Add", ("x", "@"))), ["Sub"]),
        (
            net(
                [
                    Node("r", "Relu", ("x",), ("r",)),
                    Node("n", "Neg", ("x",), ("n",)),
                    Node("s", "Sub", ("r", "n"), ("y",)),
                ]
            ),
            ["Relu", "Add"],
        ),
    ],
    "minus_one": [
        (chain(("Mul", ("c", "@")), ("Sigmoid",), constants=const(c=-1.0)), ["Neg", "Sigmoid"]),
        (chain(("Div", ("c",)), constants=const(c=-1.0)), ["Neg"]),
    ],
    "twice_is_nothing": [
        (chain(("Relu",), ("Neg",), ("Neg",)), ["Relu"]),
        (chain(("Greater", ("c",)), ("Not",), ("Not",), constants=const(c=0.0)), ["Greater"]),
    ],
    "twice_is_once": [(chain(("Floor",), ("Floor",)), ["Floor"]), (chain(("Abs",), ("Abs",), ("Abs",)), ["Abs"])],
    "never_negative": [(chain(("Sigmoid",), ("Relu",), ("Abs",)), ["Sigmoid"])],
    "joined_limits": [
        (chain(("Relu",), ("Min", ("c",)), constants=const(c=0.5)), ["Clip"]),
        (chain(("Clip", (), {"min": -0.5, "max": 0.7}, 6), ("Relu",)), ["Clip"]),
        (chain(("Clip", ("a", "b")), ("Clip", ("c", "d")), constants=const(a=-1.0, b=-0.5, c=0.25, d=0.5)), ["Clip"]),
        (chain(("Max", ("a",)), ("Min", ("b",)), constants=const(a=0.5, b=0.2)), ["Clip"]),
    ],
    "limits_in_one_way": [
        (chain(("Max", ("c", "@")), constants=const(c=0.0)), ["Relu"]),
        (chain(("Clip", ("c", "d")), constants=const(c=0.0, d=np.inf)), ["Relu"]),
        (chain(("Sigmoid",), ("Clip", ("c", "d")), constants=const(c=-np.inf, d=np.inf)), ["Sigmoid"]),
    ],
    "double_cast": [
        (chain(("Relu",), ("Cast", (), {"to": 11}), ("Cast", (), {"to": 1})), ["Relu"]),
        (
            chain(("Greater", ("c",)), ("Cast", (), {"to": 6}), ("Cast", (), {"to": 1}), constants=const(c=0.0)),
            ["Greater", "Cast"],
        ),
    ],
    "expand_before_broadcast": [
        (
            net(
                [Node("e", "Expand", ("m", "shape"), ("t",)), Node("a", "Add", ("x", "t"), ("y",))],
                const(shape=np.array([1, 4, 6, 6])),
                m=(1, 6),
            ),
            ["Add"],
        ),
    ],
    "gelu": [
        (
            chain(
                ("Div", ("r",)),
                ("Erf",),
                ("Add", ("one",)),
                ("Mul", ("x",)),
                ("Mul", ("half",)),
                constants=const(r=1.4142135, one=1.0, half=0.5),
            ),
            ["Mul", "Erf", "Mul", "Add", "Mul"],
        ),
        (
            chain(
                ("Mul", ("r",)),
                ("Erf",),
                ("Add", ("one", "@")),
                ("Mul", ("half",)),
                ("Mul", ("x", "@")),
                constants=const(r=0.7071068, one=1.0, half=0.5),
            ),
            ["Mul", "Erf", "Mul", "Add", "Mul"],
        ),
    ],
    "norm": [
        (written_out(), ["LayerNormalization"]),
        (written_out("Mul"), ["LayerNormalization"]),
        (written_out(swap=True), ["ReduceMean", "Sub", "RMSNormalization"]),
        *((by_mean_square(inverse), ["RMSNormalization"]) for inverse in ("", "Reciprocal", "Div")),
    ],
    "mish": [
        (chain(("Softplus",), ("Tanh",), ("Mul", ("x",))), ["Mish"]),
        (chain(("Softplus",), ("Tanh",), ("Mul", ("x", "@"))), ["Mish"]),
    ],
    "scale_of_norm": [
        (written_out("Pow", ("Mul", "k"), ("Add", "h")), ["LayerNormalization"]),
        (written_out("Pow", ("Add", "h"), ("Mul", "k")), ["LayerNormalization", "Mul"]),
        (by_mean_square("", "Mul"), ["RMSNormalization"]),
    ],
    "double_reshape": [
        (chain(("Flatten",), ("Unsqueeze", (), {"axes": (0,)}, 11), ("Relu",)), ["Reshape", "Relu"]),
    ],
    "double_transpose": [
        (chain(("Transpose", (), {"perm": (0, 2, 3, 1)}), ("Transpose", (), {"perm": (0, 2, 1, 3)})), ["Transpose"]),
        (
            chain(("Relu",), ("Transpose", (), {"perm": (0, 2, 3, 1)}), ("Transpose", (), {"perm": (0, 3, 1, 2)})),
            ["Relu"],
        ),
    ],
    "units_moved": [(chain(("Transpose", (), {"perm": (1, 0, 2, 3)}), ("Relu",)), ["Reshape", "Relu"])],
    "transpose_through_units": [
        (
            chain(
                ("Transpose", (), {"perm": (0, 2, 1, 3)}),
                ("Squeeze", (), {"axes": (0,)}, 11),
                ("Transpose", (), {"perm": (0, 2, 1)}),
                ("Relu",),
            ),
            ["Transpose", "Reshape", "Relu"],
        ),
    ],
    "nothing_changes": [
        (
            chain(
                ("Relu",),
                ("Pad", (), {"pads": (0,) * 8}, 9),
                ("Slice", (), {"starts": (0,), "ends": (9,), "axes": (2,)}, 9),
                ("Sum",),
                ("Concat", (), {"axis": 1}),
                ("Expand", ("s",)),
                ("Tile", ("o",)),
                ("Reshape", ("s",)),
                ("Cast", (), {"to": 1}),
                ("Identity",),
                ("Dropout",),
                ("Transpose", (), {"perm": (0, 1, 2, 3)}),
                constants=const(s=np.array([1, 4, 6, 6]), o=np.array([1, 1, 1, 1])),
            ),
            ["Relu"],
        ),
    ],
    "concat_of_concat": [
        (
            net(
                [
                    Node("r", "Relu", ("x",), ("r",)),
                    Node("a", "Concat", ("x", "r"), ("a",), {"axis": 1}),
                    Node("b", "Concat", ("r", "a", "x"), ("y",), {"axis": -3}),
                ]
            ),
            ["Relu", "Concat"],
        ),
    ],
    "slice_of_concat": [
        (
            net(
                [
                    Node("r", "Relu", ("x",), ("r",)),
                    Node("s", "Sigmoid", ("x",), ("s",)),
                    Node("c", "Concat", ("r", "s"), ("c",), {"axis": 1}),
                    Node("a", "Slice", ("c",), ("a",), {"starts": (4,), "ends": (8,), "axes": (1,)}, "", 9),
                    Node("b", "Slice", ("c",), ("b",), {"starts": (1,), "ends": (3,), "axes": (1,)}, "", 9),
                ],
                outputs=("a", "b"),
            ),
            ["Sigmoid", "Relu", "Slice"],
        ),
    ],
    "reshape_of_slice": [
        (
            chain(
                ("Slice", (), {"starts": (12,), "ends": (24,), "axes": (1,)}, 9),
                ("Reshape", ("s",)),
                ("Relu",),
                constants=const(s=np.array([1, 5, 3, 4])),
                shape=(5, 36),
            ),
            ["Reshape", "Slice", "Relu"],
        ),
    ],
    "counting_indices": [
        (
            chain(("Relu",), ("Gather", ("i",), {"axis": 1}), constants=const(i=np.arange(4).reshape(2, 2))),
            ["Relu", "Reshape"],
        ),
        (
            chain(("Relu",), ("GatherND", ("i",)), constants=const(i=np.stack(np.indices((1, 4)), -1)[None])),
            ["Relu", "Reshape"],
        ),
    ],
    "reduce_of_one": [
        (chain(("Relu",), ("ReduceMean", (), {"axes": (0,), "keepdims": 0}, 11)), ["Relu", "Reshape"]),
    ],
}

#: Networks in which a rule must not do anything.
STAYS = {
    "neutral_element": [
        chain(("Mul", ("c",)), constants=const(c=np.ones((2, 4, 6, 6), F))),
        chain(("Div", ("c", "@")), constants=const(c=1.0)),
        chain(("Pow", ("c", "@")), constants=const(c=1.0)),
        chain(("Mul", ("c",)), constants=const(c=np.array([[[1.0]], [[1.0]], [[1.0]], [[2.0]]], F))),
        chain(("Sub", ("c", "@")), constants=const(c=0.0)),
        chain(("Less", ("c",)), ("And", ("f",)), constants=const(c=0.0, f=np.array([True, False] * 3))),
    ],
    "square": [chain(("Pow", ("c", "@")), constants=const(c=2.0))],
    "cube": [chain(("Pow", ("c",)), constants=const(c=2.5))],
    "reciprocal_factor": [chain(("Div", ("c",)), constants=const(c=c)) for c in (3.0, 0.0, np.inf, 2.0**127)],
    "mul_chain": [chain(("Mul", ("c",)), ("Mul", ("d",)), constants=const(c=1e-30, d=1e-30))],
    "joined_limits": [
        chain(("Relu",), ("Min", ("c",)), constants=const(c=np.array([0.1, 0.2] * 3, F))),
        chain(("Clip", ("a", "b")), ("Relu",), constants=const(a=1.0, b=0.5)),
    ],
    "norm": [written_out(axis=1)],
    "mish": [chain(("Relu",), ("Softplus",), ("Tanh",), ("Mul", ("x",)))],
    "scale_of_norm": [
        by_mean_square("", "Add"),
        net(
            [
                Node("n", "LayerNormalization", ("x", "s"), ("t",), {"axis": 1}, "", 17),
                Node("m", "Mul", ("t", "k"), ("y",)),
            ],
            {"s": np.ones((3, 8), F), "k": weights(8)},
            (2, 3, 8),
        ),
    ],
    "double_cast": [chain(("Cast", (), {"to": 6}), ("Cast", (), {"to": 1}))],
    "twice_is_once": [chain(("Relu",), ("Abs",), ("Floor",))],
    "nothing_changes": [
        chain(("Slice", (), {"starts": (5,), "ends": (-9,), "axes": (2,), "steps": (-1,)}, 10)),
        chain(("Transpose", (), {"perm": (0, 1, 3, 2)})),
        chain(("Pad", (), {"pads": (0, 1) * 4}, 9)),
    ],
    "slice_of_concat": [
        net(
            [
                Node("r", "Relu", ("x",), ("r",)),
                Node("c", "Concat", ("r", "x"), ("c",), {"axis": 1}),
                Node("a", "Slice", ("c",), ("y",), {"starts": (3,), "ends": (6,), "axes": (1,)}, "", 9),
            ]
        ),
    ],
    "counting_indices": [chain(("Gather", ("i",), {"axis": 1}), constants=const(i=np.array([0, 2, 1, 3])))],
    "reshape_of_slice": [
        chain(
            ("Slice", (), {"starts": (13,), "ends": (25,), "axes": (1,)}, 9),
            ("Reshape", ("s",)),
            constants=const(s=np.array([1, 5, 3, 4])),
            shape=(5, 36),
        ),
    ],
    "units_moved": [chain(("Transpose", (), {"perm": (0, 2, 1, 3)}))],
    "expand_before_broadcast": [
        net(
            [Node("e", "Expand", ("m", "s"), ("t",)), Node("a", "Add", ("x", "t"), ("y",))],
            const(s=np.array([3, 4, 6, 6])),
            m=(1, 6),
        ),
    ],
}


def test_every_rule_has_a_network():
    assert set(APPLIES) == set(RULES)
    assert set(STAYS) <= set(RULES)


@pytest.mark.parametrize(("rule", "k"), [(r, k) for r, cases in APPLIES.items() for k in range(len(cases))])
def test_the_rule_applies(rule, k):
    graph, left = APPLIES[rule][k]
    (done,) = explain(graph, ["simplify"]).passes
    assert f"{rule} " in done.notes[0]
    assert sorted(n.op for n in graph.optimize(["simplify"]).nodes) == sorted(left)
    assert not kept(graph, ["simplify"])


@pytest.mark.parametrize(("rule", "k"), [(r, k) for r, cases in STAYS.items() for k in range(len(cases))])
def test_the_rule_does_not_apply(rule, k):
    graph = STAYS[rule][k]
    assert apply_rules(graph, [RULES[rule]], rule) is graph


def test_numbers_that_are_none_stay_what_they_are():
    """Limits of limits and sign rules on NaN and infinities, element by element."""
    steps = [("Relu",), ("Min", ("c",)), ("Neg",), ("Neg",), ("Abs",)]
    graph = chain(*steps, constants=const(c=0.5), shape=(5,))
    feeds = {"x": np.array([np.nan, np.inf, -np.inf, -0.0, 0.25], F)}
    from workbench.graph import run_reference

    want, got = run_reference(graph, feeds)["y"], run_reference(graph.optimize(["simplify"]), feeds)["y"]
    np.testing.assert_array_equal(got, want)


def test_outputs_that_would_become_inputs_stay():
    both = [Node("a", "Identity", ("x",), ("y",)), Node("n", "Neg", ("x",), ("m",)), Node("o", "Neg", ("m",), ("z",))]
    graph = net(both, outputs=("y", "z"))
    assert not kept(graph, ["simplify"])
    two = [
        Node("r", "Relu", ("x",), ("y",)),
        Node("i", "Identity", ("y",), ("z",)),
        Node("j", "Identity", ("z",), ("w",)),
    ]
    graph = net(two, outputs=("y", "z", "w"))
    assert not kept(graph, ["simplify"])
    late = [Node("r", "Relu", ("x",), ("t",)), Node("i", "Identity", ("t",), ("y",)), Node("s", "Abs", ("t",), ("z",))]
    graph = net(late, outputs=("y", "z"))
    assert not kept(graph, ["simplify"])
    assert graph.optimize(["simplify"]).nodes[0].outputs == ("y",)


def test_weights_are_typed_before_and_after():
    graph = chain(("MatMul", ("w",)), ("Mul", ("c",)), constants=const(w=weights(6, 3), c=1.0))
    assert graph.optimize(["simplify"]).types["y"] == TensorType((1, 4, 6, 3))
