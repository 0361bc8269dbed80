"""One object of every kind that a notebook shows, ordinary, empty, failed, very large and with hostile names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from graph.nets import residual_net
from tune.fakes import FakeContext, FakeMeasurer, FakeTask

import workbench as wb
from workbench.analysis import Cache, cache_view
from workbench.graph import Graph, Node, TensorType, explain, extract_tasks
from workbench.ir.text.parser import parse
from workbench.log import Record
from workbench.log.reader import to_frame
from workbench.runtime.execution.profile import Profile, make_profile
from workbench.runtime.machine.measured_roofline import Roofs
from workbench.runtime.networks.benchmark import BenchmarkResult
from workbench.runtime.networks.execution_plan import ArraySpec, ExecutablePlan, HostCall, Slot
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.schedule import Hole
from workbench.space.sketch import Draft, Rule
from workbench.space.space import Space, make_space
from workbench.space.template import TEMPLATES, Knobs
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.run.tuning_session import TuningSession

HOSTILE = '<img src=x onerror="alert(1)">\'&amp;</td></table><script>alert(2)</script>\x1b[2J\u202e'


def tiled() -> wb.Schedule:
    s = wb.Schedule(wb.workloads.matmul(64, 64, 64))
    s.split("j", [None, 16])
    s.reorder("i", "j.0", "k", "j.1").vectorize("j.1").parallel("i")
    return s


def with_holes() -> wb.Schedule:
    s = wb.Schedule(wb.workloads.matmul(64, 64, 64))
    s.split("i", [None, Hole("rows", choices=[2, 4, 8])])
    s.split("j", [None, Hole("columns")])
    return s


def many_loops(n: int = 1500) -> wb.Schedule:
    """A chain of `n` stages: twice as many rows."""
    names = ["X", *(f"S{k}" for k in range(n - 1)), "Y"]
    lines = ["stages(X: input float32[16], Y: output float32[16]):"]
    lines += [f"  temp {name}: float32[16]" for name in names[1:-1]]
    for k in range(n):
        lines += [
            f"  for j{k} in 16:",
            f"    block B{k}(j: 16 = j{k}):",
            f"      {names[k + 1]}[j] = {names[k]}[j] + 1.0",
        ]
    return wb.Schedule(parse("\n".join(lines) + "\n"))


def hostile_schedule() -> wb.Schedule:
    func = wb.workloads.matmul(8, 8, 8)
    return wb.Schedule(dataclasses.replace(func, name=HOSTILE))


def chain(n: int, name: str = "chain") -> Graph:
    nodes = [Node(f"{name}{k}", "Relu", (f"t{k}",), (f"t{k + 1}",)) for k in range(n)]
    return Graph.make(name, nodes, {"t0": TensorType((1, 8))}, [f"t{n}"])


def hostile_graph() -> Graph:
    node = Node(HOSTILE, "Relu", (HOSTILE + "in",), (HOSTILE + "out",))
    return Graph.make(HOSTILE, [node], {HOSTILE + "in": TensorType((1, 8))}, [HOSTILE + "out"])


def failed_session() -> TuningSession:
    def broken(task: Any, x: int) -> str:
        raise RuntimeError(f"no space left {HOSTILE}")

    measurer = FakeMeasurer(fail=broken)
    session = TuningSession(
        RunPlan([FakeTask("k", HOSTILE)], context=FakeContext(), measurer=measurer, trials=4)
    ).start()
    session.join(100)
    return session


def session(n: int = 3, start: bool = True, fail: Any = None) -> TuningSession:
    tasks = [FakeTask(f"key{k}", f"task {k} " + "long " * 30, weight=k + 1) for k in range(n)]
    made = TuningSession(RunPlan(tasks, context=FakeContext(), measurer=FakeMeasurer(fail=fail), trials=8 * n))
    if start:
        made.start().join(100)
    return made


def records(n: int, tasks: int = 2, name: str = "conv2d 3x3 64→64") -> list[Record]:
    made = []
    for k in range(n):
        good = k % 5 != 4
        made.append(
            Record(
                task_key=f"key{k % tasks}", task=f"{name} #{k % tasks}", trial=k, weight=1 + k % tasks, target="x86-64",
                status="ok" if good else ("timeout", "wrong_answer")[k % 2],
                latency_ms=1.0 + 1 / (1 + k) if good else None,
                flops=1_000_000, origin="mutation", elapsed_s=float(k), error="" if good else f"why not {name}",
            )
        )  # fmt: skip
    return made


def profile(n: int, name: str = "conv2d 3x3 64→64", limit: Roofs | None = None) -> Profile:
    """A profile of `n` calls; call k takes k + 1 microseconds."""
    spec = ArraySpec("x", (250,))
    places = [((Slot(kind, 0), spec),) for kind in ("input", "output")]
    calls = [
        HostCall(f"{name} #{k}", lambda x: (x,), *places, f"why not {name}", "Op", flops=100 * k) for k in range(n)
    ]
    stamps = np.cumsum([[0, *(1000 * (k + 1) for k in range(n))]] * 3, axis=1)
    plan = ExecutablePlan((spec,), (spec,), (), 0, tuple(calls), name=name)
    return make_profile(plan, stamps, [0.01 * n] * 3, 2, limit)


def knobs(many: int = 0, name: str = "words") -> Knobs:
    """Knob table of the template for convolutions, or of one with `many` knobs of its own."""
    func = wb.workloads.conv2d_nhwc(14, 14, 16, 16)
    if not many:
        return make_space(func, wb.Target.host(2), template="conv2d_nhwc").knobs()

    def own(cfg: Any, s: Any) -> None:
        for k in range(many):
            cfg.define_knob(f"{name} {k}", [name, k])
        if cfg[f"{name} 0"].val == name:
            s.split("h", [None, 5])

    wb.template(name)(own)
    try:
        return make_space(func, wb.Target.host(2), template=name).knobs()
    finally:
        del TEMPLATES[name]


def busy_space(many: int, name: str = "words") -> Space:
    """Space with a rule that makes many variants of its own."""

    def own(draft: Draft, machine: Any) -> list[Draft]:
        return [draft.change(name, name, draft.schedule.copy(), blocks=[name], tag=name) for _ in range(many)]

    return make_space(tiled().base, wb.Target.host(2), rules=[Rule(name, "", own, custom=True), "tile"])


MAKERS: dict[str, Callable[[], Any]] = {
    "graph": residual_net,
    "graph, fused": lambda: residual_net().optimize(),
    "graph, 100 nodes": lambda: chain(100),
    "graph, no nodes": lambda: Graph.make("nothing", [], {"x": TensorType(())}, ["x"]),
    "graph, hostile": hostile_graph,
    "passes": lambda: explain(residual_net()),
    "passes, hostile": lambda: explain(hostile_graph(), without="fuse"),
    "passes, 100 nodes": lambda: explain(chain(100)),
    "task": lambda: extract_tasks(residual_net())[0],
    "task, hostile": lambda: dataclasses.replace(
        extract_tasks(residual_net())[0], name=HOSTILE, groups=(HOSTILE,) * 20, weight=20
    ),
    "task of 1500 stages": lambda: wb.Task.of_func(many_loops().func),
    "schedule": lambda: wb.Schedule(wb.workloads.matmul(64, 64, 64)),
    "schedule, tiled": tiled,
    "schedule, undone": lambda: tiled().undo(2),
    "schedule, holes": with_holes,
    "schedule, 3000 rows": many_loops,
    "schedule, hostile": hostile_schedule,
    "cache view": lambda: cache_view(tiled(), levels=[Cache("L1", 4096)]),
    "cache view, hostile": lambda: cache_view(hostile_schedule(), levels=[Cache(HOSTILE, 4096)]),
    "cache view, 60 stages": lambda: cache_view(many_loops(60)),
    "moves": lambda: tiled().moves(),
    "moves, none": lambda: type(tiled().moves())(),
    "knobs": knobs,
    "knobs, 100 of them": lambda: knobs(100),
    "knobs, hostile": lambda: knobs(2, HOSTILE),
    "space": lambda: make_space(wb.workloads.conv2d_nhwc(8, 8, 16, 32, relu=True), wb.Target.host(2)),
    "space, 60 variants": lambda: busy_space(60),
    "space, hostile": lambda: busy_space(2, HOSTILE),
    "kernel": lambda: tiled().build(),
    "executable": lambda: wb.compile(residual_net()),
    "benchmark": lambda: BenchmarkResult((1.0, 2.0, 1.5) * 20, 2),
    "profile": lambda: profile(3, limit=Roofs(2, 0.05, 1.0, 1 << 20)),
    "profile, 100 calls": lambda: profile(100),
    "profile, no calls": lambda: profile(0),
    "profile, hostile": lambda: profile(2, HOSTILE),
    "measurement": lambda: Measurement(status="ok", costs_ms=(0.5, 0.6, 0.7), flops=10**6, number=3, clock="wall"),
    "measurement, disturbed": lambda: Measurement(
        status="ok", costs_ms=(0.5, 0.9), why_not="the second of 2 threads had 55 % of a core", at_least_ms=0.4
    ),
    "contest": lambda: Contest(
        measurements=tuple(Measurement(status="ok", costs_ms=(ms,) * 9) for ms in (2.0, 1.0)), names=("v0", "v3")
    ),
    "measurement, one repeat": lambda: Measurement(status="ok", costs_ms=(0.5,)),
    "measurement, failed": lambda: Measurement(
        status="run_error", error=f"Traceback:\n  line 1\nValueError: {HOSTILE}"
    ),
    "measurement, failed without text": lambda: Measurement(status="timeout"),
    "session": lambda: session(fail=lambda task, x: "timeout" if x % 3 == 0 else "ok"),
    "session, idle": lambda: session(start=False),
    "session, failed": failed_session,
    "session, every trial failed": lambda: session(1, fail=lambda task, x: "wrong_answer"),
    "session, 60 tasks": lambda: session(60),
    "log": lambda: to_frame(records(7)),
    "log, 500 trials of 30 tasks": lambda: to_frame(records(500, 30)),
    "log, empty": lambda: to_frame([]),
    "log, all failed": lambda: to_frame([r for r in records(50) if not r.ok]),
    "log, hostile": lambda: to_frame(records(12, 2, HOSTILE)),
}


@contextmanager
def sample(name: str) -> Iterator[Any]:
    """Make one of the objects, and end what it runs."""
    made = MAKERS[name]()
    try:
        yield made
    finally:
        if isinstance(made, TuningSession):
            made.cancel().join(100)
