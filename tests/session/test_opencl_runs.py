"""Tuning on an OpenCL device, end to end: a session follows it, a log keeps it, a second run goes on with it."""

from __future__ import annotations

import numpy as np
import pytest
from session.conftest import Mirror
from waiting import until

from workbench import Target, Task, read_log, workloads
from workbench.codegen.gpu import opencl
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.runtime.measuring.random_inputs import draw
from workbench.widgets import Workbench

POCL = Target("opencl -device=portable -thread_warp_size=1")
missing = opencl.problem(POCL)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(missing is not None, reason=f"{missing} (pip install pyopencl pocl-binary-distribution)"),
]
FUNCS = {
    "matmul": lambda: workloads.matmul(64, 64, 64),
    "conv": lambda: workloads.conv2d_nhwc(14, 14, 16, 16),
    "softmax": lambda: workloads.softmax(32, 64),
    "layer_norm": lambda: workloads.layer_norm(32, 96),
}


def finished(s) -> dict:
    """Wait for a session's run; returns what the panel of the run shows."""
    assert s.tuning.join(200)
    until(lambda: s.state.watch.told)
    assert s.flush(100)
    return s.snapshot().slices["tuning"]


@pytest.mark.parametrize("name", FUNCS)
def test_a_run_its_log_and_what_goes_on_with_it(session, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    func = FUNCS[name]()
    s = session(Task.of_func(func, POCL))
    mirror = Mirror(s)
    s.run("tune", scope="task", trials=3)
    first = finished(s)
    assert (first["state"], first["trials"], first["best_ready"]) == ("done", 3, True)
    log = s.tuning.log

    s.run("tune", scope="task", trials=3)
    assert s.snapshot().slices["status"]["note"]["code"] == "session.resumed"
    second = finished(s)
    assert (s.tuning.log, s.tuning.new_trials, second["trials"]) == (log, 3, 6)
    until(lambda: mirror.agrees(s), 5)
    records = read_log(log)
    assert list(records["status"]) == ["ok"] * 6
    assert set(records["target"]) == {str(POCL)}

    s.run("adopt", task=0)
    inputs = draw(func, 1)
    want = evaluate(func, inputs)[func.outputs[0].name]
    np.testing.assert_allclose(s.schedule.build(POCL)(**inputs), want, rtol=0, atol=2e-5 * float(np.abs(want).max()))

    shown = Workbench(log, auto_measure=False)
    try:
        slices = shown.session.snapshot().slices
        (row,), (run,) = slices["tasks"]["rows"], s.snapshot().slices["tasks"]["rows"]
        assert (row["trials"], row["ms"]) == (6, pytest.approx(run["ms"]))
        assert slices["tuning"]["trials"] == 6
    finally:
        shown.close()
