"""Programs in TVM's words, as its tutorials are: they run with other imports, or with two lines in front of them."""

from __future__ import annotations

import importlib
import re
import sys

import numpy as np
import pytest

import workbench as wb
from workbench.errors import WorkbenchError

#: What stands in front of a program whose imports stay as they are.
INSTALLED = ["import workbench.tvm", "workbench.tvm.install_as_tvm()"]
#: All that is changed of a program otherwise, at most five lines in each.
CHANGES = {
    "import tvm": "import workbench.tvm as tvm",
    "import tvm.testing": "import workbench.tvm.testing",
    "import tvm.relay.testing": "import workbench.tvm.relay.testing",
    "import tvm.contrib.graph_executor as runtime": "import workbench.tvm.contrib.graph_executor as runtime",
}
MOST = 5

#: Tuning a network with the auto-scheduler.
NETWORK = """
import numpy as np
import tvm
from tvm import relay, auto_scheduler
from tvm.relay import data_dep_optimization as ddo
import tvm.relay.testing
from tvm.contrib import graph_executor

target = tvm.target.Target("llvm")
log_file = "%s-%s-B%d-%s.json" % (name, layout, 2, target.kind.name)
shape = (3, 32, 32) if layout == "NCHW" else (32, 32, 3)
family = getattr(relay.testing, name)
mod, params = family.get_workload(
    batch_size=2, layout=layout, dtype="float32", image_shape=shape, num_classes=9, **which
)

tasks, task_weights = auto_scheduler.extract_tasks(mod["main"], params, target)
for idx, task in enumerate(tasks):
    print("Task %d %s" % (idx, task.workload_key))
    print(task.compute_dag)

tuner = auto_scheduler.TaskScheduler(tasks, task_weights)
tune_option = auto_scheduler.TuningOptions(
    num_measure_trials=trials,
    runner=auto_scheduler.LocalRunner(repeat=2, enable_cpu_cache_flush=True),
    measure_callbacks=[auto_scheduler.RecordToFile(log_file)],
)
tuner.tune(tune_option)

with auto_scheduler.ApplyHistoryBest(log_file):
    with tvm.transform.PassContext(opt_level=3, config={"relay.backend.use_auto_scheduler": True}):
        lib = relay.build(mod, target=target, params=params)

dev = tvm.device(str(target), 0)
module = graph_executor.GraphModule(lib["default"](dev))
data = tvm.nd.array(np.random.uniform(size=(2,) + shape).astype("float32"))
module.set_input("data", data)
module.run()
result = module.get_output(0).numpy()
times = str(module.benchmark(dev, repeat=2, min_repeat_ms=1))
"""

#: Tuning an operator with a template of AutoTVM.
OPERATOR = """
import numpy as np
import tvm
from tvm import te
import tvm.testing
from tvm import autotvm

@autotvm.template("test/product")
def product(n, l, m, dtype):
    a = te.placeholder((n, l), name="A", dtype=dtype)
    b = te.placeholder((l, m), name="B", dtype=dtype)
    k = te.reduce_axis((0, l), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    y, x = s[c].op.axis
    k = s[c].op.reduce_axis[0]
    cfg = autotvm.get_config()
    if knobs:
        cfg.define_knob("tile_y", [1, 2, 4, 8, 16])
        cfg.define_knob("tile_x", [1, 2, 4, 8, 16])
        yo, yi = s[c].split(y, cfg["tile_y"].val)
        xo, xi = s[c].split(x, cfg["tile_x"].val)
    else:
        cfg.define_split("tile_y", y, num_outputs=2)
        cfg.define_split("tile_x", x, num_outputs=2)
        yo, yi = cfg["tile_y"].apply(s, c, y)
        xo, xi = cfg["tile_x"].apply(s, c, x)
    s[c].reorder(yo, xo, k, yi, xi)
    return s, [a, b, c]

task = autotvm.task.create("test/product", args=(64, 32, 16, "float32"), target="llvm")
space = task.config_space
option = autotvm.measure_option(builder="local", runner=autotvm.LocalRunner(number=5))
tuner = autotvm.tuner.RandomTuner(task)
tuner.tune(n_trial=4, measure_option=option, callbacks=[autotvm.callback.log_to_file("product.log")])

with autotvm.apply_history_best("product.log"):
    with tvm.target.Target("llvm"):
        s, arguments = product(64, 32, 16, "float32")
        func = tvm.build(s, arguments)

a_np = np.random.uniform(size=(64, 32)).astype(np.float32)
b_np = np.random.uniform(size=(32, 16)).astype(np.float32)
c_tvm = tvm.nd.empty((64, 16))
func(tvm.nd.array(a_np), tvm.nd.array(b_np), c_tvm)
tvm.testing.assert_allclose(c_tvm.numpy(), a_np.dot(b_np), rtol=1e-4)
"""

