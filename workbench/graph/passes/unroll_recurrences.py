"""Short recurrences become the operators of their steps, which are compiled and fused like all others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from workbench.graph.graph import Array, AttrValue, Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.opdef import opdef
from workbench.graph.operator_call import Call
from workbench.graph.ops.nn.recurrent import MOST_STEPS, Gru, Lstm, Recurrent, Sizes, Weights
from workbench.graph.passes.base import graph_pass, replace_each
from workbench.graph.type_inference import make_call


@graph_pass("unroll_recurrences")
def unroll_recurrences(graph: Graph) -> Graph:
    """Write RNN, GRU and LSTM over few steps as products and element-wise operators, step by step."""

    def unrolled(editor: GraphEditor, node: Node) -> list[Node] | None:
        op = opdef(node)
        if not isinstance(op, Recurrent):
            return None
        call = make_call(node, graph.types, graph.constants)
        s = op.sizes(call)
        few = s.steps * len(s.directions) <= MOST_STEPS and not op.unknown(call)
        return _Unrolled(graph, editor, op, call).nodes if few else None

    names = "unroll_recurrences: {}".format
    return replace_each(
        graph, unrolled, "few steps: written one by one", lambda nodes: names(", ".join(n.name for n in nodes))
    )


@dataclass
class _Unrolled:
    """The nodes in the place of one recurrence."""

    graph: Graph
    editor: GraphEditor
    op: Recurrent
    call: Call
    nodes: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        s, node = self.op.sizes(self.call), self.call.node
        self.base = next(o for o in node.outputs if o)
        self.turned = bool(self.call.get_int("layout", 0))
        x = self.add("Transpose", (node.inputs[0],), {"perm": (1, 0, 2)}) if self.turned else node.inputs[0]
        x = self.reshape(x, (s.steps * s.batch, s.inputs))
        every, last = [], [list[str]() for _ in range(self.op.states)]
        for d in range(len(s.directions)):
            outs, state = self.direction(s, d, x)
            every.append(self.joined([self.reshape(h, (1, 1, s.batch, s.hidden)) for h in outs], 0))
            for found, value in zip(last, state, strict=True):
                found.append(self.reshape(value, (1, s.batch, s.hidden)))
        self.result(0, self.joined(every, 1), (2, 0, 1, 3))
        for k, found in enumerate(last):
            self.result(1 + k, self.joined(found, 0), (1, 0, 2))

    # ---- nodes -----------------------------------------------------------------------------------------------------

    def add(
        self, op: str, inputs: tuple[str, ...], attrs: dict[str, AttrValue] | None = None, version: int = 18
    ) -> str:
        """Append a node; returns its result."""
        made = replace(self.editor.make(op, inputs, f"{self.base}.{op.lower()}", attrs), version=version)
        self.nodes.append(made)
        return made.outputs[0]

    def constant(self, value: Array) -> str:
        """Add a constant of the type that the recurrence computes in."""
        return self.editor.constant(f"{self.base}.c", value)

    def reshape(self, x: str, shape: tuple[int, ...]) -> str:
        """The tensor in another shape."""
        made = self.editor.reshape(x, shape, f"{self.base}.reshape")
        self.nodes.append(made)
        return made.outputs[0]

    def part(self, x: str, axis: int, start: int, end: int) -> str:
        """Part of a tensor along one axis."""
        return self.add("Slice", (x,), {"starts": (start,), "ends": (end,), "axes": (axis,)}, version=9)

    def joined(self, parts: list[str], axis: int) -> str:
        """Parts side by side."""
        return parts[0] if len(parts) == 1 else self.add("Concat", tuple(parts), {"axis": axis})

    def result(self, k: int, x: str, turn: tuple[int, ...]) -> None:
        """Give an output of the recurrence its value."""
        outputs = self.call.node.outputs
        if k < len(outputs) and outputs[k]:
            op, attrs = ("Transpose", {"perm": turn}) if self.turned else ("Identity", {})
            made = self.editor.make(op, (x,), outputs[k], dict(attrs), exact=True)
            self.nodes.append(replace(made, version=18))

    # ---- steps -----------------------------------------------------------------------------------------------------

    def direction(self, s: Sizes, d: int, x: str) -> tuple[list[str], tuple[str, ...]]:
        """Outputs of one direction in the order of time, and the state in the end."""
        w = self.op.weights_of(self.call.values, d, s.hidden)
        # Biases of both products come in one addition where nothing happens between them.
        late = isinstance(self.op, Gru) and bool(self.call.get_int("linear_before_reset", 0))
        rows = np.arange(self.op.gates * s.hidden)
        apart = late & (rows >= 2 * s.hidden)
        bias = w.wb + np.where(apart, np.zeros_like(w.rb), w.rb)
        x = self.add("Gemm", (x, self.constant(w.w.T), self.constant(bias)))
        state = tuple(self.first(s, d, k) for k in range(self.op.states))
        outs = [""] * s.steps
        for t in reversed(range(s.steps)) if s.directions[d] == "reverse" else range(s.steps):
            mine = x if s.steps == 1 else self.part(x, 0, t * s.batch, (t + 1) * s.batch)
            state = self.step(s, d, mine, state, w)
            outs[t] = state[0]
        return outs, state

    def first(self, s: Sizes, d: int, k: int) -> str:
        """State before the first step."""
        if not self.call.has(5 + k):
            return self.constant(np.zeros((s.batch, s.hidden), self.call.type(0).dtype))
        known = self.call.values[5 + k]
        if known is not None:
            return self.constant(np.take(known, d, int(self.turned)))
        x = self.call.node.inputs[5 + k]
        x = self.part(x, int(self.turned), d, d + 1) if len(s.directions) > 1 else x
        return self.reshape(x, (s.batch, s.hidden))

    def apply(self, d: int, which: int, x: str, clipped: bool = True) -> str:
        """An activation of a direction, of what was clipped first where the node says so."""
        clip = self.call.get_float("clip", 0.0)
        if clip and clipped:
            low, high = (np.asarray(v, self.call.type(0).dtype) for v in (-clip, clip))
            x = self.add("Clip", (x, self.constant(low), self.constant(high)))
        f = self.op.functions(self.call, d)[which]
        return self.add(f.name, (x,), f.attrs)

    def step(self, s: Sizes, d: int, x: str, state: tuple[str, ...], w: Weights) -> tuple[str, ...]:
        """State after one step; `x` is the product of the input with W, with the biases."""
        if isinstance(self.op, Lstm):
            return self.lstm(s, d, x, state, w)
        if isinstance(self.op, Gru):
            return (self.gru(s, d, x, state[0], w),)
        return (self.apply(d, 0, self.sum(x, self.product(state[0], w.r))),)

    def product(self, h: str, r: Array) -> str:
        """Product of the state with weights."""
        return self.add("MatMul", (h, self.constant(r.T)))

    def sum(self, a: str, b: str) -> str:
        """Sum of two tensors."""
        return self.add("Add", (a, b))

    def weighted(self, gate: str, peepholes: Array | None, cell: str) -> str:
        """A gate that looks at the cell."""
        if peepholes is None:
            return gate
        return self.sum(gate, self.add("Mul", (cell, self.constant(peepholes))))

    def lstm(self, s: Sizes, d: int, x: str, state: tuple[str, ...], w: Weights) -> tuple[str, ...]:
        h, cell, n, p = *state, s.hidden, w.peepholes
        gates = self.sum(self.product(h, w.r), x)
        i, o, f, new = (self.part(gates, 1, k * n, (k + 1) * n) for k in range(4))
        i = self.apply(d, 0, self.weighted(i, None if p is None else p[:n], cell))
        if self.call.get_int("input_forget", 0):
            f = self.add("Sub", (self.constant(np.ones((), w.r.dtype)), i))
        else:
            f = self.apply(d, 0, self.weighted(f, None if p is None else p[2 * n :], cell))
        cell = self.sum(self.add("Mul", (f, cell)), self.add("Mul", (i, self.apply(d, 1, new))))
        o = self.apply(d, 0, self.weighted(o, None if p is None else p[n : 2 * n], cell))
        return self.add("Mul", (o, self.apply(d, 2, cell, clipped=False))), cell

    def gru(self, s: Sizes, d: int, x: str, h: str, w: Weights) -> str:
        n = s.hidden
        xz, xr, xn = (self.part(x, 1, k * n, (k + 1) * n) for k in range(3))
        if self.call.get_int("linear_before_reset", 0):
            own = self.product(h, w.r)
            z, r, more = (self.part(own, 1, k * n, (k + 1) * n) for k in range(3))
            r = self.apply(d, 0, self.sum(xr, r))
            inner = self.add("Mul", (r, self.sum(more, self.constant(w.rb[2 * n :]))))
        else:
            own = self.product(h, w.r[: 2 * n])
            z, r = (self.part(own, 1, k * n, (k + 1) * n) for k in range(2))
            r = self.apply(d, 0, self.sum(xr, r))
            inner = self.product(self.add("Mul", (r, h)), w.r[2 * n :])
        z, new = self.apply(d, 0, self.sum(xz, z)), self.apply(d, 1, self.sum(xn, inner))
        # (1 - z) * new + z * h, with one product less.
        return self.sum(new, self.add("Mul", (z, self.add("Sub", (h, new)))))
