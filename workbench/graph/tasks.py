"""From a fused graph to kernels (`partition`) and from kernels to tuning tasks (`extract_tasks`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from workbench import te
from workbench.arguments import is_a
from workbench.codegen.backend import backend_for
from workbench.codegen.lowering import ParamInfo
from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.evaluation import widened_types
from workbench.graph.graph import FusedNodes, Graph, Node
from workbench.graph.group import Group
from workbench.graph.kernel_description import describe, main_node
from workbench.graph.memory.joins import join_in_place
from workbench.graph.memory.operand_views import read_through, written_in_order
from workbench.graph.offloading import offloading
from workbench.graph.opdef import opdef
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import dims
from workbench.graph.ops.control import Control
from workbench.graph.ops.lowering import as_type, widened
from workbench.graph.padding.padded_graph import graph_of_bucket
from workbench.graph.passes import optimized, run_pass, suited
from workbench.graph.passes.fuse import is_view, runtime_kernel, why_not_compiled
from workbench.graph.pixel_rows import in_one_row
from workbench.graph.structural_key import structural_key
from workbench.graph.type_inference import make_call
from workbench.intrinsics.product_instructions import HALVES
from workbench.ir import Func
from workbench.ir.dtypes import is_float
from workbench.ir.flops import count_flops
from workbench.ir.merge_axes import merge_reduced_axes
from workbench.ir.text.stages import one_line_per_stage
from workbench.markup import Drawn
from workbench.safe_text import shown_legibly
from workbench.target import Target


@dataclass(frozen=True, slots=True, eq=False)
class Task(Drawn):
    """A computation to tune: what several kernels of a network have in common.

    Attributes
    ----------
    key : str
        Structural key; equal computations have equal keys in every network.
    name : str
        What it computes, in words.
    description : str
        Name, and where it occurs.
    weight : int
        How often it occurs.
    flops : int
        Arithmetic operations of one run.
    func : Func
    target : Target or None
    groups : tuple of str
        Names of the kernels.
    """

    key: str
    name: str
    description: str
    weight: int
    flops: int
    func: Func
    target: Target | None = None
    groups: tuple[str, ...] = field(default=())

    @shown_legibly
    def __repr__(self) -> str:
        often = f" ×{self.weight}" if self.weight > 1 else ""
        return f"<Task {self.name}{often}: {self.flops:,} operations>"

    @property
    def compute_dag(self) -> str:
        """What is computed, one line per stage."""
        return one_line_per_stage(self.func)

    @property
    def workload_key(self) -> str:
        """The key, and the shapes of all arguments, as TVM writes them: JSON."""
        return json.dumps([self.key, *([d for d in b.shape if isinstance(d, int)] for b in self.func.params)])

    @staticmethod
    def of_func(func: Func, target: Target | None = None, name: str | None = None) -> Task:
        """Task of a computation that belongs to no network."""
        is_a("func", func, Func)
        label = (
            None if name is None else is_a("name", name, str)
        ) or f"{func.name} {' '.join(dims([int(d) for d in b.shape if isinstance(d, int)]) for b in func.params)}"
        return Task(structural_key(func), label, label, 1, count_flops(func), func, target, (func.name,))

    @staticmethod
    def of_schedule(schedule: Any, target: Target | None = None) -> Task:
        """Task of what a schedule started from, before any primitive."""
        start = getattr(schedule, "origin", None) or getattr(schedule, "base", None)
        return Task.of_func(
            start if isinstance(start, Func) else schedule.copy().undo(len(schedule.trace)).func, target
        )


def partition(graph: Graph) -> list[Group]:
    """Kernels and views of a network in execution order; a graph that was not fused yet is fused first.

    Raises
    ------
    ModelError
        "model.unsupported_op" or "model.unsupported_attr" for a node that cannot be compiled.
    """
    fused = graph if graph.groups else run_pass(graph, "fuse")
    lowering = _Lowering(fused)
    return join_in_place(fused, [lowering.group(g) for g in fused.groups])


def typical_graphs(graph: Graph, target: Target) -> list[Graph]:
    """The network, optimised for a target; where dimensions are open, for a few representative lengths."""
    sizes = graph.open
    if not sizes or not sizes.ranges:
        return [optimized(graph, target=target)]
    passes, without = (graph.origin.passes, graph.origin.without) if graph.origin else (None, ())
    parts = [graph_of_bucket(sizes, bucket).optimize(passes, without) for bucket in sizes.representatives()]
    return [suited(part, target) for part in parts]


def extract_tasks(graph: Graph, target: Target | None = None) -> list[Task]:
    """Distinct computations of a network, in order of first occurrence, weighted by how often they occur.

    Of a network with open dimensions, those of a few representative lengths. For an accelerator, the products that it
    computes (see `workbench.offload`).

    Parameters
    ----------
    graph : Graph
        Optimised, or not (`Graph.optimize` runs when no fusion has happened yet).
    target : Target, optional
        What the tasks are for.

    Returns
    -------
    list of Task

    Raises
    ------
    TargetError
        "target.tasks" where an accelerator computes nothing of the network.
    ModelError
        As `Graph.typed`, where nothing of the network is known before a run.
    """
    graph = is_a("graph", graph, Graph, "load a model with load_onnx(path) first").typed()
    found: dict[str, list[Group]] = {}
    for g in _groups(graph, target or Target.host()):
        if g.func is not None:
            found.setdefault(g.key, []).append(g)
    return _distinct(_task(key, same, target) for key, same in found.items())


def _groups(graph: Graph, target: Target) -> Iterable[Group]:
    """All kernels of a network; for an accelerator, those that it computes."""
    if not backend_for(target).any_nest:
        found = offloading(graph, target)
        return groups_alone(found.graph, found.nodes)
    return (g for one in typical_graphs(graph, target) for g in with_bodies(one, target))


def with_bodies(graph: Graph, target: Target) -> Iterator[Group]:
    """Kernels of an optimised network, and those of the bodies that its nodes have."""
    for group in partition(graph):
        yield group
        for body in body_graphs(graph, group, target).values():
            yield from with_bodies(body, target)


def body_graphs(graph: Graph, group: Group, target: Target) -> dict[str, Graph]:
    """Bodies of If, Loop or Scan by attribute, optimised as the network is; of other groups none."""
    op = opdef(group.nodes[0])
    if not group.obstacle or not isinstance(op, Control):
        return {}
    origin = graph.origin
    passes, without = (origin.passes, origin.without) if origin else (None, ())
    found = op.body_graphs(make_call(group.nodes[0], graph.types, graph.constants))
    whole = {n: g for n, g in found.items() if g.nodes and not any(t.dtype in HALVES for t in g.types.values())}
    return {n: suited(g.optimize(passes, without), target) for n, g in whole.items()}


def groups_alone(graph: Graph, nodes: Iterable[Node]) -> list[Group]:
    """A kernel for each of some nodes, whatever surrounds it."""
    lowering = _Lowering(graph)
    return [lowering.group(FusedNodes((n.name,))) for n in nodes]


def _task(key: str, same: list[Group], target: Target | None) -> Task:
    first = same[0]
    assert first.func is not None
    where = ", ".join(g.name for g in same[:3]) + (f" and {len(same) - 3} more" if len(same) > 3 else "")
    return Task(
        key,
        first.description,
        f"{first.description} ({where})",
        len(same),
        first.flops,
        first.func,
        target,
        tuple(g.name for g in same),
    )


def _distinct(tasks: Iterable[Task]) -> list[Task]:
    """Number tasks that would have the same name."""
    out: list[Task] = []
    seen: dict[str, int] = {}
    for t in tasks:
        seen[t.name] = seen.get(t.name, 0) + 1
        out.append(replace(t, name=f"{t.name} ({seen[t.name]})") if seen[t.name] > 1 else t)
    return out


class _Names:
    """Unique names within one function: ``relu``, ``relu_1``, ..."""

    def __init__(self) -> None:
        self.used: dict[str, int] = {}

    def __call__(self, base: str) -> str:
        n = self.used.get(base, 0)
        self.used[base] = n + 1
        return base if n == 0 else f"{base}_{n}"


class _Lowering:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes = {n.name: n for n in graph.nodes}
        self.types = graph.types  # as the kernel at hand sees the tensors

    def group(self, fused: FusedNodes) -> Group:
        nodes = tuple(self.nodes[n] for n in fused.nodes)
        first = nodes[0]
        if is_view(self.graph, first):
            ends = (("X", first.inputs[0]), ("Y", first.outputs[0]))
            text = f"view {dims(self.graph.types[first.outputs[0]].shape)}"
            return Group(first.name, nodes, None, ends, first.inputs[:1], first.outputs[:1], text, fused.rules)
        if why := why_not_compiled(self.graph, first):
            inputs, outputs = tuple(i for i in first.inputs if i), tuple(o for o in first.outputs if o)
            text = f"{opdef(first).word} {dims(self.graph.types[outputs[0]].shape)}"
            return Group(first.name, nodes, None, (), inputs, outputs, text, fused.rules, obstacle=why)
        if (kernel := runtime_kernel(self.graph, first)) is not None:
            return self._runtime(first, kernel, fused.rules)
        names, tensors, order = _Names(), dict[str, te.Tensor](), list[str]()
        self.types = {**self.graph.types, **rows} if (rows := in_one_row(self.graph, nodes)) else self.graph.types
        for k, n in enumerate(nodes):
            self._lower(n, names, tensors, order, nodes[k + 1 :])
        out = nodes[-1].outputs[0]
        func = merge_reduced_axes(te.func(tensors[out], "_".join(opdef(n).word for n in nodes)))
        by_param = {tensors[t].name: t for t in [*order, out]}
        args = tuple((b.name, by_param[b.name]) for b in func.params)
        return Group(
            main_node(nodes).name,
            nodes,
            func,
            args,
            tuple(t for _, t in args if t != out),
            (out,),
            describe(self.graph, nodes),
            fused.rules,
            structural_key(func),
            count_flops(func),
        )

    def _runtime(self, node: Node, kernel: KernelFunction, rules: tuple[str, ...]) -> Group:
        """A node that a runtime kernel computes."""
        ins = {f"in{i}": t for i, t in enumerate(node.inputs) if t and not self._in_code(node, i)}
        outs = {f"out{i}": t for i, t in enumerate(node.outputs) if t}
        args = tuple((ins | outs).items())
        params = tuple(
            ParamInfo(name, "output" if name in outs else "input", self.graph.types[t].shape, self.graph.types[t].dtype)
            for name, t in args
        )
        kernel = replace(kernel, params=params)
        inputs, outputs = tuple(dict.fromkeys(ins.values())), tuple(outs.values())
        text = describe(self.graph, (node,))
        return Group(
            node.name, (node,), None, args, inputs, outputs, text, rules, kernel.text, kernel.flops, kernel=kernel
        )

    def _in_code(self, node: Node, i: int) -> bool:
        return i in opdef(node).parameters and node.inputs[i] in self.graph.constants

    def _lower(
        self, node: Node, names: _Names, tensors: dict[str, te.Tensor], order: list[str], later: tuple[Node, ...]
    ) -> None:
        op = opdef(node)
        if op.commutative:  # what the group computed comes first, so that both ways of writing it give one task
            node = replace(node, inputs=tuple(sorted(node.inputs, key=lambda i: i in order or i not in tensors)))
        call = make_call(node, self.types, self.graph.constants)
        dtype = self.types[node.outputs[0]].dtype
        call = Call(call.node, call.types, call.values, names).wide
        args: list[te.Tensor | None] = []
        for i, x in enumerate(node.inputs):
            if x and x not in tensors and self._is_tensor(call, i):
                t = self.types[x]
                tensors[x] = te.placeholder(
                    t.shape, t.dtype, names(self._role(node, i, order)), constant=x in self.graph.constants
                )
                order.append(x)
            args.append(tensors.get(x))
        source = args[0] if args else None
        if op.moves and source is not None:
            if op.transposes and len(source.stages) == 1 and source.stages[0].reduce:
                tensors[node.outputs[0]] = as_type(call, written_in_order(call, source), dtype)
                return
            if any(opdef(n).fusion == "complex" for n in later):
                tensors[node.outputs[0]] = read_through(call, source)
                return
        kept = op.moves or op.picks or op.joins  # elements stay what they are
        alike = all(a is None or a.dtype == dtype or not is_float(a.dtype) for a in args)
        wide = widened_types(call)
        seen = args if kept and alike else [widened(a) if a is not None and a.dtype in wide else a for a in args]
        tensors[node.outputs[0]] = as_type(call, op.lower(call, *seen), dtype)

    def _is_tensor(self, call: Call, i: int) -> bool:
        """Parameters such as shapes, axes and single numbers are part of the code, not arguments."""
        value, op = call.values[i], opdef(call.node)
        return value is None or not op.in_code(i, value)

    def _role(self, node: Node, i: int, order: list[str]) -> str:
        if node.inputs[i] in self.graph.constants:
            inputs = opdef(node).inputs
            return inputs[i].name if i < len(inputs) else "C"
        return "X" if not any(t not in self.graph.constants for t in order) else "R" if opdef(node).elementwise else "X"
