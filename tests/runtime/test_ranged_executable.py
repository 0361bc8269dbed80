"""Executables for a range of sizes: right for each of them, compiled ahead, and open about what does not fit."""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from graph.test_padding import INT, model_of, node
from graph.test_uses import by_onnxruntime

import workbench as wb
from workbench.cli.model import parse_dynamic
from workbench.codegen import backend
from workbench.errors import ModelError, ModelWarning, ShapeError, UsageError
from workbench.graph.onnx import read_program
from workbench.graph.open_sizes import open_sizes
from workbench.network.padded_run import PaddedRun
from workbench.network.ranged_executable import RangedExecutable
from workbench.network.recently_used import RecentlyUsed
from workbench.runtime.execution.alternating_runs import _Turn
from workbench.runtime.execution.recorded_run import record_in_turns

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def weights(seed=0, **shapes):
    rng = np.random.default_rng(seed)
    return {n: (rng.standard_normal(s) / np.sqrt(s[0])).astype(np.float32) for n, s in shapes.items()}


def attention():
    """A layer of attention over n words of 8 numbers in 2 heads, and the mean over the words."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["n"], axis=0),
        node("Unsqueeze", ["n", "first"], ["n1"]),
        node("Concat", ["n1", "heads"], ["split"], axis=0),
    ]
    for k, perm in (("q", [1, 0, 2]), ("k", [1, 2, 0]), ("v", [1, 0, 2])):
        nodes += [node("MatMul", ["x", f"w{k}"], [f"p{k}"]), node("Reshape", [f"p{k}", "split"], [f"r{k}"])]
        nodes.append(node("Transpose", [f"r{k}"], [k], perm=perm))
    nodes += [
        node("MatMul", ["q", "k"], ["scores"]),
        node("Softmax", ["scores"], ["shares"], axis=-1),
        node("MatMul", ["shares", "v"], ["found"]),
        node("Transpose", ["found"], ["f"], perm=[1, 0, 2]),
        node("Reshape", ["f", "flat"], ["y0"]),
        node("LayerNormalization", ["y0", "scale"], ["y"], axis=-1),
        node("ReduceMean", ["y"], ["mean"], axes=[0]),
    ]
    constants = {"zero": INT(0), "first": INT([0]), "heads": INT([2, 4]), "flat": INT([-1, 8])}
    constants |= weights(wq=(8, 8), wk=(8, 8), wv=(8, 8)) | {"scale": np.ones(8, np.float32)}
    return model_of(nodes, {"x": ["n", 8]}, constants, ("y", "mean"))


def recogniser():
    """Convolutions over an image of free width, with a pool and a sum over the whole, and scores for each column."""
    nodes = [
        node("Conv", ["x", "w1"], ["c1"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["c1"], ["r1"]),
        node("GlobalAveragePool", ["r1"], ["g"]),
        node("Mul", ["r1", "g"], ["s"]),
        node("Conv", ["s", "w2"], ["c2"], pads=[1, 1, 1, 1]),
        node("MaxPool", ["c2"], ["p"], kernel_shape=[4, 2], strides=[4, 2]),
        node("Squeeze", ["p", "two"], ["q"]),
        node("Transpose", ["q"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["t", "w3"], ["m"]),
        node("Softmax", ["m"], ["y"], axis=2),
    ]
    constants = weights(w1=(8, 3, 3, 3), w2=(8, 8, 3, 3), w3=(8, 5)) | {"two": INT([2])}
    return model_of(nodes, {"x": [1, 3, 8, "width"]}, constants)


def chooser():
    """Boxes that stay, by the sums of their numbers, and the last one."""
    nodes = [
        node("Unsqueeze", ["x", "zero"], ["boxes"]),
        node("ReduceMean", ["boxes"], ["mean"], axes=[2], keepdims=0),
        node("Unsqueeze", ["mean", "zero"], ["scores"]),
        node("NonMaxSuppression", ["boxes", "scores", "most"], ["kept"]),
        node("Gather", ["kept", "two"], ["which"], axis=1),
        node("Gather", ["x", "which"], ["found"], axis=0),
        node("Concat", ["x", "x"], ["twice"], axis=0),
        node("Gather", ["twice", "last"], ["end"], axis=0),
    ]
    constants = {"zero": INT([0]), "most": INT([5]), "two": INT(2), "last": INT([-1])}
    return model_of(nodes, {"x": ["n", 4]}, constants, ("found", "twice", "end"))


def drawn(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def agrees(executable, model, feeds):
    executable.poison()
    got = executable.run(feeds)
    for a, b in zip(got.values(), by_onnxruntime(model, feeds), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    return got


@pytest.mark.parametrize(
    ("model", "name", "lengths", "shape"),
    [
        (attention(), "n", range(15, 21), lambda n: (n, 8)),
        (recogniser(), "width", range(33, 41), lambda n: (1, 3, 8, n)),
        (chooser(), "n", range(33, 41), lambda n: (n, 4)),
    ],
    ids=["attention", "recogniser", "chooser"],
)
def test_every_size_is_right_and_compiled_ahead(model, name, lengths, shape, monkeypatch):
    graph = wb.load_onnx(model, dynamic={name: lengths})
    assert graph.dynamic == {name: tuple(lengths)}
    executable = wb.compile(graph, threads=1)
    assert isinstance(executable, RangedExecutable)
    assert not executable.reason
    assert len(executable.compiled) < len(lengths)

    def refuse(*_, **__):
        raise AssertionError("a run compiles")

    monkeypatch.setattr(backend, "build_func", refuse)
    monkeypatch.setattr("workbench.network.kernel_builder.build_func", refuse)
    monkeypatch.setattr("workbench.graph.evaluation.infer", refuse)
    for n in np.random.default_rng(0).permutation(lengths):
        agrees(executable, model, {"x": drawn(shape(n), n)})
    table = executable.dynamic_table()
    assert list(table.columns) == [name, f"{name}_most", "kernels", "ms", "untuned"]
    assert (table[name].iloc[0], table[f"{name}_most"].iloc[-1]) == (lengths[0], lengths[-1])
    assert (table.ms > 0).all()
    x = drawn(shape(lengths[3]), 0)
    assert executable.benchmark({"x": x}, repeat=2).median_ms > 0
    assert len(executable.profile({"x": x}, repeat=1, roofline=False)) > 3


@pytest.fixture(scope="module")
def small():
    return attention(), wb.compile(wb.load_onnx(attention(), dynamic={"n": range(15, 19)}), threads=1)


def test_results_go_into_arrays_of_the_caller(small):
    model, executable = small
    x, y = drawn((17, 8), 1), np.empty((17, 8), np.float32)
    assert executable.run(x, out={"y": y})["y"] is y
    np.testing.assert_allclose(y, by_onnxruntime(model, {"x": x})[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(ShapeError):
        executable.run(x, out={"y": np.empty((18, 8), np.float32)})
    bound = executable.bind(x)
    x[...] = drawn((17, 8), 2)
    np.testing.assert_allclose(bound()["y"], by_onnxruntime(model, {"x": x})[0], rtol=1e-4, atol=1e-5)


def test_bound_runs_read_the_arrays_that_were_given(small):
    model, executable = small
    x = drawn((17, 8), 1)
    feeds, places = {"x": x}, {"y": np.empty((17, 8), np.float32)}
    executable.run(feeds)  # a mapping of arrays that were seen to fit is taken as it is
    bound, y = executable.bind(feeds, out=places), places["y"]
    feeds["x"], places["y"] = drawn((17, 8), 2), None
    assert bound()["y"] is y
    np.testing.assert_allclose(y, by_onnxruntime(model, {"x": x})[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(UsageError) as refused:
        executable.bind(np.asfortranarray(x))
    assert refused.value.code == "run.bind"
    with pytest.raises(UsageError, match="overlaps"):
        executable.bind(x, out={"y": x})


@pytest.mark.parametrize("other", ["Neg", "NonZero"])
def test_outputs_are_written_where_all_can_be(other):
    model = model_of([node("Relu", ["x"], ["y"]), node(other, ["x"], ["z"])], {"x": ["n", 8]}, {}, ("y", "z"))
    executable = wb.compile(wb.load_onnx(model, dynamic={"n": range(17, 20)}), threads=1)
    assert executable.compiled
    x, y = np.ones((17, 8), np.float32), np.zeros((17, 8), np.float32)
    want = executable.run(x)["z"]
    with pytest.raises(ShapeError, match="out\\['z'\\]"):
        executable.run(x, out={"y": y, "z": np.empty((3, 8), want.dtype)})
    assert not y.any()
    executable.run(x, out={"y": y, "z": (z := np.empty_like(want))})
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(z, want)


def test_arrays_of_the_caller_are_let_go_of_after_a_run():
    model = model_of([node("Add", ["x", "x"], ["y"])], {"x": ["n", 512]})
    executable = wb.compile(wb.load_onnx(model, dynamic={"n": range(17, 25)}), threads=1)

    def seen():
        x = drawn((24, 512), 0)  # as large as the kernels' own, so that they read it where it is
        return [weakref.ref(a) for a in (x, executable.run(x)["y"])]

    assert [r() for _ in range(2) for r in seen()] == [None] * 4


def test_only_what_waits_is_poisoned(small, monkeypatch):
    _, executable = small
    executable.run(drawn((17, 8), 0))
    seen = []
    monkeypatch.setattr(
        PaddedRun, "poison", lambda run: seen.append([c.runs.take() is run for c in executable.compiled])
    )
    waiting = sum(len(c.runs.waiting) for c in executable.compiled)
    executable.poison()
    assert len(seen) == waiting > 0
    assert not any(map(any, seen))  # no run can have taken it meanwhile


def test_what_is_recorded_is_of_the_kernels_that_run_the_inputs(small, monkeypatch):
    _, executable = small
    smaller = executable.compiled[0]
    assert smaller.bucket.most < executable.compiled[-1].bucket.most
    monkeypatch.setattr(executable, "_choices", RecentlyUsed(1 << 20))
    for one, ms in zip(executable.compiled, (1.0, 2.0, 2.0), strict=True):
        one.ms = ms
    x = drawn((15, 8), 0)
    assert executable.record({"x": x}, runs=1, roofline=False).plan is smaller.executable.plan
    assert record_in_turns([executable], {"x": x}, runs=1, roofline=False)[0].plan is smaller.executable.plan
    assert record_in_turns([executable], runs=1, roofline=False)[0].plan is executable.plan
    with executable.measuring({"x": x}) as context:
        assert context.network is smaller.executable.network
    turn = _Turn(executable, {"x": x})
    turn.run()
    assert len(turn.found)


def test_graphs_of_open_lengths_are_changed_for_one_size_alone():
    graph = wb.load_onnx(attention(), dynamic={"n": range(15, 19)})
    for change in (lambda: wb.extern(graph, graph.nodes[0].name, np.add), lambda: wb.sparsify(graph),
                   lambda: wb.partition(graph)):  # fmt: skip
        with pytest.raises(ModelError, match="lengths of n are open") as refused:
            change()
        assert refused.value.code == "model.dynamic_shape"
        assert refused.value.hint


def test_arrays_of_any_kind_are_taken_after_others_of_their_shape(small):
    model, executable = small
    x = drawn((17, 8), 3)
    want = by_onnxruntime(model, {"x": x})[0]
    for given in (x, x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x.copy()):
        np.testing.assert_allclose(executable.run(given)["y"], want, rtol=1e-4, atol=1e-5)
    for _ in range(2):
        with pytest.raises(ShapeError) as refused:
            executable.run(x.astype(np.float64))
        assert refused.value.code == "shape.dtype"
        with pytest.raises(ShapeError):
            executable.run(drawn((19, 8), 0))


def test_sizes_in_turns_on_the_same_kernels_leave_each_others_results_alone(small):
    """Whose inputs are padded and whose are not, and outputs that are copied and that are not."""
    model, executable = small
    kept = []
    for n in (17, 18, 15, 17, 18, 16, 17):
        feeds = {"x": drawn((n, 8), len(kept))}
        if len(kept) == 4:
            executable.poison()
        kept.append((executable.run(feeds), by_onnxruntime(model, feeds)))
    for got, want in kept:
        for a, b in zip(got.values(), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_large_outputs_have_memory_of_their_own():
    model = model_of(
        [node("Add", ["x", "x"], ["y"]), node("Transpose", ["y"], ["z"])], {"x": ["n", 512]}, {}, ("y", "z")
    )
    executable = wb.compile(wb.load_onnx(model, dynamic={"n": range(17, 25)}), threads=1)
    found = []
    for n in (17, 17, 18, 24, 24):
        x = drawn((n, 512), len(found))
        found.append((x, executable.run(x)))
    for x, got in found:
        np.testing.assert_array_equal(got["y"], 2 * x)
        np.testing.assert_array_equal(got["z"], 2 * x.T)
        assert got["z"].flags.c_contiguous


def test_runs_of_several_threads_are_apart(small):
    model, executable = small
    feeds = [{"x": drawn((n, 8), n)} for n in (15, 16, 17, 18)]
    want = [by_onnxruntime(model, f) for f in feeds]

    def work(k):
        return [executable.run(feeds[(k + i) % 4]) for i in range(100)]

    with ThreadPoolExecutor(4) as pool:
        for k, found in enumerate(pool.map(work, range(4))):
            for i, got in enumerate(found):
                np.testing.assert_allclose(got["y"], want[(k + i) % 4][0], rtol=1e-4, atol=1e-5)


def test_an_output_that_is_an_input():
    """It is read where the caller has it, of each run anew."""
    model = model_of(
        [node("Identity", ["x"], ["same"]), node("Add", ["x", "x"], ["y"])], {"x": ["n"]}, {}, ("same", "y")
    )
    executable = wb.compile(wb.load_onnx(model, dynamic={"n": range(17, 20)}), threads=1)
    for n, seed in ((17, 0), (17, 1), (18, 2), (18, 3)):
        x = drawn((n,), seed)
        got = executable.run({"x": x})
        np.testing.assert_array_equal(got["same"], x)
        np.testing.assert_array_equal(got["y"], 2 * x)


def test_what_sizes_bring_along_is_bounded(small, monkeypatch):
    model, executable = small
    few = RecentlyUsed(3000)  # two sizes
    monkeypatch.setattr(executable, "_choices", few)
    for n in (15, 16, 17, 18, 15, 17, 15):
        agrees(executable, model, {"x": drawn((n, 8), n)})
        assert few.nbytes <= few.most
        assert len(few) <= 2


def test_what_was_used_last_is_kept():
    kept = RecentlyUsed(2)
    assert [kept.put(k, k, 1) for k in "ab"] == ["a", "b"]
    kept.get("a")
    kept.put("c", "c", 1)
    assert (kept.get("a"), kept.get("b")) == ("a", None)
    kept = RecentlyUsed(10)
    assert [kept.put(k, k.upper(), 4) for k in "ab"] == ["A", "B"]
    assert kept.put("a", "other", 4) == "A"
    kept.put("c", "C", 4)
    assert (kept.get("a"), kept.get("b"), kept.get("c"), kept.nbytes) == (None, "B", "C", 8)
    kept.get("b")
    kept.put("d", "D", 4)
    assert (kept.get("b"), kept.get("c"), len(kept)) == ("B", None, 2)
    kept.put("e", "E", 99)
    assert (len(kept), kept.get("e")) == (1, "E")


def test_sizes_outside_of_the_range_are_refused(small):
    _, executable = small
    for shape, code in (((19, 8), "shape.range"), ((14, 8), "shape.range"), ((17, 7), "shape.mismatch")):
        with pytest.raises(ShapeError) as refused:
            executable.run(drawn(shape, 0))
        assert refused.value.code == code
    with pytest.raises(ModelError):
        executable.export("never.so")


def test_a_larger_bucket_that_is_faster_is_taken():
    model = attention()
    executable = wb.compile(wb.load_onnx(model, dynamic={"n": range(17, 21)}), threads=1)
    assert [c.bucket.most for c in executable.compiled] == [(18,), (20,)]
    slow = RangedExecutable.__new__(RangedExecutable)
    slow.__dict__.update(executable.__dict__, _choices=RecentlyUsed(1 << 20))
    for one, ms in zip(slow.compiled, (2.0, 1.0), strict=True):
        one.ms = ms
    agrees(slow, model, {"x": drawn((17, 8), 0)})
    assert list(slow.dynamic_table()["kernels"]) == ["20", "20"]


def test_a_network_that_does_not_fit_says_why_and_is_compiled_for_each_shape():
    end = node("GatherElements", ["x", "last"], ["y"], axis=0, name="end")
    model = model_of([end], {"x": ["n", 4]}, {"last": INT([[-1] * 4])})
    graph = wb.load_onnx(model, dynamic={"n": range(30, 40)})
    with pytest.warns(ModelWarning, match="'end'") as told:
        executable = wb.compile(graph, threads=1)
    assert told[0].message.code == "model.padding"
    assert "there is no rule" in executable.reason
    for n in (31, 38):
        agrees(executable, model, {"x": drawn((n, 4), n)})
    assert executable.dynamic_table().empty
    with pytest.raises(ShapeError):
        executable.run(drawn((40, 4), 0))


def inner(least, most):
    """Leaves out the first ``(n - least) * (most - n)`` rows: none at both ends."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Slice", ["shape", "zero", "one"], ["n"]),
        node("Sub", ["n", "least"], ["above"]),
        node("Sub", ["most", "n"], ["below"]),
        node("Mul", ["above", "below"], ["start"]),
        node("Slice", ["x", "start", "far", "zero"], ["y"], name="cut"),
    ]
    ends = {"zero": INT([0]), "one": INT([1]), "far": INT([999]), "least": INT([least]), "most": INT([most])}
    return model_of(nodes, {"x": ["n", 4]}, ends)


