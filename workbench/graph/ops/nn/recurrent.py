"""Recurrences over time: RNN, GRU, LSTM.

Short ones with known weights become products and element-wise operators, step by step
(`passes.unroll_recurrences`). What is left runs as a step in NumPy: all products with the input first, in one go, then
the steps in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workbench.graph.graph import Array, TensorType
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.ops.nn.recurrent_activations import Activation, activations

#: Steps, both directions together, up to which a recurrence is unrolled. Chosen: a step is two or three kernels, and
#: some twenty nodes for every pass.
MOST_STEPS = 64


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
    """What all recurrences share: sizes, directions, the loop over time."""

    multi = True
    gates: ClassVar[int]
    states: ClassVar[int] = 1
    defaults: ClassVar[tuple[str, ...]]

    def functions(self, c: Call, direction: int) -> tuple[Activation, ...]:
        """Activations of a direction."""
        both = c.get_str("direction", "forward") == "bidirectional"
        return activations(c, self.defaults, 1 + both)[direction]

    def sizes(self, c: Call) -> Sizes:
        """Sizes, checked against the shapes of everything that is given."""
        x, w, r = c.shape(0), c.shape(1), c.shape(2)
        way = c.get_str("direction", "forward")
        ways = ("forward", "reverse") if way == "bidirectional" else (way,)
        if way not in ("forward", "reverse", "bidirectional"):
            raise c.error("unsupported_attr", f"goes in the direction {way!r}, which is not known")
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

    def obstacle(self, c: Call) -> str:
        s = self.sizes(c)
        if s.steps * len(s.directions) > MOST_STEPS:
            return f"a recurrence over {s.steps} steps"
        return self.unknown(c) or "a recurrence that was not unrolled"

    def unknown(self, c: Call) -> str:
        """What keeps the recurrence from being unrolled whatever its length; "" if nothing does."""
        given = [i for i in (1, 2, 3, 7) if i < len(c.types) and c.has(i)]
        if any(c.values[i] is None for i in given):
            return "a recurrence whose weights are computed"
        lengths = c.values[4] if c.has(4) else None
        if c.has(4) and (lengths is None or (lengths != self.sizes(c).steps).any()):
            return "a recurrence over sequences of different lengths"
        every = (f for d in range(len(self.sizes(c).directions)) for f in self.functions(c, d))
        if odd := next((f.name for f in every if f.attrs is None), ""):
            return f"a recurrence with the activation {odd}"
        return ""

    def weights_of(self, args: Sequence[Any], direction: int, hidden: int) -> Weights:
        """Weights of one direction."""
        w, r, b = args[1], args[2], args[3] if len(args) > 3 else None
        rows = self.gates * hidden
        both = np.zeros(2 * rows, w.dtype) if b is None else b[direction]
        p = args[7] if len(args) > 7 else None
        mine = None if p is None else p[direction]
        return Weights(w[direction], r[direction], both[:rows], both[rows:], mine, direction)

    def reference(self, c: Call, x: Array, *rest: Any) -> tuple[Array, ...]:
        s, args, turned = self.sizes(c), (x, *rest), bool(c.get_int("layout", 0))
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
        products = (_times(x.reshape(steps * batch, -1), w.w) + w.wb).reshape(steps, batch, -1)
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
