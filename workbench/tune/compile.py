"""`compile`: a graph and what a log knows about its tasks become one executable."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from workbench.arguments import is_a, whole
from workbench.codegen import require_runnable
from workbench.graph import Graph
from workbench.graph.graph import Array
from workbench.graph.group import Group, Part
from workbench.graph.infer import make_call
from workbench.graph.opdef import evaluate
from workbench.graph.passes import optimized
from workbench.graph.plan import plan_memory
from workbench.graph.tasks import partition
from workbench.ir.func import Buffer, Func, pack
from workbench.ir.view import widen
from workbench.runtime.executable import ArraySpec, CallPlan, Executable, ExecutablePlan, HostCall, Slot
from workbench.runtime.kernel import logical_shape
from workbench.tune.build import build_kernels
from workbench.tune.database import Database
from workbench.tune.log import check_model, load_log
from workbench.tune.replay import schedule_of

if TYPE_CHECKING:
    from workbench.codegen import ObjectCode
    from workbench.target import Target


#: Task key, and where the kernel's output lies in a larger tensor.
Variant: TypeAlias = tuple[str, Part | None]


@dataclass(frozen=True, slots=True)
class Kernels:
    """The kernels of a network, each once.

    Attributes
    ----------
    funcs : dict of Variant to Func
        Scheduled functions, by task key and by where the result lies in a larger tensor.
    codes : dict of Variant to ObjectCode
        The same, compiled.
    untuned : dict of str to str
        Task key -> description, of the tasks that have their default schedule.
    """

    funcs: dict[Variant, Func]
    codes: dict[Variant, ObjectCode]
    untuned: dict[str, str]


def compile(
    graph: Graph,
    log: str | os.PathLike[str] | Database | None = None,
    target: Target | str | None = None,
    *,
    threads: int | None = None,
    without: Iterable[str] | str = (),
) -> Executable:
    """Compile a network.

    Parameters
    ----------
    graph : Graph
        Optimised or not; it is optimised when no fusion has happened yet.
    log : path or Database, optional
        Where the best schedules come from. It may know only some of the tasks.
    target : Target or str, optional
        What to compile for; this machine by default.
    threads : int, optional
        Threads to run with; those of the target by default.
    without : str or iterable of str
        Graph passes to leave out, see `Graph.optimize`; for a graph that is not optimised yet.

    Returns
    -------
    Executable
        Its `untuned` lists the tasks without a record, which have their default schedule.

    Raises
    ------
    LogError
        ``log.missing``, ``log.corrupt``, ``log.other_model`` (no task in common), ``log.replay``.
    ModelError
        For a node that cannot be compiled.
    UsageError
        ``usage.pass``: an unknown pass is to be left out, or one of a graph that is optimised already.
    BuildError
        ``build.*``.
    """
    is_a("graph", graph, Graph, "load a model with load_onnx(path) first")
    resolved = _resolve(target)
    threads = resolved.threads if threads is None else whole("threads", threads, code="run.threads")
    graph = optimized(graph, without)
    groups = partition(graph)
    database = _database(log, {g.key for g in groups if g.func is not None})
    kernels = make_kernels(groups, database, resolved)
    plan = make_plan(graph, groups, kernels, threads, str(resolved))
    return Executable(plan)


def _resolve(target: Target | str | None) -> Target:
    from workbench.target import Target

    found = (
        Target.host()
        if target is None
        else Target(target)
        if isinstance(target, str)
        else is_a("target", target, Target)
    )
    require_runnable(found)
    return found


def _database(log: Any, keys: set[str]) -> Database:
    if log is None:
        return Database()
    if isinstance(log, Database):
        return log
    read = load_log(log)
    check_model(read.header, read.records, keys, log)
    return Database(read.records)


def make_kernels(groups: Sequence[Group], database: Database, target: Target) -> Kernels:
    """Schedule and compile every distinct kernel once."""
    from workbench.tune.default import default_schedule

    scheduled: dict[str, Func] = {}
    funcs: dict[Variant, Func] = {}
    untuned: dict[str, str] = {}
    for group in groups:
        if group.func is None or (group.key, group.part) in funcs:
            continue
        record = database.best(group.key, str(target))
        if group.key in scheduled:
            pass
        elif record is None:
            scheduled[group.key] = default_schedule(group.func, target).func
            untuned[group.key] = group.description
        else:
            scheduled[group.key] = schedule_of(group.func, record).func
        funcs[group.key, group.part] = _in_place(scheduled[group.key], group.part)
    codes = build_kernels(list(funcs.values()), target)
    return Kernels(funcs, dict(zip(funcs, codes, strict=True)), untuned)


def _in_place(func: Func, part: Part | None) -> Func:
    """Let a kernel write its part of a larger tensor."""
    if part is None:
        return func
    (output,) = func.outputs
    return widen(func, output.name, part.axis, part.extent, part.offset)


def make_plan(
    graph: Graph, groups: Sequence[Group], kernels: Kernels, threads: int, target: str = ""
) -> ExecutablePlan:
    """Decide which memory every tensor lives in, pack the constants, and list the calls."""
    memory = _Memory(graph, groups)
    calls: list[CallPlan | HostCall] = []
    for group in groups:
        if group.obstacle:
            calls.append(_host_call(graph, group, memory))
        if group.func is None:
            continue
        func = kernels.funcs[group.key, group.part]
        params = {buffer.name: buffer for buffer in func.params}
        tensor_of = dict(group.args)
        # Parameter names are those of this group's own function; kernels of a task share their order.
        own = [buffer.name for buffer in group.func.params]
        args = tuple(memory.slot(tensor_of[name], buffer) for name, buffer in zip(own, params.values(), strict=True))
        code = kernels.codes[group.key, group.part]
        name = f"{group.name}: {group.description}"
        calls.append(CallPlan(name, code, args, int(group.flops), group.key, group.key not in kernels.untuned))
    return ExecutablePlan(
        inputs=memory.inputs,
        outputs=memory.outputs,
        output_slots=tuple(memory.slot(name) for name in graph.outputs),
        constants=tuple(memory.constants),
        arena_bytes=memory.arena_bytes,
        calls=tuple(calls),
        threads=threads,
        untuned=tuple(kernels.untuned.values()),
        name=graph.name,
        target=target,
    )


def _host_call(graph: Graph, group: Group, memory: _Memory) -> HostCall:
    """Step that computes a node with its operator's reference."""
    (node,) = group.nodes
    call = make_call(node, graph.types, graph.constants)
    given = [bool(i) for i in node.inputs]

    def run(*arrays: Array) -> tuple[Array, ...]:
        rest = iter(arrays)
        values = evaluate(call, *(next(rest) if there else None for there in given))
        return tuple(v for o, v in zip(node.outputs, values, strict=False) if o)

    args = tuple((memory.slot(t), memory.spec(t)) for t in group.inputs)
    results = tuple((memory.slot(t), memory.spec(t)) for t in group.outputs)
    return HostCall(f"{group.name}: {group.description}", run, args, results, group.obstacle, node.op)


