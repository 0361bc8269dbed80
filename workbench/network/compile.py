"""`compile`: a graph and what a log knows about its tasks become one executable."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from workbench.arguments import is_a, whole
from workbench.codegen.backend import backend_for, require_compilable
from workbench.errors import ModelError, TargetError, UsageError
from workbench.graph import Graph
from workbench.graph.evaluation import ROUNDED
from workbench.graph.group import Group
from workbench.graph.memory.plan import Reuses, plan_memory
from workbench.graph.model import Program
from workbench.graph.open_sizes import OpenSizes, open_sizes
from workbench.graph.passes import optimized, suited
from workbench.graph.size_limits import check_memory, check_total
from workbench.graph.tasks import partition, with_bodies
from workbench.graph.type_inference import make_call
from workbench.ir import Buffer, Func
from workbench.ir.bytes_moved import least_traffic, vector_reads
from workbench.ir.func import pack
from workbench.ir.product_type import PLAIN, product_type
from workbench.late_binding import Provided
from workbench.log import Database, load_log
from workbench.log.reader import check_model
from workbench.network.compiled_bodies import with_compiled_bodies
from workbench.network.kernels import Kernels, make_kernels, variant_of
from workbench.network.reference_step import ReferenceStep
from workbench.runtime.buffers import as_aligned
from workbench.runtime.execution.cross_executable import CrossExecutable
from workbench.runtime.execution.executable import Executable
from workbench.runtime.kernel import logical_shape
from workbench.runtime.machine.above_roofline import tile_of
from workbench.runtime.machine.blas_threads import quiet
from workbench.runtime.networks.execution_plan import ArraySpec, CallPlan, ExecutablePlan, HostCall, Slot, Use
from workbench.target import Target
from workbench.target_kinds import target_kinds

#: Elements of a result that each vector of an input goes into, from which on vectors across two lines of the cache cost
#: more than a copy: products of 256 to 768 take 0.77 to 1.04 of the time with one, those of 128 and 192 0.91 to 1.17.
_OFTEN = 256


def compile(
    graph: Graph,
    log: str | os.PathLike[str] | Database | None = None,
    target: Target | str | None = None,
    *,
    threads: int | None = None,
    without: Iterable[str] | str = (),
    nearest: bool = False,
    precision: str | None = None,
    dynamic: Mapping[str, Iterable[int]] | None = None,
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
    nearest : bool
        Whether a task without a record gets the schedule of the nearest one (the same task on another machine, else a
        task of the same kind), adapted.
    precision : str, optional
        "float32" or "bfloat16", see `Graph.optimize`; by default that of an optimised graph, and float32 of others.
    dynamic : mapping, optional
        Lengths that open dimensions can have, as for `load_onnx`, which says them by default: ``{"n": range(1, 513)}``.
        Tasks of lengths that the log does not know get schedules as with `nearest`.

    Returns
    -------
    Executable
        Its `untuned` lists the tasks without a record, which have their default schedule; `borrowed` those whose record
        is not their own (another number of threads, other caches; with `nearest` also that of another task), and says
        where it comes from and what was adapted. Of a graph with a `tail`, a
        `workbench.network.staged_executable.StagedExecutable`; with lengths that are open, a
        `workbench.network.ranged_executable.RangedExecutable`. For a processor that this machine is not, one that can
        be exported and not run (`workbench.runtime.execution.cross_executable.CrossExecutable`).

    Raises
    ------
    LogError
        ``log.missing``, ``log.corrupt``, ``log.other_model`` (no task in common), ``log.replay``.
    ModelError
        For a node that cannot be compiled; ``model.dynamic_shape`` for open sizes on a machine that is not this one.
    UsageError
        ``usage.pass``: an unknown pass is to be left out, or one of a graph that is optimised already;
        ``usage.precision``: an unknown one, or another one than that of an optimised graph; ``usage.dynamic``: lengths
        of a dimension that is not open.
    TargetError
        ``target.network``: for a device; its kernels run one at a time, outside of a network.
    BuildError
        ``build.*``.
    """
    is_a("graph", graph, Graph, "load a model with load_onnx(path) first")
    resolved = resolved_target(target)
    threads = resolved.threads if threads is None else whole("threads", threads, code="run.threads")
    check_memory(graph)
    is_a("nearest", nearest, bool)
    passes, left_out = (
        (graph.origin.passes, graph.origin.without) if graph.origin and without == () else (None, without)
    )

    def ready(part: Graph) -> Graph:
        return suited(part.optimize(passes, left_out, precision or "float32"), resolved)

    sizes, program = _open_sizes(graph, dynamic), graph.untyped
    if resolved.missing_here() and (sizes or graph.tail or program):
        text = f"The network {graph.name!r} has open sizes, and only one size can be compiled for another machine."
        raise ModelError("model.dynamic_shape", text, (str(resolved),), "give its shapes: load_onnx(path, shapes)")
    if sizes is not None:
        import_module("workbench.network.ranged_executable")
        return ranged(sizes, database_of(log, set, nearest=True), resolved, threads, ready)
    if program is not None:
        ready(graph)  # refuses what is no pass and no precision
        import_module("workbench.network.staged_executable")
        nothing = ExecutablePlan((), (), (), 0, (), threads, name=graph.name, target=str(resolved))
        return staged(nothing, program, database_of(log, set, nearest=True), resolved, ready)
    graph = optimized(graph, without, precision, resolved)
    groups = partition(graph)
    database = database_of(log, lambda: {g.key for g in with_bodies(graph, resolved) if g.func is not None}, nearest)
    plan = plan_of(graph, groups, database, resolved, threads, nearest)
    if graph.tail is None:
        return _executable(plan, resolved)
    import_module("workbench.network.staged_executable")  # it compiles stages, with this module
    return staged(plan, graph.tail, database, resolved, ready)


