"""Recurrences over time: RNN, GRU, LSTM.

`decompose` writes one as a product of all inputs with W, a loop nest, and the steps, a runtime kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.graph import Array, AttrValue, TensorType
from workbench.graph.kernels.recurrence import Settings, block_of, recurrence
from workbench.graph.node_steps import OWN, Steps
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.ops.nn.recurrent_activations import Activation, activations

State = tuple[Array, ...]
#: Rows up to which a matrix is multiplied row by row, in this thread. Chosen, not measured: others may be busy with the
#: kernels before and after.
MOST_ROWS = 512


def _times(a: Array, w: Array) -> Array:
    """``a @ w.T``; few rows one by one, in this thread: others may be busy with the kernels before and after."""
    with np.errstate(invalid="ignore"):  # BLAS sets the flag now and then for lanes of a vector beyond the row's end
        return a @ w.T if len(a) > MOST_ROWS else np.stack([w @ row for row in a])


def _clipped(f: Callable[[Array], Array], limit: float) -> Callable[[Array], Array]:
    return lambda x: f(np.clip(x, -limit, limit))


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a recurrence, and the directions in which it goes."""

    steps: int
    batch: int
    inputs: int
    hidden: int
    directions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Weights:
    """What one direction multiplies and adds.

    ``W [gates * hidden, inputs]``, ``R [gates * hidden, hidden]``, the biases of both, and of an LSTM the weights of
    its cell.
    """

    w: Array
    r: Array
    wb: Array
    rb: Array
    peepholes: Array | None
    direction: int


