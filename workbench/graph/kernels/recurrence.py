"""Recurrences: one kernel with the loop over steps.

The product of all inputs with W is given, of all steps at once. Each step multiplies the state before it with R, which
lies transposed in blocks of columns, so that vectors of columns are summed in registers. Directions and sequences are
independent: threads share them. Some sequences go together, so that R is read once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.codegen.runtime_kernels.language import Array, Code, Number
from workbench.codegen.runtime_kernels.module import KernelEmitter

#: Sequences that go together, and vectors that are summed in registers, at most.
_TOGETHER, _SUMS = 8, 16
#: Columns of R that lie together, where the hidden size is a multiple of it: whole rows would be pages apart.
_BLOCK = 64
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@dataclass(frozen=True, slots=True)
class Settings:
    """What is known of a recurrence when its kernel is compiled.

    Attributes
    ----------
    kind : {"RNN", "GRU", "LSTM"}
    steps, batch, hidden : int
    backwards : tuple of bool
        Of each direction.
    batch_first : bool
        Whether sequences are the first dimension (``layout=1``).
    functions : tuple of tuple of (str, tuple of float)
        Of each direction the activations, with their numbers.
    clip : float
        Bound of what enters an activation; 0: none.
    coupled : bool
        The forget gate is what the input gate leaves (LSTM).
    late : bool
        The reset gate is applied behind the product (GRU).
    """

    kind: str
    steps: int
    batch: int
    hidden: int
    backwards: tuple[bool, ...]
    batch_first: bool
    functions: tuple[tuple[tuple[str, tuple[float, ...]], ...], ...]
    clip: float
    coupled: bool
    late: bool

    @property
    def rows(self) -> int:
        """Numbers of all gates."""
        return GATES[self.kind] * self.hidden

    def together(self, threads: int) -> int:
        """Sequences that go together: as many as leave work for all threads."""
        fitting = [n for n in range(1, _TOGETHER + 1) if self.batch % n == 0]
        shared = [n for n in fitting if len(self.backwards) * self.batch // n >= threads]
        return max(shared or fitting[:1])


def block_of(kind: str, hidden: int) -> int:
    """Columns of R that lie together: it comes as ``[directions, blocks, hidden, columns of a block]``."""
    return _BLOCK if hidden % _BLOCK == 0 else GATES[kind] * hidden


def recurrence(k: KernelEmitter, s: Settings) -> None:
    """All steps of all directions; inputs as of the operator, but the product with W for X, and R in blocks."""
    together, kind = s.together(k.target.threads), k.dtype("in0")
    kind = kind if kind == "float64" else "float32"
    groups = s.batch // together
    for name, size in (("sums", s.rows), ("state", s.hidden), ("cell", s.hidden), ("reset", s.hidden)):
        k.scratch(name, together * size, kind)

    def unit(code: Code, number: Number) -> None:
        for d in range(len(s.backwards)):
            with code.when((number // groups).eq(d)):
                _Direction(code, s, d, number % groups * together, together, kind).run()

    work = s.steps * together * s.rows * s.hidden // k.target.lanes(kind)
    k.rows(len(s.backwards) * groups, unit, work)


@dataclass(frozen=True, slots=True)
class _Direction:
    """One direction of some sequences, from the number `first` on."""

    code: Code
    s: Settings
    d: int
    first: Number
    count: int
    kind: str

    def run(self) -> None:
        """Write all steps."""
        code, s = self.code, self.s
        names = ("state", "cell")[: 1 + (s.kind == "LSTM")]
        for k, name in enumerate(names):
            given = code.given(f"in{5 + k}")
            self._copy(given, code.array(name), self._edge, None)
        with code.loop(s.steps) as j:
            t = (s.steps - 1) - j if s.backwards[self.d] else j
            {"LSTM": self._lstm, "GRU": self._gru, "RNN": self._rnn}[s.kind](t)
        for k, name in enumerate(names):
            out = code.given(f"out{1 + k}")
            if out is not None:
                self._copy(code.array(name), out, None, self._edge)

    def _copy(
        self,
        source: Array | None,
        target: Array,
        read: Callable[[Number], Number] | None,
        write: Callable[[Number], Number] | None,
    ) -> None:
        """Copy a state of each sequence between the node's tensors and this thread's memory; zeros for no source."""
        hidden = self.s.hidden
        for b in range(self.count):
            own, there = self.code.number(b * hidden), self.first + b
            of, to = (read(there) if read else own), (write(there) if write else own)

            def vector(at: Number, lanes: int, of: Number = of, to: Number = to) -> None:
                zero = self.code.number(0, self.kind).spread(lanes)
                value = zero if source is None else source.load(of + at, lanes)
                target.store(to + at, value.to(target.dtype))

            self.code.along(hidden, self.kind, vector)

    # ---- where things lie ------------------------------------------------------------------------------------------

    def _edge(self, b: Number) -> Number:
        """Of a sequence's first or last state."""
        ways, s = len(self.s.backwards), self.s
        return (b * ways + self.d if s.batch_first else b + self.d * s.batch) * s.hidden

    def _row(self, t: Number, b: Number) -> Number:
        """Of a step of a sequence among all."""
        return b * self.s.steps + t if self.s.batch_first else t * self.s.batch + b

    def _every(self, t: Number, b: Number) -> Number:
        """Of a step's state in the first output."""
        s, ways = self.s, len(self.s.backwards)
        row = (b * s.steps + t) * ways + self.d if s.batch_first else (t * ways + self.d) * s.batch + b
        return row * s.hidden

    # ---- a step ----------------------------------------------------------------------------------------------------

    def _times(self, source: str, start: int, count: int) -> None:
        """Sums of some columns of R, by a vector of each sequence."""
        lanes, done = self.code.lanes(self.kind), start
        most = 1 << (max(1, _SUMS // self.count).bit_length() - 1)
        parts = [(most >> n, lanes) for n in range(most.bit_length())]
        for vectors, width in (*parts, (1, max(1, lanes // 4)), (1, 1)):
            n = (start + count - done) // (vectors * width)
            if n:
                with self.code.loop(n) as q:
                    self._columns(source, q * (vectors * width) + done, vectors, width)
                done += n * vectors * width

    def _columns(self, source: str, column: Number, vectors: int, width: int) -> None:
        code, s = self.code, self.s
        block = block_of(s.kind, s.hidden)
        start = column // block * (s.hidden * block) + column % block
        r = code.array("in2").at(start + self.d * s.hidden * s.rows)
        places = [v * width // block * (s.hidden * block) + v * width % block for v in range(vectors)]
        x, sums = code.array(source), code.array("sums")
        found = [[code.variable(0, self.kind, width) for _ in range(vectors)] for _ in range(self.count)]
        with code.loop(s.hidden) as k:
            weights = [r.load(k * block + place, width).to(self.kind) for place in places]
            for b in range(self.count):
                factor = x[k + b * s.hidden].spread(width)
                for total, weight in zip(found[b], weights, strict=True):
                    total.set(total.now + factor * weight)
        for b in range(self.count):
            for v in range(vectors):
                sums.store(column + (b * s.rows + v * width), found[b][v].now)

    def _gate(self, t: Number, b: int, gate: int, at: Number, lanes: int, *, product: bool = True) -> Number:
        """What enters a gate: products and biases; without what comes of R where `product` is False."""
        s, code = self.s, self.code
        start = self._row(t, self.first + b) * (len(s.backwards) * s.rows) + self.d * s.rows
        total = code.array("in0").load(start + at + gate * s.hidden, lanes).to(self.kind)
        bias = self._bias(gate, at, lanes)
        total = total if bias is None else total + bias
        return total + self._recurrent(b, gate, at, lanes) if product else total

    def _recurrent(self, b: int, gate: int, at: Number, lanes: int) -> Number:
        """The product with R and its bias."""
        found = self.code.array("sums").load(at + (b * self.s.rows + gate * self.s.hidden), lanes)
        bias = self._bias(gate, at, lanes, 1)
        return found if bias is None else found + bias

    def _bias(self, gate: int, at: Number, lanes: int, which: int = 0) -> Number | None:
        given, s = self.code.given("in3"), self.s
        if given is None:
            return None
        return given.load(at + ((2 * self.d + which) * s.rows + gate * s.hidden), lanes).to(self.kind)

    def _apply(self, which: int, x: Number, *, clipped: bool = True) -> Number:
        """An activation of what may be clipped first."""
        if self.s.clip and clipped:
            x = x.largest(-self.s.clip).smallest(self.s.clip)
        name, numbers = self.s.functions[self.d][which]
        return _FUNCTIONS[name](x, *numbers)

    def _each(self, t: Number, write: Callable[[int, Number, int], Number], *, last: bool = True) -> None:
        """Take the elements of each sequence in vectors; what `write` gives is the new state where this is the `last`
        part of a step.
        """
        code, s = self.code, self.s
        lengths, y, state = code.given("in4"), code.given("out0"), code.array("state")
        for b in range(self.count):

            def vector(at: Number, lanes: int, b: int = b) -> None:
                new = write(b, at, lanes)
                if last:
                    state.store(at + b * s.hidden, new)
                    if y is not None:
                        y.store(self._every(t, self.first + b) + at, new.to(y.dtype))

            def over(at: Number, lanes: int, b: int = b) -> None:
                assert y is not None
                y.store(self._every(t, self.first + b) + at, code.number(0, self.kind).spread(lanes).to(y.dtype))

            if lengths is None:
                code.along(s.hidden, self.kind, vector)
                continue
            runs = t < lengths[self.first + b].to("int64")
            with code.when(runs):
                code.along(s.hidden, self.kind, vector)
            if last and y is not None:
                with code.when(~runs):
                    code.along(s.hidden, self.kind, over)

    def _rnn(self, t: Number) -> None:
        self._times("state", 0, self.s.hidden)
        self._each(t, lambda b, at, lanes: self._apply(0, self._gate(t, b, 0, at, lanes)))

    def _gru(self, t: Number) -> None:
        s, code = self.s, self.code
        state, reset, sums = (code.array(n) for n in ("state", "reset", "sums"))
        self._times("state", 0, s.rows if s.late else 2 * s.hidden)

        def old(b: int, at: Number, lanes: int) -> Number:
            return state.load(at + b * s.hidden, lanes)

        def first(b: int, at: Number, lanes: int) -> Number:
            update = self._apply(0, self._gate(t, b, 0, at, lanes))
            keep = self._apply(0, self._gate(t, b, 1, at, lanes))
            sums.store(at + b * s.rows, update)
            reset.store(at + b * s.hidden, keep * (self._recurrent(b, 2, at, lanes) if s.late else old(b, at, lanes)))
            return update

        def second(b: int, at: Number, lanes: int) -> Number:
            own = reset.load(at + b * s.hidden, lanes) if s.late else self._recurrent(b, 2, at, lanes)
            new = self._apply(1, self._gate(t, b, 2, at, lanes, product=False) + own)
            update = sums.load(at + b * s.rows, lanes)
            return (1 - update) * new + update * old(b, at, lanes)

        self._each(t, first, last=False)
        if not s.late:
            self._times("reset", 2 * s.hidden, s.hidden)
        self._each(t, second)

    def _lstm(self, t: Number) -> None:
        s, code = self.s, self.code
        self._times("state", 0, s.rows)
        peepholes, cell = code.given("in7"), code.array("cell")

        def peep(which: int, old: Number, at: Number, lanes: int, x: Number) -> Number:
            if peepholes is None:
                return x
            return x + peepholes.load(at + (3 * self.d + which) * s.hidden, lanes).to(self.kind) * old

        def element(b: int, at: Number, lanes: int) -> Number:
            old = cell.load(at + b * s.hidden, lanes)
            i, o, f, c = (self._gate(t, b, gate, at, lanes) for gate in range(4))
            i = self._apply(0, peep(0, old, at, lanes, i))
            forget = 1 - i if s.coupled else self._apply(0, peep(2, old, at, lanes, f))
            new = forget * old + i * self._apply(1, c)
            cell.store(at + b * s.hidden, new)
            return self._apply(0, peep(1, new, at, lanes, o)) * self._apply(2, new, clipped=False)

        self._each(t, element)


def _softplus(x: Number) -> Number:
    return x.largest(0) + ((-x.apply("abs")).apply("exp") + 1).apply("log")


_FUNCTIONS: Mapping[str, Callable[..., Number]] = {
    "Sigmoid": lambda x: x.apply("sigmoid"),
    "Tanh": lambda x: x.apply("tanh"),
    "Relu": lambda x: x.largest(0),
    "LeakyRelu": lambda x, alpha: (x < 0).select(x * alpha, x),
    "ThresholdedRelu": lambda x, alpha: (x > alpha).select(x, 0),
    "HardSigmoid": lambda x, alpha, beta: (x * alpha + beta).largest(0).smallest(1),
    "Elu": lambda x, alpha: (x < 0).select((x.apply("exp") - 1) * alpha, x),
    "Softsign": lambda x: x / (x.apply("abs") + 1),
    "Softplus": _softplus,
    "Affine": lambda x, alpha, beta: x * alpha + beta,
    "ScaledTanh": lambda x, alpha, beta: (x * beta).apply("tanh") * alpha,
}
