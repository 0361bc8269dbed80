"""What every declared operator promises, checked on its own examples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import ort_session
import pytest
from graph.examples import Case, cases
from graph.protos import node_of

from workbench import te
from workbench.errors import ModelError
from workbench.graph.evaluation import evaluate as op_values
from workbench.graph.opdef import registry
from workbench.graph.ops.lowering import as_type
from workbench.ir import verify
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference.evaluate import evaluate

#: Opset whose operators onnxruntime lacks; the conformance suite has some of them.
OLDEST = 6
EXAMPLES = [pytest.param(n, c, id=f"{n}-{c.label}") for n, d in registry().items() for c in cases(d)]
#: Examples in our own layout, or of operators that are not in the opset of the example, have no ONNX form.
ONNX_EXAMPLES = [p for p in EXAMPLES if "layout" not in p.values[1].attrs and p.values[1].version > OLDEST]
#: Results of these have shapes that depend on values.
DYNAMIC = {"Unique", "NonMaxSuppression", "StringNormalizer"}
#: Scales have no other type before opset 19.
FLOAT32_ONLY = ("DequantizeLinear", "QuantizeLinear")
LOWERED = [p for p in EXAMPLES if not registry()[p.values[0]].obstacle(p.values[1].call(p.values[0]))]


def expected(name: str, case: Case) -> np.ndarray:
    return op_values(case.call(name), *case.inputs)[0]


def lowered(name: str, case: Case):
    args = [
        None if a is None or (i in case.const and registry()[name].in_code(i, a))
        else te.placeholder(a.shape, a.dtype.name, f"x{i}", constant=i in case.const)
        for i, a in enumerate(case.inputs)
    ]  # fmt: skip
    call = case.call(name)
    return te.func(as_type(call, registry()[name].lower(call, *args), registry()[name].infer(call)[0].dtype), name)


@pytest.mark.parametrize(("name", "case"), EXAMPLES)
def test_inferred_type_is_that_of_the_result(name, case):
    if name in DYNAMIC or (name, case.label) == ("Loop", "three times"):
        with pytest.raises(ModelError) as e:
            registry()[name].infer(case.call(name))
        assert e.value.code == "model.dynamic_shape"
        return
    inferred = registry()[name].infer(case.call(name))[0]
    value = expected(name, case)
    assert (value.shape, value.dtype.name) == (inferred.shape, inferred.dtype)


@pytest.mark.parametrize(("name", "case"), LOWERED)
def test_lowered_function_computes_the_reference(name, case):
    func = lowered(name, case)
    verify.verify(func)
    given = {f"x{i}": a for i, a in enumerate(case.inputs) if a is not None}
    want = expected(name, case)
    inputs = {b.name: given[b.name].reshape(b.shape) for b in func.inputs}  # a scalar is a buffer of one element
    for result in (evaluate(func, inputs), interp.run(func, inputs)):
        (got,) = result.values()
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["Sin", "Cos"])
def test_a_sine_of_any_angle_is_one(name):
    """Also of angles whose digits are lost, where there is nothing to compare it with."""
    x = np.array([0.5, 1e9, 1e10, 1e20, -2.7e37, 3.4e38, np.inf, np.nan], np.float32)
    case = Case("huge", (x,))
    (got,) = evaluate(lowered(name, case), {"x0": x}).values()
    np.testing.assert_allclose(got[:2], expected(name, case)[:2], rtol=1e-6)
    assert (np.abs(got[:-2]) <= 1).all()
    assert np.isnan(got[-2:]).all()


@pytest.mark.parametrize(("name", "case"), ONNX_EXAMPLES)
def test_reference_agrees_with_onnxruntime(name, case):
    onnx = pytest.importorskip("onnx")
    call = case.call(name)
    node = node_of(call.node)
    names = call.node.inputs
    fed = {n: a for n, a in zip(names, case.inputs, strict=True) if n}
    infos = [
        onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in fed.items()
        if names.index(n) not in case.const
    ]
    constants = [onnx.numpy_helper.from_array(a, n) for n, a in fed.items() if names.index(n) in case.const]
    graph = onnx.helper.make_graph([node], "one", infos, [onnx.ValueInfoProto(name="y0")], constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", case.version)], ir_version=8)
    session = ort_session.session(model)
    (got,) = session.run(["y0"], {i.name: fed[i.name] for i in session.get_inputs()})
    want = expected(name, case)
    assert got.shape == want.shape
    if got.dtype == object:
        assert want.tolist() == got.tolist()
    else:
        np.testing.assert_allclose(want, got, rtol=1e-4, atol=1e-5)


def in_type(case: Case, dtype: str) -> Case:
    """The example with its floats in another type."""
    inputs = tuple(a.astype(dtype) if a is not None and a.dtype == np.float32 else a for a in case.inputs)
    return replace(case, inputs=inputs)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize(("name", "case"), [p for p in LOWERED if p.values[0] not in FLOAT32_ONLY])
def test_other_floats_keep_their_type(name, case, dtype):
    case = in_type(case, dtype)
    inferred = registry()[name].infer(case.call(name))[0]
    value = expected(name, case)
    (out,) = lowered(name, case).outputs
    assert value.dtype.name == inferred.dtype == out.dtype


def test_the_registry_is_complete():
    wanted = """Conv Gemm MatMul Relu LeakyRelu Clip Sigmoid Tanh Exp Sqrt Neg Abs Erf Add Sub Mul Div Pow Max Min Sum
    BatchNormalization InstanceNormalization LRN MaxPool AveragePool GlobalAveragePool GlobalMaxPool Softmax ReduceMean
    ReduceSum ReduceMax Concat Reshape Flatten Transpose Squeeze Unsqueeze Identity Dropout Constant ConstantOfShape
    Shape Cast Gather Slice Pad"""
    assert set(wanted.split()) <= set(registry())
    for name, op in registry().items():
        assert op.__doc__, name
        assert cases(op), name
        assert op.fusion in ("injective", "reduction", "complex", "opaque")


def test_an_operator_that_can_only_be_folded_says_so():
    case = cases(registry()["Shape"])[0]
    with pytest.raises(ModelError, match="no loop nest") as e:
        registry()["Shape"].lower(case.call("Shape"))
    assert e.value.code == "model.unsupported_op"


BAD = [
    ("Conv", [(1, 3, 8, 8), (4, 2, 3, 3)], {}, "shape_mismatch"),
    ("Conv", [(1, 3, 2, 2), (4, 3, 5, 5)], {}, "shape_mismatch"),
    ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3), (5,)], {}, "shape_mismatch"),
    ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3)], {"pads": (1, 1)}, "invalid_graph"),
    ("ConvTranspose", [(1, 3, 8, 8), (4, 3, 3, 3)], {}, "shape_mismatch"),
    ("ConvTranspose", [(1, 3, 8, 8), (3, 4, 3, 3), (5,)], {}, "shape_mismatch"),
    ("ConvTranspose", [(1, 3, 2, 2), (3, 4, 3, 3)], {"pads": (9, 9, 9, 9)}, "shape_mismatch"),
    ("ConvTranspose", [(1, 3, 8, 8), (3, 4, 3, 3)], {"pads": (-1, 0, 0, 0)}, "invalid_graph"),
    ("ConvTranspose", [(1, 3, 8, 8), (3, 4, 3, 3)], {"strides": (0, 1)}, "invalid_graph"),
    ("ConvTranspose", [(1, 3, 8, 8), (3, 4, 3, 3)], {"group": 0}, "shape_mismatch"),
    ("QuantizeLinear", [(2, 3), (4,)], {"axis": 1}, "shape_mismatch"),
    ("QuantizeLinear", [(2, 3), (3,)], {"axis": 7}, "invalid_graph"),
    ("MatMulInteger", [(2, 3), (3, 5)], {}, "unsupported_dtype"),
    ("ConvInteger", [(1, 3, 8, 8), (4, 3, 3, 3)], {}, "unsupported_dtype"),
    ("MatMul", [(2, 3), (4, 5)], {}, "shape_mismatch"),
    ("Gemm", [(2, 3), (4, 5)], {}, "shape_mismatch"),
    ("Add", [(2, 3), (2, 4)], {}, "shape_mismatch"),
    ("Concat", [(2, 3), (3, 4)], {"axis": 1}, "shape_mismatch"),
    ("Transpose", [(2, 3)], {"perm": (0, 0)}, "invalid_graph"),
    ("Softmax", [(2, 3)], {"axis": 5}, "invalid_graph"),
    ("MaxPool", [(1, 3, 8, 8)], {}, "invalid_graph"),
    ("BatchNormalization", [(1, 3, 4, 4), (3,), (3,), (4,), (3,)], {}, "shape_mismatch"),
    ("Squeeze", [(2, 3)], {"axes": (0,)}, "shape_mismatch"),
    ("Cast", [(2,)], {"to": 14}, "unsupported_dtype"),
]


@pytest.mark.parametrize(("name", "shapes", "attrs", "code"), BAD)
def test_misuse_is_reported_with_the_node(name, shapes, attrs, code):
    version = 11 if name == "Squeeze" else 18
    case = Case("bad", tuple(np.zeros(s, np.float32) for s in shapes), attrs, version=version)
    with pytest.raises(ModelError) as e:
        registry()[name].infer(case.call(name))
    assert e.value.code == f"model.{code}"
    assert "bad" in e.value.where