class _Memory:
    """Slots of tensors: the places that `plan_memory` gave them, and constants packed as a kernel wants them."""

    def __init__(self, graph: Graph, groups: Sequence[Group]) -> None:
        self._graph = graph
        self._plan = plan_memory(graph, groups)
        self.arena_bytes = self._plan.arena_bytes
        self.inputs = tuple(self.spec(name) for name in graph.inputs)
        self.outputs = tuple(self.spec(name) for name in graph.outputs)
        self.constants: list[np.ndarray[Any, Any]] = []
        self._constant_at: dict[tuple[str, Any], int] = {}

    def spec(self, name: str) -> ArraySpec:
        """Shape and dtype of a tensor."""
        kind = self._graph.types[name]
        return ArraySpec(name, tuple(kind.shape), kind.dtype)

    def slot(self, name: str, buffer: Buffer | None = None) -> Slot:
        """Return where a tensor is, in the layout that the kernel's `buffer` asks for."""
        place = self._plan.places[name]
        if place.kind == "arena":
            return Slot("arena", place.offset)
        if place.kind == "const":
            return Slot("const", self._constant(place.name, buffer))
        names = self._graph.inputs if place.kind == "input" else self._graph.outputs
        return Slot(place.kind, names.index(place.name))

    def _constant(self, name: str, buffer: Buffer | None) -> int:
        """Return the position of a constant in this layout; equal demands share one array."""
        layout = buffer.layout if buffer is not None else ()
        shape = logical_shape(buffer) if buffer is not None else None
        key = (name, (layout, shape))
        if key not in self._constant_at:
            array = np.asarray(self._graph.constants[name])
            if buffer is not None:
                array = pack(buffer, array.reshape(shape))
            self._constant_at[key] = len(self.constants)
            self.constants.append(np.ascontiguousarray(array))
        return self._constant_at[key]


def execute(
    graph: Graph, feeds: Mapping[str, np.ndarray[Any, Any]], outputs: Sequence[str], target: Target | None = None
) -> dict[str, np.ndarray[Any, Any]]:
    """Compute the outputs of a graph once, with default schedules; for calibrating made-up weights."""
    found = compile(graph, target=target).run(feeds)
    return {name: found[name] for name in outputs}