def _executable(plan: ExecutablePlan, target: Target) -> Executable:
    return CrossExecutable(plan) if target.missing_here() else Executable(plan)


#: Executable of a plan and of the program that follows it, whose graphs are made ready for it.
staged: Provided[[ExecutablePlan, Program, Database, Target, Callable[[Graph], Graph]], Executable]
staged = Provided("executables of several stages")


#: Executable for ranges of sizes, of graphs that are made ready for it.
ranged: Provided[[OpenSizes, Database, Target, int, Callable[[Graph], Graph]], Executable]
ranged = Provided("executables for ranges of sizes")


def _open_sizes(graph: Graph, dynamic: Mapping[str, Iterable[int]] | None) -> OpenSizes | None:
    """The lengths to compile for; None for a graph of fixed shapes."""
    sizes = graph.open
    if dynamic is None:
        return sizes if sizes and sizes.ranges else None
    if sizes is None:
        hint = "give the graph as load_onnx returns it, of a model that leaves dimensions open"
        raise UsageError("usage.dynamic", f"The graph {graph.name!r} has no open dimension.", (), hint)
    return open_sizes(sizes.program, {**sizes.ranges, **dynamic})


def plan_of(
    graph: Graph, groups: Sequence[Group], database: Database, target: Target, threads: int, nearest: bool
) -> ExecutablePlan:
    """Schedule, compile and plan an optimised graph."""

    def of_body(body: Graph) -> Executable:
        return _executable(plan_of(body, partition(body), database, target, threads, nearest), target)

    groups, bodies = with_compiled_bodies(graph, groups, target, of_body)
    with quiet():  # threads that spin after weights were transformed would share the cores of the first runs
        kernels = make_kernels(groups, database, target, nearest)
        plan = make_plan(graph, groups, kernels, threads, str(target))
    check_total(graph.name, plan.arena_bytes + sum(a.nbytes for a in (*plan.inputs, *plan.outputs)))
    if not bodies:
        return plan
    untuned = (name for one in (plan, *(b.plan for b in bodies)) for name in one.untuned)
    borrowed = (pair for one in (plan, *(b.plan for b in bodies)) for pair in one.borrowed)
    rounded = {kind for one in (plan, *(b.plan for b in bodies)) for kind in one.rounded}
    found = replace(plan, untuned=tuple(dict.fromkeys(untuned)), borrowed=tuple(dict.fromkeys(borrowed)))
    return replace(found, rounded=tuple(sorted(rounded)), bodies=tuple(bodies))