class Recurrent(OpDef):
    """What all recurrences share: sizes, directions, the loop over time.

    One that is compiled becomes a product of all inputs with W, and an operator of our own of the same name, `stepped`,
    that takes this product for its first input, nothing for its second, and R for its third, transposed in blocks.
    """

    multi = True
    stepped: ClassVar[bool] = False
    gates: ClassVar[int]
    states: ClassVar[int] = 1
    defaults: ClassVar[tuple[str, ...]]

    def functions(self, c: Call, direction: int) -> tuple[Activation, ...]:
        """Activations of a direction."""
        both = c.get_str("direction", "forward") == "bidirectional"
        return activations(c, self.defaults, 1 + both)[direction]

    def sizes(self, c: Call) -> Sizes:
        """Sizes, checked against the shapes of everything that is given."""
        if self.stepped:
            steps, batch, inputs = (c.get_int(name, 0) for name in ("steps", "batch", "inputs"))
            return Sizes(steps, batch, inputs, c.shape(2)[2], _ways(c))
        x, w, r = c.shape(0), c.shape(1), c.shape(2)
        ways = _ways(c)
        if len(x) != 3 or len(w) != 3 or len(r) != 3:
            raise c.error("shape_mismatch", f"takes tensors of 3 dimensions, not {list(x)}, {list(w)}, {list(r)}")
        batch, steps = (x[0], x[1]) if c.get_int("layout", 0) else (x[1], x[0])
        out = Sizes(steps, batch, x[2], r[2], ways)
        rows, n = self.gates * out.hidden, len(ways)
        state = (batch, n, out.hidden) if c.get_int("layout", 0) else (n, batch, out.hidden)
        wanted = [(1, (n, rows, out.inputs)), (2, (n, rows, out.hidden)), (3, (n, 2 * rows)), (4, (batch,))]
        wanted += [(5 + k, state) for k in range(self.states)] + [(7, (n, 3 * out.hidden))] * (self.states == 2)
        for i, shape in wanted:
            if c.has(i) and c.shape(i) != shape:
                text = f"has {list(c.shape(i))} for input {i} where {list(shape)} is needed"
                raise c.error("shape_mismatch", text)
        for d in range(n):
            self.functions(c, d)
        if c.get_int("hidden_size", out.hidden) != out.hidden:
            raise c.error("invalid_graph", f"says hidden_size={c.get_int('hidden_size', 0)} of {out.hidden}")
        return out

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        s, dtype = self.sizes(c), c.type(0).dtype
        n = len(s.directions)
        every, last = (s.steps, n, s.batch, s.hidden), (n, s.batch, s.hidden)
        if c.get_int("layout", 0):
            every, last = (s.batch, s.steps, n, s.hidden), (s.batch, n, s.hidden)
        return (TensorType(every, dtype), *(TensorType(last, dtype),) * self.states)

    def decompose(self, c: Call, steps: Steps) -> bool:
        """Write the product of all inputs with W, and the steps."""
        s, node = self.sizes(c), c.node
        if self.stepped or not math.prod((s.steps, s.batch, s.inputs, s.hidden)):
            return False
        x = steps.reshape(steps.name(0), (s.steps * s.batch, s.inputs), "rows")
        w = steps.reshape(steps.name(1), (len(s.directions) * self.gates * s.hidden, s.inputs), "weights")
        product = steps.add("Gemm", (x, w), "product", {"transB": 1})
        block = block_of(node.op, s.hidden)
        blocks = len(s.directions), self.gates * s.hidden // block, block, s.hidden
        r = steps.transpose(steps.reshape(steps.name(2), blocks, "blocks"), (0, 1, 3, 2), "recurrent")
        sizes: dict[str, AttrValue] = {"steps": s.steps, "batch": s.batch, "inputs": s.inputs}
        steps.add(node.op, (product, "", r, *node.inputs[3:]), "steps", {**node.attrs, **sizes}, own=True)
        steps.nodes[-1] = replace(steps.nodes[-1], outputs=node.outputs)
        return True

    def kernel(self, c: Call) -> KernelFunction | None:
        if not self.stepped:
            return None
        s, ways = self.sizes(c), _ways(c)
        functions = tuple(
            tuple((f.name, tuple(f.numbers.values())) for f in self.functions(c, d)) for d in range(len(ways))
        )
        backwards, first = tuple(way == "reverse" for way in ways), bool(c.get_int("layout", 0))
        flags = bool(c.get_int("input_forget", 0)), bool(c.get_int("linear_before_reset", 0))
        clip, kind = c.get_float("clip", 0.0), type(self).name
        found = Settings(kind, s.steps, s.batch, s.hidden, backwards, first, functions, clip, *flags)
        flops = 2 * len(ways) * s.steps * s.batch * found.rows * s.hidden
        return KernelFunction(recurrence, (found,), flops)

    def obstacle(self, c: Call) -> str:
        return "a recurrence that was not decomposed"

    def weights_of(self, args: Sequence[Any], direction: int, hidden: int) -> Weights:
        """Weights of one direction."""
        w, r, b = args[1], args[2], args[3] if len(args) > 3 else None
        rows = self.gates * hidden
        if self.stepped:
            w, r = np.zeros((len(r), rows, 0), r.dtype), np.swapaxes(r, 2, 3).reshape(len(r), rows, hidden)
        both = np.zeros(2 * rows, w.dtype) if b is None else b[direction]
        p = args[7] if len(args) > 7 else None
        mine = None if p is None else p[direction]
        return Weights(w[direction], r[direction], both[:rows], both[rows:], mine, direction)

    def reference(self, c: Call, x: Array, *rest: Any) -> tuple[Array, ...]:
        s, args, turned = self.sizes(c), (x, *rest), bool(c.get_int("layout", 0))
        if self.stepped:
            x = x.reshape(s.batch if turned else s.steps, -1, x.shape[-1])
        x = np.swapaxes(x, 0, 1) if turned else x
        lengths = args[4] if len(args) > 4 else None
        every = np.zeros((s.steps, len(s.directions), s.batch, s.hidden), x.dtype)
        last = [np.zeros((len(s.directions), s.batch, s.hidden), x.dtype) for _ in range(self.states)]
        for d, way in enumerate(s.directions):
            given = [args[5 + k] if len(args) > 5 + k else None for k in range(self.states)]
            first = tuple(
                np.zeros((s.batch, s.hidden), x.dtype) if g is None else (g[:, d] if turned else g[d]) for g in given
            )
            y, state = self._run(c, d, x, self.weights_of(args, d, s.hidden), first, way == "reverse", lengths)
            every[:, d] = y
            for out, value in zip(last, state, strict=True):
                out[d] = value
        if turned:
            return (every.transpose(2, 0, 1, 3), *(np.swapaxes(v, 0, 1) for v in last))
        return (every, *last)

    def _run(
        self, c: Call, d: int, x: Array, w: Weights, state: State, backwards: bool, lengths: Array | None
    ) -> tuple[Array, State]:
        """Outputs of one direction, and the last state; a sequence that is over keeps its state and gives zeros."""
        steps, batch = x.shape[:2]
        rows = len(w.wb)
        mine = x[:, :, d * rows : (d + 1) * rows] if self.stepped else _times(x.reshape(steps * batch, -1), w.w)
        products = (mine.reshape(steps * batch, -1) + w.wb).reshape(steps, batch, -1)
        clip = c.get_float("clip", 0.0)
        fns = [_clipped(f, clip) if clip else f for f in self.functions(c, d)]
        y = np.zeros((steps, batch, w.r.shape[1]), x.dtype)
        for t in reversed(range(steps)) if backwards else range(steps):
            new = self.step(c, products[t], state, w, fns)
            if lengths is not None:
                runs = (t < lengths)[:, None]
                state = tuple(np.where(runs, a, b).astype(x.dtype) for a, b in zip(new, state, strict=True))
                y[t] = np.where(runs, state[0], 0)
            else:
                state = tuple(v.astype(x.dtype, copy=False) for v in new)
                y[t] = state[0]
        return y, state

    def step(self, c: Call, x: Array, state: State, w: Weights, f: list[Callable[[Array], Array]]) -> State:
        """State after one step; `x` is the product of the input with W, its bias added."""
        raise NotImplementedError