#: A matrix product that is scheduled by hand.
BY_HAND = """
import numpy as np
import tvm
from tvm import te
import tvm.testing

A = te.placeholder((64, 48), name="A")
B = te.placeholder((48, 80), name="B")
k = te.reduce_axis((0, 48), "k")
C = te.compute((64, 80), lambda m, n: te.sum(A[m, k] * B[k, n], axis=k), name="C")
s = te.create_schedule(C.op)
CC = s.cache_write(C, "global")
mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], 16, 16)
s[CC].compute_at(s[C], no)
mc, nc = s[CC].op.axis
(kaxis,) = s[CC].op.reduce_axis
ko, ki = s[CC].split(kaxis, factor=4)
s[CC].reorder(ko, mc, ki, nc)
s[CC].vectorize(nc)
s[CC].unroll(ki)
s[C].parallel(mo)
text = str(tvm.lower(s, [A, B, C], simple_mode=True))
func = tvm.build(s, [A, B, C], target="llvm", name="mmult")
dev = tvm.device("llvm", 0)
a = tvm.nd.array(np.random.rand(64, 48).astype("float32"), dev)
b = tvm.nd.array(np.random.rand(48, 80).astype("float32"), dev)
c = tvm.nd.array(np.zeros((64, 80), "float32"), dev)
func(a, b, c)
tvm.testing.assert_allclose(c.numpy(), np.dot(a.numpy(), b.numpy()), rtol=1e-5)
seconds = func.time_evaluator(func.entry_name, dev, number=2)(a, b, c).mean
"""


#: The same with an operand that is packed by a stage of its own.
PACKED = """
import numpy as np
import tvm
from tvm import te
import tvm.testing

A = te.placeholder((64, 48), name="A")
B = te.placeholder((48, 80), name="B")
k = te.reduce_axis((0, 48), "k")
packed = te.compute((80 // 16, 48, 16), lambda big, k, small: B[k, big * 16 + small], name="packed")
C = te.compute((64, 80), lambda m, n: te.sum(A[m, k] * packed[n // 16, k, n % 16], axis=k), name="C")
s = te.create_schedule(C.op)
mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], 16, 16)
ko, ki = s[C].split(s[C].op.reduce_axis[0], factor=4)
s[C].reorder(mo, no, ko, mi, ki, ni)
s[C].vectorize(ni)
big, _, small = s[packed].op.axis
s[packed].vectorize(small)
s[packed].parallel(big)
func = tvm.build(s, [A, B, C], target="llvm")
a, b, c = (tvm.nd.array(np.random.rand(*t.shape).astype("float32")) for t in (A, B, C))
func(a, b, c)
tvm.testing.assert_allclose(c.numpy(), np.dot(a.numpy(), b.numpy()), rtol=1e-5)
"""


