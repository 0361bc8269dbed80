"""What an older version wrote can be opened, resumed, replayed and run; what it said to import can be imported."""

from __future__ import annotations

import importlib
import json
import pkgutil
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.former_modules import FORMER, FORMER_ATTRIBUTES

OLD = Path(__file__).parent / "data" / "version_0_1_0"
#: What the pages, the notebooks and the exported scripts of version 0.1.0 import.
TOLD = {
    "workbench.analysis": ("Cure", "Reason", "Why", "best_so_far_figure", "estimate", "nest_rows", "why"),
    "workbench.graph.fill": ("fill_weights",),
    "workbench.graph.onnx": ("read_program",),
    "workbench.intrinsics": ("registry",),
    "workbench.ir.interp": ("random_inputs", "run"),
    "workbench.ir.parser": ("parse",),
    "workbench.runtime.roofs": ("measure_all_threads",),
    "workbench.schedule": ("Hole",),
    "workbench.tune.cost_model": ("make_model",),
    "workbench.tune.database": ("Database",),
    "workbench.tune.distributed": ("DaskRunner",),
    "workbench.tune.dynamic": ("DynamicExecutable",),
    "workbench.tune.features": ("COLUMNS", "INDEX"),
    "workbench.tune.options": ("TuneOptions",),
    "workbench.tune.record": ("Record",),
    "workbench.tune.space": ("make_space",),
    "workbench.tune.template": ("Mismatch",),
}
#: A kernel for this architecture can be timed here.
x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the files are for x86-64")


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(OLD, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def target() -> wb.Target:
    return wb.Target(json.loads((OLD / "trace.json").read_text())["target"])


@pytest.mark.parametrize("module", sorted(TOLD))
def test_former_names_can_be_imported(module):
    present = importlib.import_module(FORMER.get(module, module))
    former = importlib.import_module(module)
    for name in TOLD[module]:
        assert getattr(former, name) is getattr(present, name)


@pytest.mark.parametrize(("former", "present"), FORMER_ATTRIBUTES.items())
def test_names_that_have_moved_to_another_module(former, present):
    found, expected = map(pkgutil.resolve_name, (former, present))
    assert found is expected


def test_each_former_name_is_one_that_a_user_was_told():
    assert FORMER.keys() <= TOLD.keys()
    assert FORMER_ATTRIBUTES.keys() <= {f"{module}:{name}" for module in TOLD for name in TOLD[module]}


def test_what_never_was_is_missing_as_ever():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("workbench.tune.nothing")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wb.analysis.nothing  # noqa: B018


@x86
@pytest.mark.parametrize("script", ["schedule.py", "network.py"])
def test_exported_scripts_run(old, script):
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr, done.stderr
    assert " ms" in done.stdout
    assert done.returncode in (0, 1, 2), "as fast as there, slower, faster"


@x86
def test_a_log_is_read_compiled_from_and_resumed(old):
    log = "small.jsonl"
    trials = wb.read_log(log)
    assert len(trials) == 12
    assert (trials["status"] == "ok").all()
    graph = wb.load_onnx("small.onnx")
    net = wb.compile(graph, log, target())
    assert not net.untuned
    x = np.random.default_rng(0).random((32, 96), dtype=np.float32)
    np.testing.assert_allclose(net.run(x)["z"], wb.compile(graph, target=target()).run(x)["z"], rtol=1e-5)
    with wb.tune(graph, target=target(), trials=14, log=log, resume=True) as session:
        session.wait()
    assert session.state == "done"
    assert [r.trial for r in session.records] == [*range(14)]
    assert session.steered[1].name == "epsilon"


@x86
def test_each_record_of_a_log_gives_its_schedule(old):
    (task,) = wb.extract_tasks(wb.load_onnx("small.onnx"), target())
    for trace in wb.read_log("small.jsonl")["trace"]:
        assert wb.Schedule.from_json(task.func, trace, target()).is_concrete


def test_a_trace_gives_its_schedule(old):
    steps = json.loads(Path("trace.json").read_text())
    s = wb.Schedule.from_json(wb.workloads.matmul(64, 64, 64), steps["trace"])
    assert [step.name for step in s.trace] == ["split", "split", "reorder", "vectorize", "unroll"]


@x86
def test_variants_come_back_with_their_times(old):
    w = wb.Workbench(wb.Schedule(wb.workloads.matmul(64, 64, 64), target()), variants="variants.json")
    rows = w.export("csv", panel="variants").splitlines()
    w.close()
    assert len(rows) == 1 + 6
    assert "0.014574" in rows[-1]