def resolved_target(target: Target | str | None) -> Target:
    """The processor to compile for; this machine by default, and another one where a backend makes code for it here.

    Raises
    ------
    TargetError
        "target.network" for a device, "target.host" for a machine that no code is made for here, "target.backend".
    BuildError
        "build.compiler".
    """
    found = (
        Target.host()
        if target is None
        else Target(target)
        if isinstance(target, str)
        else is_a("target", target, Target)
    )
    if not target_kinds[found.kind].processor:
        message = f"A whole network runs on processors, not on {found.kind!r}."
        hint = f"compile it without a target, for this CPU; wb.tune(task, target={found.kind!r}) tunes one of its tasks"
        if not backend_for(found).any_nest:
            hint = f"wb.offload(graph, target={found.kind!r}) has it compute the products of a quantised network"
        raise TargetError("target.network", message, (found.kind,), hint)
    require_compilable(found)
    return found


def database_of(log: Any, keys: Callable[[], set[str]], nearest: bool = False) -> Database:
    """Records of a log, which has to have some of the tasks with these keys; with `nearest` it may be of any model.

    Raises
    ------
    LogError
        "log.missing", "log.corrupt", "log.other_model".
    """
    if log is None:
        return Database()
    if isinstance(log, Database):
        return log
    read = load_log(log)
    if not nearest:  # or else another model's log is of use, too
        check_model(read.header, read.records, keys(), log)
    return Database(read.records, read.comparisons)


def _reuses(groups: Sequence[Group], kernels: Kernels) -> dict[int, list[tuple[str, str]]]:
    """Which results may be written over which operands."""
    return {
        k: [(g.args[i][1], g.args[o][1]) for i, o in kernels.reuses.get(variant_of(g), ())]
        for k, g in enumerate(groups)
        if g.key
    }


def make_plan(
    graph: Graph, groups: Sequence[Group], kernels: Kernels, threads: int, target: str = ""
) -> ExecutablePlan:
    """Decide which memory every tensor lives in, pack the constants, and list the calls."""
    memory, at = _Memory(graph, groups, _reuses(groups, kernels)), graph.outputs.index
    calls: list[CallPlan | HostCall] = []
    for k, group in enumerate(groups):
        if group.obstacle:
            calls.append(_host_call(graph, group, memory))
        elif group.key:
            calls.append(_kernel_call(k, group, kernels, memory))
    return ExecutablePlan(
        inputs=memory.inputs,
        outputs=memory.outputs,
        output_slots=tuple(memory.slot(name) for name in graph.outputs),
        constants=tuple(memory.constants),
        arena_bytes=memory.arena_bytes,
        least_bytes=memory.least_bytes,
        calls=tuple(calls),
        threads=threads,
        untuned=tuple(kernels.untuned.values()),
        borrowed=tuple(kernels.borrowed.values()),
        name=graph.name,
        target=target,
        lines=_lines(graph, groups, memory),
        cuts=tuple((at(x), at(count), axis) for x, (count, axis) in graph.cuts.items()),
        rounded=tuple(sorted({str(n.attrs[ROUNDED]) for n in graph.nodes if ROUNDED in n.attrs})),
    )


