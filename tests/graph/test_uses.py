"""Operators that the onnx package computes, wholly or where our declaration does not cover a use, beside onnxruntime.

The reference of the onnx package has faults. What it computes for us is held against an implementation that shares
no code with it, use by use (`uses`). Operators that differed have code of their own now, and stay in the tables.
"""

from __future__ import annotations

import numpy as np
import ort_session
import pytest
from graph.uses import CASES, CHAINS

from workbench.graph.onnx import read_program
from workbench.graph.onnx.reference_operators import RANDOM, foreign
from workbench.graph.opdef import OpDef, registry
from workbench.network.dynamic_shapes import DynamicExecutable

ort = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")

ALL = [(op, k, opset) for op, uses in CASES.items() for k, u in enumerate(uses) for opset in u.opsets]

#: Opsets that are looked at.
FIRST, LAST = 7, 22
#: What onnxruntime has no kernel for: held against what it says of the same use in the opset before.
LACKS = {("GlobalLpPool", 22), ("RoiAlign", 22)}
_OLD = "ours from opset 7 on"
#: Operators that are not compared, and why.
APART = {
    **dict.fromkeys([*RANDOM[:1], *RANDOM[3:]], "gives another result each time"),
    **dict.fromkeys(["And", "Or", "Xor", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"], _OLD),
    **dict.fromkeys(["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum"], _OLD),
    "Scan": "ours from opset 9 on",
    "ImageDecoder": "onnxruntime has none",
}


def tensor_type(array):
    return onnx.TensorProto.STRING if array.dtype == object else onnx.helper.np_dtype_to_tensor_dtype(array.dtype)


def model_of(nodes, feeds, outputs, opset, constants=()):
    """Model of a few nodes; outputs are declared without their types."""
    from onnx import helper, numpy_helper

    infos = [helper.make_tensor_value_info(n, tensor_type(a), a.shape) for n, a in feeds.items()]
    weights = [numpy_helper.from_array(a, n) for n, a in dict(constants).items()]
    graph = helper.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name=o) for o in outputs], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 21 else 10)


def one(op, use, opset):
    """Model of one use, and the arrays of its inputs."""
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(use.inputs)]
    given = {n: a for n, a in zip(names, use.inputs, strict=True) if n}
    weights = {n: a for n, a in given.items() if int(n[1:]) in use.const}
    feeds = {n: a for n, a in given.items() if n not in weights}
    outputs = [f"y{i}" for i in range(use.outputs)]
    node = onnx.helper.make_node(op, names, outputs, name="n", **use.attrs)
    return model_of([node], feeds, outputs, opset, weights), feeds


def by_onnxruntime(model, feeds):
    return ort_session.session(model, threads=1).run(None, feeds)


def agree(got, want):
    for a, b in zip(got.values(), want, strict=True):
        if b.dtype == object:
            assert a.tolist() == b.tolist()
            continue
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


#: By default in the newest opset that has the use.
NEWEST = {(op, k): opset for op, k, opset in sorted(ALL)}
RUNS = [pytest.param(*use, marks=() if NEWEST[use[:2]] == use[2] else pytest.mark.checks) for use in ALL]


@pytest.mark.parametrize(("op", "k", "opset"), RUNS)
def test_like_onnxruntime(op, k, opset):
    use = CASES[op][k]
    model, feeds = one(op, use, opset)
    got = DynamicExecutable(read_program(model)).run(feeds)
    if (op, opset) in LACKS:
        with pytest.raises(Exception, match="NOT_IMPLEMENTED"):
            by_onnxruntime(model, feeds)
        model, feeds = one(op, use, use.opsets[use.opsets.index(opset) - 1])
    agree(got, by_onnxruntime(model, feeds))


@pytest.mark.parametrize("name", CHAINS)
def test_sequences_and_texts_like_onnxruntime(name):
    nodes, feeds, outputs, opset = CHAINS[name]
    model = model_of(nodes, feeds, outputs.split(), opset)
    agree(DynamicExecutable(read_program(model)).run(feeds), by_onnxruntime(model, feeds))


def versions():
    """Opsets from which on an operator means something new, of those that the onnx package computes for us."""
    own, found = registry(), dict[str, set[int]]()
    for schema in onnx.defs.get_all_schemas_with_history():
        name, since = schema.name, schema.since_version
        if schema.domain or schema.deprecated or since > LAST or foreign("", name, since) is None:
            continue
        known = own.get(name)
        refuses = known is not None and (type(known).accepts is not OpDef.accepts or hasattr(known, "unusual"))
        if known is None or refuses or (not known.multi and schema.max_output > 1):
            found.setdefault(name, set()).add(since)
    return found


def test_every_operator_that_the_onnx_package_computes_is_compared():
    used = {op: {o for u in uses for o in u.opsets} for op, uses in CASES.items()}
    for nodes, _, _, opset in CHAINS.values():
        for n in nodes:
            used.setdefault(n.op_type, set()).add(opset)
    computed = versions()
    assert set(computed) - set(used) == set(APART) - set(used)
    for op in set(computed) - set(APART):
        seen = {onnx.defs.get_schema(op, o, "").since_version for o in used[op] if o <= LAST}
        last_before = max((v for v in computed[op] if v <= FIRST), default=0)
        assert {v for v in computed[op] if v >= last_before} <= seen, op
