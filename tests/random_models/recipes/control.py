"""If, Loop and Scan."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, ValueInfoProto, helper

from random_models.recipes.base import recipe

node = helper.make_node


def _graph(nodes, inputs, outputs):
    return helper.make_graph(nodes, "body", inputs, [ValueInfoProto(name=o) for o in outputs])


def _info(name, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, None)


@recipe("If")
def branch(d, op):
    x = d.tensor("float32")
    k = len(d.steps)
    one = _graph([node("Neg", [x], [f"then{k}"])], [], [f"then{k}"])
    other = _graph([node("Exp", [x], [f"a{k}"]), node("Add", [f"a{k}", x], [f"else{k}"])], [], [f"else{k}"])
    test = d.fresh(np.array(d.flip()).reshape(d.choice((), (1,))), static=d.flip())
    d.add(op, [test], reads=[x], then_branch=one, else_branch=other)


@recipe("Loop")
def loop(d, op):
    x = d.tensor("float32", rank=(0, 1, 2), kind="mild")
    k = len(d.steps)
    body = [node("Mul", [f"s{k}", x], [f"p{k}"]), node("Add", [f"p{k}", x], [f"n{k}"]),
            node("Identity", [f"c{k}"], [f"o{k}"]), node("Identity", [f"n{k}"], [f"out{k}"])]  # fmt: skip
    inputs = [_info(f"i{k}", TensorProto.INT64), _info(f"c{k}", TensorProto.BOOL), _info(f"s{k}")]
    stop = "" if d.flip() else d.fresh(np.array(d.flip(0.8)), static=True)
    d.add(op, [d.ints(d.whole(0, 3)), stop, x], outputs=2, reads=[x],
          body=_graph(body, inputs, [f"o{k}", f"n{k}", f"out{k}"]))  # fmt: skip


@recipe("Scan")
def scan(d, op):
    k = len(d.steps)
    x = d.tensor("float32", rank=(2, 3), kind="mild", fits=lambda a: a.size > 0)
    first = d.tensor("float32", shape=d.shape(x)[1:], kind="mild")
    body = [node("Add", [f"s{k}", f"e{k}"], [f"n{k}"]), node("Tanh", [f"n{k}"], [f"y{k}"])]
    graph = _graph(body, [_info(f"s{k}"), _info(f"e{k}")], [f"n{k}", f"y{k}"])
    attrs = d.maybe(scan_input_directions=[d.whole(0, 1)]) if d.opset >= 9 else {}
    d.add(op, [first, x], outputs=2, num_scan_inputs=1, body=graph, **attrs)