#: AutoTVM on a network, with the choice of layouts after it.
NETWORK_BY_AUTOTVM = """
import numpy as np
import tvm
from tvm import relay, autotvm
from tvm.relay import testing
from tvm.autotvm.tuner import XGBTuner, GATuner, RandomTuner, GridSearchTuner
from tvm.autotvm.graph_tuner import DPTuner, PBQPTuner
import tvm.contrib.graph_executor as runtime

target = "llvm"
log_file, graph_opt_sch_file = "mlp.log", "mlp_graph_opt.log"
mod, params = relay.testing.mlp.get_workload(batch_size=1, dtype="float32")
option = autotvm.measure_option(
    builder=autotvm.LocalBuilder(),
    runner=autotvm.LocalRunner(number=1, repeat=2, min_repeat_ms=0, enable_cpu_cache_flush=True),
)
target_op = [relay.op.get("nn.dense")]
tasks = autotvm.task.extract_from_program(mod["main"], target=target, params=params, ops=target_op)
for i, task in enumerate(tasks[:1]):
    prefix = "[Task %2d/%2d] " % (i + 1, len(tasks))
    tuner_obj = XGBTuner(task, loss_type="rank")
    n_trial = min(2, len(task.config_space))
    tuner_obj.tune(
        n_trial=n_trial,
        early_stopping=None,
        measure_option=option,
        callbacks=[
            autotvm.callback.progress_bar(n_trial, prefix=prefix),
            autotvm.callback.log_to_file(log_file),
        ],
    )
executor = DPTuner(mod["main"], {"data": (1, 1, 28, 28)}, log_file, target_op, target)
executor.benchmark_layout_transform(min_exec_num=2000)
executor.run()
executor.write_opt_sch2record_file(graph_opt_sch_file)
with autotvm.apply_graph_best(graph_opt_sch_file):
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target=target, params=params)
dev = tvm.cpu()
module = runtime.GraphModule(lib["default"](dev))
data = np.random.uniform(size=(1, 1, 28, 28)).astype("float32")
module.set_input("data", tvm.nd.array(data))
module.run()
result = module.get_output(0).numpy()
"""

#: A convolution by hand: what lies outside of the image, a packed shape by division, two conditions at once.
CONVOLUTION = """
import numpy as np
import tvm
from tvm import te
import tvm.testing

H, CO, CI = 14, 16, 8
data = te.placeholder((1, CI, H, H), name="data")
kernel = te.placeholder((CO, CI, 3, 3), name="kernel")
pad = te.compute(
    (1, CI, H + 2, H + 2),
    lambda n, c, h, w: tvm.tir.if_then_else(
        tvm.tir.all(h >= 1, h < H + 1, w >= 1, w < H + 1), data[n, c, h - 1, w - 1], tvm.tir.const(0, "float32")
    ),
    name="pad",
)
packed = te.compute((CO / 8, CI, 3, 3, 8), lambda o, *i: kernel(o * 8 + i[3], *i[:3]), name="packed")
rc = te.reduce_axis((0, CI), name="rc")
ry, rx = te.reduce_axis((0, 3), name="ry"), te.reduce_axis((0, 3), name="rx")
conv = te.compute(
    (1, CO, H, H),
    lambda n, f, y, x: te.sum(
        pad[n, rc, y + ry, x + rx] * packed[f // 8, rc, ry, rx, tvm.tir.indexmod(f, 8)], axis=[rc, ry, rx]
    ),
    name="conv",
)
s = te.create_schedule(conv.op)
n, f, y, x = s[conv].op.axis
rc, ry, rx = s[conv].op.reduce_axis
fo, fi = s[conv].split(f, 8)
s[conv].reorder(n, fo, y, rc, ry, rx, x, fi)
s[conv].unroll(rx)
s[conv].vectorize(fi)
s[pad].compute_at(s[conv], y)
s[conv].parallel(s[conv].fuse(n, fo))
target = tvm.target.Target(target="llvm", host="llvm")
func = tvm.build(s, [data, kernel, conv], target)
a, b, c = (tvm.nd.array(np.random.rand(*t.shape).astype(t.dtype)) for t in (data, kernel, conv))
func(a, b, c)
"""