@pytest.mark.parametrize("ahead", [True, False])
def test_a_size_inside_a_bucket_that_is_another_network(ahead, monkeypatch):
    lengths = range(30, 40)
    found = open_sizes(read_program(inner(0, 0)), {"n": lengths}).buckets()
    (least,), (most,) = found[-1].least, found[-1].most
    assert most - least > 1
    graph = wb.load_onnx(inner(least, most), dynamic={"n": range(least, most + 1)})
    assert len(graph.open.buckets()) == 1
    if ahead:
        with pytest.warns(ModelWarning, match="'cut'"):
            executable = wb.compile(graph, threads=1)
    else:
        monkeypatch.setattr("workbench.network.ranged_executable.AHEAD", 0)
        executable = wb.compile(graph, threads=1)
    assert bool(executable.compiled) is not ahead
    for n in (least, least + 1, most):
        agrees(executable, inner(least, most), {"x": drawn((n, 4), n)})
    assert len(executable.profile({"x": drawn((least + 1, 4), 0)}, repeat=1, roofline=False)) > 0


@pytest.mark.filterwarnings("ignore::workbench.errors.ModelWarning")
@pytest.mark.parametrize("dynamic", [True, {"n": range(30, 40)}])
def test_what_is_compiled_for_each_shape_is_compiled_as_asked(dynamic):
    nodes = [node("GatherElements", ["x", "last"], ["a"]), node("Relu", ["a"], ["b"]), node("Exp", ["b"], ["y"])]
    graph = wb.load_onnx(model_of(nodes, {"x": ["n", 4]}, {"last": INT([[-1] * 4])}), dynamic=dynamic)

    def stages(**how):
        executable = wb.compile(graph, **how)
        executable.run(drawn((31, 4), 0))
        rest = executable._per_shape if isinstance(executable, RangedExecutable) else executable.rest
        return executable, [built for _, built in rest._stages.values()]

    executable, (fused,) = stages(threads=1)
    assert fused.threads == 1
    executable.set_threads(2)
    assert fused.threads == 2
    executable.run(drawn((32, 4), 0))
    _, (plain,) = stages(threads=1, without="fuse")
    assert len(plain.plan.calls) > len(fused.plan.calls)
    for how, code in (({"without": "fusee"}, "usage.pass"), ({"precision": "float8"}, "usage.precision")):
        with pytest.raises(UsageError) as refused:
            wb.compile(graph, **how)
        assert refused.value.code == code


