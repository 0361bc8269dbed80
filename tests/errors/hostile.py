"""Models that ask for the impossible, each tried in a process of its own with little memory and little time.

Run by `test_hostile_models.py`, which says what has to come out: ``python hostile.py`` prints one JSON line per model.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from peak import peak_bytes

#: What a model may take beyond what the process has when it begins.
MEMORY, SECONDS = 1 << 30, 20
FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
HUGE = 2**40


class Case(NamedTuple):
    """What has to come out (a code, or "" for a good model), how far to go, the model, and a word of the message."""

    code: str
    stage: str
    source: object
    word: str = "'bad'"


CASES: dict[str, Case] = {}


def info(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs=None, constants=(), opset=18, outputs=("y",)):
    tensors = [a if isinstance(a, TensorProto) else numpy_helper.from_array(np.asarray(a), n) for n, a in constants]
    ends = [helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = helper.make_graph(nodes, "g", inputs or [info("x", [2, 3, 8, 8])], ends, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def one(
    op,
    code,
    label="",
    stage="load",
    word="'bad'",
    shape=(2, 3, 8, 8),
    opset=18,
    outputs=("y",),
    kind=FLOAT,
    inputs=(),
    **attrs,
):
    """A model of one node named "bad", which reads x and constants."""
    names = [f"c{k}" if v is not None else "" for k, v in enumerate(inputs)]
    constants = [(n, v) for n, v in zip(names, inputs, strict=True) if v is not None]
    node = helper.make_node(op, ["x", *names], outputs, name="bad", **attrs)
    proto = model([node], [info("x", list(shape), kind)], constants, opset, outputs)
    CASES[f"{op} {label}".strip()] = Case(code, stage, proto, word)


def ints(*values):
    return np.array(values, np.int64)


def floats(*values):
    return np.array(values, np.float32)


def declare_shapes():
    """Results that are absurd, too large, or below nothing."""
    large, odd, mismatch = "model.too_large", "model.invalid_graph", "model.shape_mismatch"
    one("Relu", large, "of 2**80 elements", shape=(HUGE, HUGE))
    one("Relu", large, "of 2**36 elements", "compile", "'x'", shape=(2**36,))
    one("Relu", "model.unresolved_dim", "of dimension -5", "tasks", "'x'", shape=(2, -5))
    one("Relu", "model.unresolved_dim", "of dimension 0", "tasks", "'x'", shape=(2, 0))
    one("Reshape", mismatch, "to 2**80", inputs=[ints(HUGE, HUGE)])
    one("Reshape", "model.shape_mismatch", "whose product wraps around", shape=(2, 0x20000001), inputs=[ints(2, 1)])
    one("Reshape", "model.shape_mismatch", "to -5", inputs=[ints(-5, 3)])
    one("Reshape", "model.shape_mismatch", "with two rests", inputs=[ints(-1, -1)])
    one("Expand", large, "to 2**80", shape=(1,), inputs=[ints(HUGE, HUGE)])
    one("Expand", large, "to 2**36", "compile", shape=(1,), inputs=[ints(2**36)])
    one("Expand", odd, "to -4", shape=(1,), inputs=[ints(-4)])
    one("Tile", large, "2**62 times", inputs=[ints(1, 1, 1, 2**62)])
    one("Tile", large, "2**32 times", "compile", inputs=[ints(1, 1, 1, 2**32)])
    one("Tile", odd, "-1 times", inputs=[ints(1, 1, 1, -1)])
    one("Pad", large, "by 2**60", inputs=[ints(0, 0, 0, 2**60, 0, 0, 0, 0)])
    one("Pad", large, "by 2**34", "compile", inputs=[ints(0, 0, 0, 2**34, 0, 0, 0, 0)])
    one("Pad", mismatch, "by -99", inputs=[ints(0, 0, 0, -99, 0, 0, 0, 0)])
    one("Pad", odd, "of two numbers", inputs=[ints(1, 1)])
    one("Resize", large, "by 1e9", inputs=[None, floats(1, 1, 1e9, 1e9)])
    one("Resize", large, "to 2**60", inputs=[None, None, ints(2, 3, 2**60, 8)])
    one("Resize", large, "by 1e5", "compile", inputs=[None, floats(1, 1, 1e5, 1e5)])
    one("Resize", odd, "by NaN", inputs=[None, floats(1, 1, np.nan, 1)])
    one("Resize", mismatch, "by -1", inputs=[None, floats(1, 1, -1, 1)])
    one("Resize", mismatch, "by 0", inputs=[None, floats(1, 1, 0, 1)])
    one("Upsample", odd, "by infinity", opset=9, inputs=[floats(1, 1, np.inf, 1)])
    one("OneHot", large, "of depth 2**60", shape=(4,), kind=INT, inputs=[ints(2**60), floats(0, 1)])
    one("OneHot", large, "of depth 2**36", "compile", shape=(4,), kind=INT, inputs=[ints(2**36), floats(0, 1)])
    one("TopK", mismatch, "of 2**60", inputs=[ints(2**60)], outputs=("y", "z"))
    one("TopK", odd, "of -1", inputs=[ints(-1)], outputs=("y", "z"))
    one("Conv", large, "padded by 2**50", inputs=[np.zeros((4, 3, 3, 3), "f")], pads=[2**50] * 4)
    one("Conv", large, "padded by 2**17", "compile", inputs=[np.zeros((4, 3, 3, 3), "f")], pads=[2**17] * 4)
    one("Conv", odd, "padded by -9", inputs=[np.zeros((4, 3, 3, 3), "f")], pads=[-9] * 4)
    one("ConvTranspose", large, "by 2**50", inputs=[np.zeros((3, 4, 3, 3), "f")], strides=[2**50] * 2)
    one("LSTM", odd, "of 2**40 units", shape=(3, 1, 4), hidden_size=HUGE, outputs=("y",),
        inputs=[np.zeros((1, 8, 4), "f"), np.zeros((1, 8, 2), "f")])  # fmt: skip
    one("Relu", "", "of 2**36 elements as a task", "tasks", shape=(2**36,))
    one("Resize", "", "by 1e5 as a task", "tasks", inputs=[None, floats(1, 1, 1e5, 1e5)])
    one("Conv", "", "padded by 2**17 as a task", "tasks", inputs=[np.zeros((4, 3, 3, 3), "f")], pads=[2**17] * 4)
    for label, shape in (("2**80", ints(HUGE, HUGE)), ("2**40", ints(HUGE)), ("-1", ints(-1)), ("2**31", ints(2**31))):
        node = helper.make_node("ConstantOfShape", ["s"], ["y"], name="bad")
        code = odd if label == "-1" else large
        CASES[f"ConstantOfShape {label}"] = Case(code, "compile", model([node], constants=[("s", shape)]))
    for label, code, bounds in (
        ("to 2**62", large, ints(0, 2**62, 1)),
        ("to 2**36", large, ints(0, 2**36, 1)),
        ("by 0", odd, ints(0, 5, 0)),
        ("to infinity", odd, floats(0, np.inf, 1)),
    ):
        node = helper.make_node("Range", ["a", "b", "c"], ["y"], name="bad")
        CASES[f"Range {label}"] = Case(code, "compile", model([node], constants=zip("abc", bounds, strict=True)))


def declare_attributes():
    """Attributes of the wrong kind, missing, or with numbers that make no sense."""
    odd, kind, mismatch = "model.invalid_graph", "model.invalid_attr", "model.shape_mismatch"
    weights = [np.zeros((4, 3, 3, 3), "f")]
    one("Concat", kind, "along text", axis="1")
    one("Concat", kind, "along nothing")
    one("Concat", odd, "along 99", axis=99)
    one("Cast", kind, "to nothing")
    one("Cast", mismatch, "to 999", to=999)
    one("Softmax", kind, "along a fraction", axis=1.5)
    one("Softmax", odd, "along 7", axis=7)
    one("Transpose", kind, "by text", perm="abc")
    one("Transpose", odd, "by twice the same", perm=[0, 0, 1, 2])
    one("Transpose", odd, "by too few", perm=[1, 0])
    one("Flatten", odd, "at 9", axis=9)
    one("Unsqueeze", odd, "twice the same", inputs=[ints(0, 0)])
    one("Unsqueeze", odd, "at 2**60", inputs=[ints(2**60)])
    one("Squeeze", mismatch, "of three", inputs=[ints(1)])
    one("Slice", odd, "by 0", inputs=[ints(0), ints(5), ints(0), ints(0)])
    one("Split", mismatch, "into other sums", inputs=[ints(1, 9)], outputs=("y", "z"))
    one("Split", kind, "along a list", axis=[1], outputs=("y", "z"))
    one("Gather", odd, "along 9", inputs=[ints(0)], axis=9)
    one("Gather", "model.bad_value", "of element 99", inputs=[ints(99)])
    one("GatherND", "model.bad_value", "of element 99", inputs=[np.array([[0, 99]])])
    one("GatherElements", mismatch, "of more than there is", inputs=[np.zeros((9, 9, 9, 9), np.int64)], axis=1)
    one("Conv", kind, "with one stride as a number", inputs=weights, strides=2)
    one("Conv", odd, "with stride 0", inputs=weights, strides=[0, 0])
    one("Conv", odd, "with stride -1", inputs=weights, strides=[-1, -1])
    one("Conv", odd, "with dilation 0", inputs=weights, dilations=[0, 0])
    one("Conv", odd, "with three strides", inputs=weights, strides=[1, 1, 1])
    one("Conv", mismatch, "of no groups", inputs=weights, group=0)
    one("Conv", mismatch, "of 5 groups", inputs=weights, group=5)
    one("MaxPool", kind, "without a window")
    one("MaxPool", odd, "over 0", kernel_shape=[0, 0])
    one("MaxPool", mismatch, "over 2**40", kernel_shape=[HUGE, HUGE])
    one("MaxPool", odd, "with stride -1", kernel_shape=[2, 2], strides=[-1, -1])
    one("LRN", odd, "of size 0", size=0)
    one("LRN", odd, "of size -3", size=-3)
    one("DepthToSpace", odd, "by 0", blocksize=0)
    one("Einsum", odd, "of nonsense", equation="((((")
    one("Gemm", kind, "with a list", shape=(2, 3), inputs=[np.zeros((3, 4), "f")], alpha=[1.0])
    one("If", kind, "without branches", shape=(1,), kind=TensorProto.BOOL)
    one("Dropout", kind, "by text", ratio="0.5", opset=9)


def declare_graphs():
    """Graphs as no exporter writes them."""
    twice = [helper.make_node("Relu", ["x"], ["y"], name="same") for _ in range(2)]
    CASES["two nodes give one tensor"] = Case("model.duplicate_name", "load", model(twice), "same_1")
    itself = model([helper.make_node("Add", ["x", "y"], ["y"], "bad")])
    CASES["a node reads itself"] = Case("model.cycle", "load", itself, "bad -> bad")
    ring = [helper.make_node("Relu", [f"t{k}"], [f"t{(k + 1) % 999}"], f"n{k}") for k in range(999)]
    CASES["a ring of 999 nodes"] = Case("model.cycle", "load", model(ring, outputs=("t0",)), "n998")
    chain = [helper.make_node("Relu", [f"t{k}" if k else "x"], [f"t{k + 1}"], "same") for k in range(20000)]
    CASES["20000 nodes of one name"] = Case("", "load", model(chain, outputs=("t20000",)))
    hollow = TensorProto(name="w", data_type=FLOAT, dims=[HUGE, HUGE])
    node = helper.make_node("Add", ["x", "w"], ["y"], name="bad")
    CASES["a weight of 2**80 without data"] = Case(
        "model.weights_missing",
        "load",
        model([node], constants=[("w", hollow)]),
        "'w'",
    )
    short = TensorProto(name="w", data_type=FLOAT, dims=[HUGE], raw_data=bytes(16))
    CASES["a weight of 2**40 with 16 bytes"] = Case(
        "model.invalid_graph", "load", model([node], constants=[("w", short)]), "'w'"
    )
    below = TensorProto(name="w", data_type=FLOAT, dims=[-2, -2], raw_data=bytes(16))
    CASES["a weight of dimensions below 0"] = Case(
        "model.invalid_graph", "load", model([node], constants=[("w", below)]), "'w'"
    )
    CASES["opset 999"] = Case("model.opset", "load", model([node], constants=[("w", floats(1))], opset=999), "ai.onnx")
    CASES["opset 0"] = Case("model.opset", "load", model([node], constants=[("w", floats(1))], opset=0), "ai.onnx")
    silent = model([helper.make_node("Relu", ["x"], ["y"], name="bad")])
    silent.opset_import[0].domain = "ai.onnx.ml"
    silent.opset_import[0].version = 1
    CASES["no opset"] = Case("model.opset", "load", silent)
    self_call = model([helper.make_node("f", ["x"], ["y"], name="bad", domain="own")])
    self_call.opset_import.append(helper.make_opsetid("own", 1))
    body = [helper.make_node("f", ["a"], ["b"], domain="own")]
    self_call.functions.append(helper.make_function("own", "f", ["a"], ["b"], body, [helper.make_opsetid("own", 1)]))
    CASES["a function that calls itself"] = Case("model.cycle", "load", self_call, "f -> f")
    doubling = model([helper.make_node("f19", ["x"], ["y"], name="bad", domain="own")])
    doubling.opset_import.append(helper.make_opsetid("own", 1))
    versions = [helper.make_opsetid("own", 1), helper.make_opsetid("", 18)]
    for k in range(40):
        inner = ("Relu", "") if not k else (f"f{k - 1}", "own")
        calls = [helper.make_node(inner[0], [i], [o], domain=inner[1]) for i, o in (("a", "t"), ("t", "b"))]
        doubling.functions.append(helper.make_function("own", f"f{k}", ["a"], ["b"], calls, versions))
    doubling.graph.node[0].op_type = "f39"
    CASES["functions that double 40 times"] = Case("model.too_large", "load", doubling)


def declare_sizes():
    """Few bytes of model that stand for many: what is constant is computed ahead of time only while it is small."""
    shape, gigabyte = helper.make_tensor("s", INT, [1], [250_000_000]), [helper.make_node("Relu", ["c"], ["y"])]
    CASES["a gigabyte of zeros"] = Case(
        "", "tasks", model([helper.make_node("ConstantOfShape", ["s"], ["c"]), *gigabyte], [], [("s", shape)])
    )
    steps = [helper.make_node("Concat", [f"t{k}"] * 2, [f"t{k + 1}"], axis=0) for k in range(28)]
    CASES["28 doublings"] = Case(
        "", "tasks", model([*steps, helper.make_node("Relu", ["t28"], ["y"])], [], [("t0", floats(1))])
    )
    for rank in (65, 3000):
        relu = [helper.make_node("Relu", ["x"], ["y"], name="bad")]
        CASES[f"{rank} dimensions"] = Case("model.too_large", "compile", model(relu, [info("x", [1] * rank)]), "'x'")
        made = [helper.make_node("Reshape", ["x", "s"], ["y"], name="bad")]
        to = ("s", helper.make_tensor("s", INT, [rank], [1] * rank))
        CASES[f"reshaped to {rank} dimensions"] = Case(
            "model.too_large", "compile", model(made, [info("x", [1])], [to])
        )


def declare_values():
    """Values that arrive at run time and say absurd shapes."""
    for op, code, value in (
        ("Reshape", "model.shape_mismatch", ints(HUGE, HUGE)),
        ("Expand", "model.too_large", ints(HUGE, 3, 8, 8)),
        ("Expand to 2**36", "model.too_large", ints(2**36, 1, 1, 1)),
        ("Tile", "model.too_large", ints(2**62, 1, 1, 1)),
        ("ConstantOfShape", "model.too_large", ints(2**36)),
    ):
        name = op.split()[0]
        inputs = ["v"] if name == "ConstantOfShape" else ["x", "v"]
        proto = model(
            [helper.make_node(name, inputs, ["y"], name="bad")],
            [info("x", [1, 3, 8, 8]), info("v", [len(value)], INT)][-len(inputs) :],
        )
        feeds = {"x": np.zeros((1, 3, 8, 8), np.float32), "v": value}
        CASES[f"{op} at run time"] = Case(code, "run", (proto, {n: feeds[n] for n in inputs}))


for _declare in (declare_shapes, declare_attributes, declare_graphs, declare_sizes, declare_values):
    _declare()


def attempt(to: str, source: object) -> tuple[str, str]:
    """Load, compile or run a model; code and message of the error, or nothing."""
    import workbench as wb
    from workbench.graph.onnx import read_program
    from workbench.network.dynamic_shapes import DynamicExecutable

    try:
        if to == "run":
            proto, feeds = source
            DynamicExecutable(read_program(proto)).run(feeds)
        else:
            graph = wb.load_onnx(source)
            if to == "compile":
                wb.compile(graph)
            elif to == "tasks":
                wb.extract_tasks(graph.optimize())
    except wb.WorkbenchError as e:
        return e.code, str(e)
    except BaseException as e:
        return f"{type(e).__name__}", str(e)[:300]
    return "", ""


def measure(to: str, source: object) -> dict[str, object]:
    """Try a model in a child process with limits: what came out, seconds of the processor, MiB beyond its beginning."""
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        before, held = resource.getrusage(resource.RUSAGE_SELF), peak_bytes()
        code, text = attempt(to, source)
        after = resource.getrusage(resource.RUSAGE_SELF)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found = {"code": code, "text": text, "mib": (peak_bytes() - held) / 2**20, "seconds": seconds}
        os.write(send, json.dumps(found).encode())
        os._exit(0)
    os.close(send)
    with open(receive, "rb") as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    return json.loads(said) if said else {"code": f"died of {status}", "text": "", "mib": 0, "seconds": SECONDS}


def main() -> None:
    """Try all models whose names contain the argument, in processes that have everything loaded already."""
    import workbench as wb
    import workbench.network.dynamic_shapes  # loaded once and not by each child

    warm = model([helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Selu", ["x"], ["z"])], outputs=("y", "z"))
    wb.load_onnx(warm).optimize()
    for name, case in CASES.items():
        if not sys.argv[1:] or sys.argv[1] in name:
            print(json.dumps({"name": name, **measure(case.stage, case.source)}), flush=True)


if __name__ == "__main__":
    main()
