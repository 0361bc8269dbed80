"""Attention whose scores are large is one kernel, which computes what onnxruntime computes."""

from __future__ import annotations

import numpy as np
import ort_session
import pytest
from onnx import parser

import workbench as wb
from workbench.graph.tasks import extract_tasks
from workbench.space.space import make_space
from workbench.target import Target

V4 = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2"
HEAD = '<ir_version: 10, opset_import: ["" : {opset}]> g ({inputs}) => (float[{result}] y) '


def model(body, result, opset=18, **inputs):
    given = ", ".join(f"float[{', '.join(map(str, size))}] {name}" for name, size in inputs.items())
    head = HEAD.format(opset=opset, inputs=given, result=", ".join(map(str, result)))
    return parser.parse_model(head + "{" + body + "}")


def plain(heads=4, queries=512, keys=512, size=16, between="u = Add(s, m)", **more):
    body = f"s = MatMul(q, k) {between} p = Softmax<axis=-1>(u) y = MatMul(p, v)"
    masks = {"m": (1, 1, keys), **more}
    masks = {n: s for n, s in masks.items() if f"{n})" in between or f"{n}," in between}
    ins = {"q": (heads, queries, size), "k": (heads, size, keys), "v": (heads, keys, size), **masks}
    return model(body, (heads, queries, size), **ins)


def projected():
    """Heads as networks have them: cut from rows of all heads, and put together again."""
    body = (
        "q1 = Transpose<perm=[0, 2, 1, 3]>(q) k1 = Transpose<perm=[0, 2, 3, 1]>(k) v1 = Transpose<perm=[0, 2, 1, 3]>(v)"
        "s = MatMul(q1, k1) c = Constant<value=float {0.25}>() t = Mul(s, c) p = Softmax<axis=3>(t)"
        "x = MatMul(p, v1) y = Transpose<perm=[0, 2, 1, 3]>(x)"
    )
    rows = (1, 576, 4, 24)
    return model(body, rows, q=rows, k=rows, v=rows)


def causal():
    heads = (1, 4, 512, 32)
    return model("y = Attention<is_causal=1>(q, k, v)", heads, 23, q=heads, k=heads, v=heads)


JOINED = {
    "a mask": plain,
    "no mask": lambda: plain(between="u = Identity(s)"),
    "more keys than queries": lambda: plain(heads=6, queries=100, keys=2048),
    "a mask of each head": lambda: plain(between="u = Add(s, n)", n=(4, 512, 512)),
    "a function of scores read twice": lambda: plain(between="a = Tanh(s) t = Mul(a, s) u = Add(t, m)"),
    "transposed": projected,
    "causal": causal,
}


def one_kernel(graph):
    return any("row by row" in rule for g in graph.optimize().groups for rule in g.rules)


@pytest.mark.parametrize("name", JOINED)
def test_one_kernel_computes_what_onnxruntime_does(name):
    made = JOINED[name]()
    graph = wb.load_onnx(made)
    assert one_kernel(graph)
    (task,) = extract_tasks(graph)
    assert all("attention" in {n.rule for n in v.notes} for v in make_space(task.func, Target(V4)).variants)
    rng = np.random.default_rng(len(name))
    feeds = {
        i.name: rng.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim]).astype("f4")
        for i in made.graph.input
    }
    if name == "a mask":
        feeds["m"][..., 100:] = -np.inf
    session = ort_session.session(made)
    got = wb.compile(graph, threads=2).run(feeds)
    np.testing.assert_allclose(got["y"], session.run(["y"], feeds)[0], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "made",
    [
        plain(heads=1),  # small
        plain(keys=520),  # a rest
        plain(queries=513),
        plain(between="u = Softmax<axis=1>(s)"),
        model("s = MatMul(q, k) p = Softmax<axis=-1>(s) y = Relu(p)", (4, 512, 512), q=(4, 512, 8), k=(4, 8, 512)),
        model("s = MatMul(q, k) p = Softmax<axis=-1>(s) y = MatMul(p, p)", (4, 512, 512), q=(4, 512, 8), k=(4, 8, 512)),
        model("s = MatMul(q, k) p = Softmax<axis=-1>(s) x = MatMul(p, v) y = Relu(x)", (4, 512, 8),
              q=(4, 512, 8), k=(4, 8, 512), v=(4, 512, 8)),
        model("s = MatMul(q, k) p = Softmax<axis=-2>(s) y = MatMul(p, v)", (4, 512, 8),
              q=(4, 512, 8), k=(4, 8, 512), v=(4, 512, 8)),
        model("s = MatMul(q, k) p = Softmax<axis=-1>(s) x = MatMul(p, v) z = ReduceSum(s) y = Add(x, z)", (4, 512, 8),
              q=(4, 512, 8), k=(4, 8, 512), v=(4, 512, 8)),
    ],
)  # fmt: skip
def test_what_is_no_such_attention_stays_several_kernels(made):
    assert not one_kernel(wb.load_onnx(made))