def _ways(c: Call) -> tuple[str, ...]:
    """Directions of a recurrence."""
    way = c.get_str("direction", "forward")
    if way not in ("forward", "reverse", "bidirectional"):
        raise c.error("unsupported_attr", f"goes in the direction {way!r}, which is not known")
    return ("forward", "reverse") if way == "bidirectional" else (way,)


@operator("RNN", "opaque")
class Rnn(Recurrent):
    """Simple recurrence: ``h = f(W x + R h + bias)``."""

    gates, defaults = 1, ("Tanh",)

    def step(self, c: Call, x: Array, state: State, w: Weights, f: list[Callable[[Array], Array]]) -> State:
        return (f[0](x + _times(state[0], w.r) + w.rb),)


@operator("GRU", "opaque")
class Gru(Recurrent):
    """Gated recurrence of an update gate, a reset gate and a candidate."""

    gates, defaults = 3, ("Sigmoid", "Tanh")

    def step(self, c: Call, x: Array, state: State, w: Weights, f: list[Callable[[Array], Array]]) -> State:
        (h,), n = state, w.r.shape[1]
        if c.get_int("linear_before_reset", 0):
            own = _times(h, w.r) + w.rb
            z, r = f[0](x[:, :n] + own[:, :n]), f[0](x[:, n : 2 * n] + own[:, n : 2 * n])
            new = f[1](x[:, 2 * n :] + r * own[:, 2 * n :])
        else:
            own = _times(h, w.r[: 2 * n]) + w.rb[: 2 * n]
            z, r = f[0](x[:, :n] + own[:, :n]), f[0](x[:, n : 2 * n] + own[:, n:])
            new = f[1](x[:, 2 * n :] + _times(r * h, w.r[2 * n :]) + w.rb[2 * n :])
        return ((1 - z) * new + z * h,)


@operator("LSTM", "opaque")
class Lstm(Recurrent):
    """Recurrence with a cell: input, output and forget gate, and a candidate."""

    gates, states, defaults = 4, 2, ("Sigmoid", "Tanh", "Tanh")

    def step(self, c: Call, x: Array, state: State, w: Weights, f: list[Callable[[Array], Array]]) -> State:
        (h, cell), n = state, w.r.shape[1]
        i, o, forget, new = np.split(x + _times(h, w.r) + w.rb, 4, axis=1)
        p = np.zeros(3 * n, x.dtype) if w.peepholes is None else w.peepholes
        i = f[0](i + p[:n] * cell)
        forget = 1 - i if c.get_int("input_forget", 0) else f[0](forget + p[2 * n :] * cell)
        cell = forget * cell + i * f[1](new)
        return f[0](o + p[n : 2 * n] * cell) * self.functions(c, w.direction)[2](cell), cell


for _name, _plain in (("RNN", Rnn), ("GRU", Gru), ("LSTM", Lstm)):
    operator(_name, "opaque", domain=OWN, stepped=True)(type(f"Stepped{_plain.__name__}", (_plain,), {}))