def test_lengths_can_be_said_when_compiling():
    model = attention()
    graph = wb.load_onnx(model, {"x": (16, 8)})
    assert not isinstance(wb.compile(graph, threads=1), RangedExecutable)
    executable = wb.compile(graph, threads=1, dynamic={"n": [4, 5]})
    agrees(executable, model, {"x": drawn((5, 8), 0)})
    with pytest.raises(UsageError) as refused:
        wb.compile(graph.replace(name="made"), dynamic={"n": [4]})
    assert refused.value.code == "usage.dynamic"


@pytest.mark.slow
def test_tasks_of_a_few_lengths_are_tuned_and_the_others_borrow(tmp_path):
    model = attention()
    graph = wb.load_onnx(model, dynamic={"n": range(17, 21)})
    tasks = wb.extract_tasks(graph)
    assert len(tasks) > len(wb.extract_tasks(wb.load_onnx(model, {"x": (20, 8)})))
    log = tmp_path / "log.jsonl"
    wb.tune(tasks[:2], trials=4, log=log, seed=0, progress=False).wait()
    executable = wb.compile(graph, log)
    assert any(c.executable.borrowed for c in executable.compiled)
    for n in (17, 20):
        agrees(executable, model, {"x": drawn((n, 8), n)})


def test_shapes_may_be_anything():
    nodes = [node("Reshape", ["x", "shape"], ["r"]), node("NonZero", ["r"], ["y"])]
    model = model_of(nodes, {"x": ["n", 4]})
    model.graph.input.append(onnx.helper.make_tensor_value_info("shape", onnx.TensorProto.INT64, [2]))
    graph = wb.load_onnx(model, dynamic=True)
    assert (graph.nodes, graph.inputs, graph.dynamic) == ((), (), {})
    executable = wb.compile(graph, threads=1)
    for shape in ((2, 2), (4, -1), (1, 8)):
        feeds = {"x": drawn((shape[0] * abs(shape[1]) // 4 or 1, 4), 0).round(), "shape": INT(shape)}
        got = executable.run(feeds)["y"]
        np.testing.assert_array_equal(got, by_onnxruntime(model, feeds)[0])
    assert executable.reference_steps == ()
    with pytest.raises(ModelError) as refused:
        executable.profile(feeds)
    assert refused.value.code == "model.dynamic_shape"  # two stages, as values decide what NonZero gives
    for look in (executable.record, executable.profile, executable.empty_inputs, executable.measuring(None).__enter__):
        with pytest.raises(ModelError) as refused:
            look()
        assert refused.value.code == "model.unresolved_dim"


def test_lengths_on_the_command_line():
    assert parse_dynamic(["n=1..512", "x.3=32..96..32"]) == {"n": range(1, 513), "x.3": range(32, 97, 32)}
    for wrong in (["n=5"], ["=1..2"], ["n=1..2..0"], ["n=1..2", "n=1..3"]):
        with pytest.raises(UsageError) as refused:
            parse_dynamic(wrong)
        assert refused.value.code == "usage.dynamic"


def test_bytes_in_the_other_order_are_refused():
    model = model_of([node("Add", ["x", "x"], ["y"])], {"x": ["n"]})
    executable = wb.compile(wb.load_onnx(model, dynamic={"n": range(5, 11)}), threads=1)
    for _ in range(2):  # also of a shape that was seen
        with pytest.raises(ShapeError) as refused:
            executable.run({"x": np.arange(10, dtype=">f4")})
        assert refused.value.code == "shape.dtype"
    np.testing.assert_array_equal(executable.run({"x": np.arange(10, dtype="f4")})["y"], 2 * np.arange(10))