#: A reduction in two steps.
REDUCTION = """
import numpy as np
import tvm
from tvm import te
import tvm.testing

A = te.placeholder((64, 32), name="A")
k = te.reduce_axis((0, 32), "k")
B = te.compute((64,), lambda i: te.sum(A[i, k], axis=k), name="B")
s = te.create_schedule(B.op)
ko, ki = s[B].split(B.op.reduce_axis[0], factor=16)
BF = s.rfactor(B, ki)
xo, xi = s[B].split(s[B].op.axis[0], factor=32)
s[BF].compute_at(s[B], xo)
func = tvm.build(s, [A, B], "llvm")
a = tvm.nd.array(np.random.rand(64, 32).astype("float32"))
b = tvm.nd.array(np.zeros(64, "float32"))
func(a, b)
tvm.testing.assert_allclose(b.numpy(), a.numpy().sum(1), rtol=1e-5)
"""


def pasted(text: str, installed: bool = False, **given: object) -> dict[str, object]:
    """Names of a program after it was run with other imports, or as it is behind two lines."""
    lines = [CHANGES.get(line, re.sub(r"^from tvm\b", "from workbench.tvm", line)) for line in text.splitlines()]
    if installed:
        lines = INSTALLED + text.splitlines()
    else:
        assert sum(a != b for a, b in zip(lines, text.splitlines(), strict=True)) <= MOST
    names = {"__name__": "program", **given}
    exec(compile("\n".join(lines), "program", "exec"), names)
    return names


@pytest.mark.parametrize(
    ("name", "layout", "which", "trials"),
    [
        ("mlp", "NHWC", {}, 4),
        pytest.param("resnet", "NHWC", {"num_layers": 18}, 8, marks=pytest.mark.slow),
        pytest.param("squeezenet", "NCHW", {"version": "1.1"}, 8, marks=pytest.mark.slow),
    ],
)
def test_a_network_with_the_auto_scheduler(tmp_path, monkeypatch, capsys, name, layout, which, trials):
    monkeypatch.chdir(tmp_path)
    names = pasted(NETWORK, name=name, layout=layout, which=which, trials=trials)
    out, err = capsys.readouterr()
    assert out.count("Task ") == len(names["tasks"])
    assert "+= X[" in out
    assert "Trials" in err
    assert f"{trials}/{trials}" in err
    assert names["result"].shape == (2, 9)
    assert names["result"].sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert "mean (ms)" in names["times"]
    assert len(wb.read_log(tmp_path / f"{name}-{layout}-B2-llvm.json")) >= trials
    names["module"].set_input(0, names["data"])
    names["module"].run()
    assert names["module"].get_num_outputs() == 1
    expected = wb.compile(names["mod"].graph).run({"data": names["data"].numpy()})
    assert names["result"] == pytest.approx(expected["output"], abs=1e-5)


@pytest.mark.parametrize(("knobs", "candidates"), [(False, 7 * 5), (True, 5 * 5)])
def test_an_operator_with_autotvm(tmp_path, monkeypatch, knobs, candidates):
    monkeypatch.chdir(tmp_path)
    names = pasted(OPERATOR, knobs=knobs)
    assert f"{candidates} rows" in repr(names["space"])
    records = wb.read_log(tmp_path / "product.log")
    assert list(records.status) == ["ok"] * 4
    best = records.sort_values("latency_ms").iloc[0]
    assert names["s"].trace
    assert best.task_key == names["task"].own.key


def test_a_schedule_by_hand():
    names = pasted(BY_HAND)
    assert "unroll" in names["text"]
    assert "parallel m.0" in names["text"].replace("C.copy_", "")
    assert 0 < names["seconds"] < 1


def test_a_packed_operand():
    assert pasted(PACKED)["s"].blocks[0].name == "packed"


