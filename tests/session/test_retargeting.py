"""The same for another target: a session of its own, with a log beside, and nothing lost in the first."""

from __future__ import annotations

import pytest
from session.conftest import matmul, split
from session.fakes import FakeTuning
from waiting import until

from workbench import Session, Target, Task, read_log, workloads, zoo
from workbench.errors import TargetError, UsageError
from workbench.log import Header, Record
from workbench.log.reader import write_log
from workbench.session.panels.meta import target_text
from workbench.session.retargeting import beside, check_leave, retargeted

SIMT = Target("cpu-simt")


def test_the_tasks_are_made_anew_and_the_first_session_stays(session):
    first = session(matmul())
    first.run("apply", step=split("j", None, 16))
    other = retargeted(first, SIMT, auto_measure=False)
    try:
        assert other.state.target == other.task.target == SIMT
        assert (other.task.key, other.task.name) == (first.task.key, first.task.name)
        assert other.snapshot().slices["target"]["text"] == str(SIMT)
        assert [len(s.snapshot().slices["history"]["rows"]) for s in (first, other)] == [2, 1]
        other.run("apply", step={"primitive": "bind", "args": {"loop": "i", "to": "blockIdx.x"}})
        assert [len(s.schedule.trace) for s in (first, other)] == [1, 1]
    finally:
        other.close()


def test_a_model_is_cut_into_tasks_for_the_target():
    """An accelerator has tasks for the products that it computes; where there are none it says so."""
    graph = zoo.get_network("mlp", batch_size=1)
    first = Session(graph, target=Target.host(), auto_measure=False)
    try:
        assert len(first.tasks) > 1
        other = retargeted(first, SIMT)
        assert [t.key for t in other.tasks] == [t.key for t in first.tasks]
        assert {t.target for t in other.tasks} == {SIMT}
        other.close()
        with pytest.raises(TargetError) as refused:
            retargeted(first, Target("vta"))
        assert refused.value.code == "target.tasks"
        assert first.state.target == Target.host()
    finally:
        first.close()


def test_the_log_stands_beside_and_never_belongs_to_another_model(tmp_path, session):
    log = tmp_path / "net.tunelog.jsonl"
    first = session(matmul(), log=log)
    (other,) = opened = [retargeted(first, SIMT)]
    assert other.state.log == str(tmp_path / "net-cpu-simt.tunelog.jsonl")
    foreign = Header(model="other", target=str(SIMT), tasks=(("0" * 16, "another one"),))
    line = Record(trial=0, task_key="0" * 16, task="another one", target=str(SIMT), status="ok")
    write_log(other.state.log, foreign, [line])
    opened.append(retargeted(first, SIMT))
    assert opened[1].state.log == str(tmp_path / "net-cpu-simt-2.tunelog.jsonl")
    assert len(read_log(other.state.log)) == 1
    for one in opened:
        one.close()


def test_without_a_log_there_is_none_but_a_name_for_it(session):
    first = session(matmul())
    other = retargeted(first, Target("vta -bus=16"))
    assert other.state.log is None
    assert other.state.opened.stem == f"{first.state.opened.title} vta-1x16x16-bus-16"
    other.close()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("cuda -arch=sm_90", "cuda · sm_90"),
        ("vta -bus=16", "vta · 1x16x16 · bus 16"),
        ("opencl", "opencl"),
        ("c -mtriple=x86_64-linux-gnu -mcpu=haswell -threads=1", "x86-64 · C · 1 thread · AVX2"),
    ],
)
def test_a_target_has_a_short_name(text, name):
    assert target_text(Target(text)) == name


def test_files_beside_another_one_have_the_target_in_their_names():
    arm = Target("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -threads=1")
    assert beside("/a.b/net.tunelog.jsonl", arm) == "/a.b/net-aarch64-1-thread-neon-neoverse-n1"
    assert beside("net.json", SIMT) == "net-cpu-simt"


def test_a_session_is_not_left_while_it_is_tuned(session):
    first = session(matmul())
    tuning = FakeTuning([first.task]).feed(3)
    first.run(lambda: first.state.attach(tuning, "task"))
    with pytest.raises(UsageError) as refused:
        check_leave(first)
    assert refused.value.code == "session.tuning"
    tuning.end()
    until(lambda: first.state.watch.ended)
    check_leave(first)


def test_a_log_has_no_program_for_another_target(tmp_path):
    task = Task.of_func(workloads.matmul(8, 8, 8), Target.host())
    record = Record(trial=0, task_key=task.key, task=task.name, target=str(task.target), status="ok", latency_ms=1.0)
    write_log(tmp_path / "a.jsonl", Header(target=str(task.target), tasks=((task.key, task.name),)), [record])
    s = Session(tmp_path / "a.jsonl")
    with pytest.raises(UsageError) as refused:
        retargeted(s, SIMT)
    assert refused.value.code == "session.no_program"
    s.close()


def test_what_cannot_run_here_is_said_and_not_measured(monkeypatch):
    from workbench.codegen.targets.gpu import Cuda
    from workbench.errors import BuildError

    problem = BuildError("build.compiler", "There is no driver", (), "pip install a-driver")
    monkeypatch.setattr(Cuda, "run_problem", lambda self, target: problem)
    s = Session(matmul(), target=Target("cuda"))
    note = s.snapshot().slices["status"]["note"]
    assert (note["level"], note["code"]) == ("warn", "build.compiler")
    assert note["hint"] == "schedules can be made, but not measured here; pip install a-driver"
    assert not s.state.auto
    s.close()


def test_the_roofline_of_a_device_has_no_levels_of_memory(session):
    s = session(matmul(), target=Target("cuda"))
    until(lambda: s.snapshot().slices["head"]["est"])
    s.run("chart", name="roofline")
    s.flush(100)
    assert (s.snapshot().slices["chart"]["name"], s.snapshot().slices["chart"]["levels"]) == ("roofline", [])


def devices_of(session):
    got = []
    session.ask("devices", {}, got.append)
    until(lambda: got)
    return got[0]["value"]["rows"]


def test_a_target_that_is_refused_is_told_beforehand(session):
    """In the words of the refusal itself."""
    first = session(zoo.get_network("mlp", batch_size=1), target=Target.host())
    refused = {row["target"]: row["refused"] for row in devices_of(first) if row["refused"]}
    assert list(refused) == ["vta"]
    with pytest.raises(TargetError) as error:
        retargeted(first, Target("vta"))
    assert refused["vta"] == error.value.to_json()
    assert not any(row["refused"] for row in devices_of(session(matmul())))


def test_devices_are_told_with_what_is_missing(session, monkeypatch):
    from workbench.runtime import devices

    rows = [
        dict(zip(("target", "title", "state", "note", "install"), row, strict=True))
        for row in (
            ("cuda", "A GPU", "missing", "no NVRTC", "pip install nvrtc"),
            ("llvm -mtriple=aarch64-linux-gnu -mcpu=…", "ARM", "compiles", "", ""),
            ("cpu-simt", "CUDA on this CPU", "runs", "", ""),
            ("llvm", "This machine", "runs", "", ""),
        )
    ]
    monkeypatch.setattr(devices, "found", lambda: rows)
    told = devices_of(session(Task.of_func(workloads.matmul(8, 8, 8), Target.host())))
    assert [(r["target"][:8], r["state"], r["now"]) for r in told] == [
        ("llvm", "runs", True),
        ("cpu-simt", "runs", False),
        ("llvm -mt", "compiles", False),
        ("cuda", "missing", False),
    ]
    assert told[3]["install"] == "pip install nvrtc"