def _kernel_call(k: int, group: Group, kernels: Kernels, memory: _Memory) -> CallPlan:
    """Call of the group at position `k`."""
    func, tensors = kernels.funcs[variant_of(group)], [tensor for _, tensor in group.args]
    nest = func if isinstance(func, Func) else None
    # Parameters have the names of the task's first group; kernels of a task share their order.
    buffers = (None,) * len(tensors) if nest is None else nest.params
    seen = (None,) * len(tensors) if group.func is None else group.func.params
    return CallPlan(
        f"{group.name}: {group.description}",
        kernels.codes[variant_of(group)],
        tuple(memory.slot(t, buffer) for t, buffer in zip(tensors, buffers, strict=True)),
        int(group.flops),
        "" if nest is None else group.key,
        nest is not None and group.key not in kernels.untuned,
        tuple(memory.use(t, param) for t, param in zip(tensors, seen, strict=True)),
        memory.reuses(k, tensors),
        0 if group.func is None else least_traffic(group.func),
        None if nest is None else tile_of(nest),
        nest is None,
        PLAIN if group.func is None else product_type(group.func),
    )


def _lines(graph: Graph, groups: Sequence[Group], memory: _Memory) -> tuple[int, ...]:
    """Inputs of the network whose vectors a kernel reads often."""
    read: set[str] = set()
    for group in groups:
        often = {p for p, n in vector_reads(group.func).items() if n >= _OFTEN} if group.func else set[str]()
        read |= {memory.use(tensor).memory for param, tensor in group.args if param in often}
    return tuple(k for k, name in enumerate(graph.inputs) if name in read)


def _host_call(graph: Graph, group: Group, memory: _Memory) -> HostCall:
    """Step that computes a node with its operator's reference."""
    (node,) = group.nodes
    call = make_call(node, graph.types, graph.constants)
    run = ReferenceStep(call, tuple(map(bool, node.inputs)), tuple(map(bool, node.outputs)))
    args = tuple((memory.slot(t), memory.spec(t)) for t in group.inputs)
    results = tuple((memory.slot(t), memory.spec(t)) for t in group.outputs)
    uses = tuple(memory.use(t) for t in (*group.inputs, *group.outputs))
    return HostCall(f"{group.name}: {group.description}", run, args, results, group.obstacle, node.op, uses=uses)


class _Memory:
    """Slots of tensors: the places that `plan_memory` gave them, and constants packed as a kernel wants them."""

    def __init__(self, graph: Graph, groups: Sequence[Group], reuses: Reuses) -> None:
        self._graph = graph
        self._plan = plan_memory(graph, groups, reuses)
        self.arena_bytes, self.least_bytes = self._plan.arena_bytes, self._plan.bound_bytes
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
            return Slot("arena", place.offset, place.skip)
        if place.kind == "const":
            return Slot("const", self._constant(place.name, buffer))
        names = self._graph.inputs if place.kind == "input" else self._graph.outputs
        return Slot(place.kind, names.index(place.name), place.skip)

    def use(self, name: str, param: Buffer | None = None) -> Use:
        """Return what an argument is for those who check the plan, in the dimensions that a kernel's `param` has."""
        shape = self._graph.types[name].shape if param is None else logical_shape(param)
        return Use(self._plan.places[name].name, tuple(shape))

    def reuses(self, k: int, tensors: Sequence[str]) -> tuple[tuple[int, int], ...]:
        """Return which of a call's operands its result is written over, as positions among `tensors`."""
        pairs = [(old, new) for at, old, new in self._plan.reused if at == k]
        return tuple((tensors.index(old), tensors.index(new)) for old, new in pairs)

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
            self.constants.append(as_aligned(array))
        return self._constant_at[key]


def execute(
    graph: Graph, feeds: Mapping[str, np.ndarray[Any, Any]], outputs: Sequence[str], target: Target | None = None
) -> dict[str, np.ndarray[Any, Any]]:
    """Compute the outputs of a graph once, with default schedules; for calibrating made-up weights."""
    found = compile(graph, target=target).run(feeds)
    return {name: found[name] for name in outputs}