def test_a_network_with_autotvm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = pasted(NETWORK_BY_AUTOTVM, installed=True)
    assert names["tasks"]
    assert {t.own.name.partition("_")[0].partition(" ")[0] for t in names["tasks"]} == {"dense"}
    assert len(wb.read_log(tmp_path / "mlp_graph_opt.log")) == 2
    expected = wb.compile(names["mod"].graph).run({"data": names["data"]})
    assert names["result"] == pytest.approx(expected["output"], abs=1e-5)


def test_a_convolution_by_hand():
    names = pasted(CONVOLUTION)
    a, b, c = (names[n].numpy() for n in "abc")
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    assert c == pytest.approx(np.einsum("ncyxij,fcij->nfyx", windows, b), rel=1e-4)


def test_a_reduction_in_two_steps():
    assert "rf" in pasted(REDUCTION)["BF"].name


@pytest.mark.parametrize("text", [NETWORK, OPERATOR, BY_HAND, NETWORK_BY_AUTOTVM, CONVOLUTION])
def test_imports_may_stay_as_they_are(text):
    wanted = [line for line in text.splitlines() if "tvm" in line and line.startswith(("import", "from"))]
    given = pasted("\n".join(wanted), installed=True)
    modules = {n: m for n, m in sys.modules.items() if n == "tvm" or n.startswith("tvm.")}
    assert given["tvm"] is modules["tvm"] is sys.modules["workbench.tvm"]
    assert len(modules) > 20
    assert all(m is sys.modules[f"workbench.{n}"] for n, m in modules.items())  # no second copies
    assert wb.tvm.install_as_tvm() is None  # twice is once


def test_a_tvm_that_is_installed_stays_what_it_is(tmp_path, monkeypatch):
    (tmp_path / "tvm.py").write_text("real = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [n for n in sys.modules if n == "tvm" or n.startswith("tvm.")]:  # ours, which another test left
        monkeypatch.delitem(sys.modules, name)
    for _ in range(2):  # not imported yet, and imported
        with pytest.raises(wb.errors.UsageError) as e:
            pasted("", installed=True)
        assert (e.value.code, e.value.hint) == ("tvm.installed", "import workbench.tvm as tvm")
        assert importlib.import_module("tvm").real
    with pytest.raises(WorkbenchError, match="topi is not here"):
        pasted("from tvm import topi")


def test_what_is_not_here_says_what_to_write():
    with pytest.raises(wb.errors.UsageError) as e:
        pasted("from tvm import topi")
    assert (e.value.code, "wb.workloads" in e.value.hint) == ("tvm.name", True)
    with pytest.raises(AttributeError):
        pasted("import tvm\ntvm.topics")


def test_a_policy_goes_on_with_a_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = pasted(POLICY)
    assert len(wb.read_log(tmp_path / "sum.json")) > 2
    assert "Schedule" in names["script"]


POLICY = """
import tvm
from tvm import te, auto_scheduler

@auto_scheduler.register_workload
def total(n, m):
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    return [A, te.compute((n,), lambda i: te.sum(A(i, k), axis=k), name="B")]

task = auto_scheduler.SearchTask(func=total, args=(64, 32), target="llvm")
measure_ctx = auto_scheduler.LocalRPCMeasureContext(min_repeat_ms=1)
for trials, callbacks in ((2, []), (4, [auto_scheduler.PreloadMeasuredStates("sum.json")])):
    policy = auto_scheduler.SketchPolicy(task, auto_scheduler.XGBModel(), init_search_callbacks=callbacks)
    tune_option = auto_scheduler.TuningOptions(
        num_measure_trials=trials,
        runner=measure_ctx.runner,
        measure_callbacks=[auto_scheduler.RecordToFile("sum.json")],
    )
    task.tune(tune_option, search_policy=policy)
sch, args = task.apply_best("sum.json")
script = task.print_best("sum.json")
"""
