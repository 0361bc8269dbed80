"""Running a program: what it computes, how many cycles it takes, and what is wrong with it.

Three engines execute instructions in order. One starts when its engine is free, when the tokens that it pops are there,
and, for a load, when the port to memory is free: nothing depends on chance. Whatever the cycles say, a program is wrong
where two engines touch a row, one of them to write it, and no token says who is first: every engine has a vector clock,
and tokens carry them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.codegen.vta.design import DTYPES, UOP_BYTES, Design
from workbench.codegen.vta.instructions import (
    ENGINES,
    Alu,
    Footprints,
    Gemm,
    Instruction,
    LoadMicroOps,
    Program,
    Rows,
    Transfer,
)
from workbench.codegen.vta.tokens import Touched
from workbench.errors import RunFailure
from workbench.target import Target

_ALU = {"min": np.minimum, "max": np.maximum, "add": np.add, "shr": np.right_shift, "mul": np.multiply}


@dataclass(frozen=True, slots=True)
class Event:
    """An instruction that ran, from a cycle to another one; `moved` are bytes of memory."""

    instruction: Instruction
    start: int
    end: int
    moved: int


@dataclass(frozen=True, slots=True)
class Run:
    """What happened.

    Attributes
    ----------
    events : tuple of Event
        In the order in which they started.
    design : Design
    products : int
        Cycles in which the GEMM unit computed something.
    """

    events: tuple[Event, ...]
    design: Design
    products: int

    @property
    def cycles(self) -> int:
        """From the first instruction to the end of the last one."""
        return max((e.end for e in self.events), default=0)

    @property
    def utilisation(self) -> float:
        """Part of the cycles in which the GEMM unit computed something."""
        return self.products / self.cycles if self.cycles else 0.0

    @property
    def ms(self) -> float:
        """Milliseconds at the accelerator's clock."""
        return self.cycles / self.design.mhz * 1e-3

    def busy(self, engine: str) -> float:
        """Part of the cycles in which an engine ran something."""
        spent = sum(e.end - e.start for e in self.events if e.instruction.engine == engine)
        return spent / self.cycles if self.cycles else 0.0

    @property
    def bytes_read(self) -> int:
        """Bytes that were loaded."""
        return sum(e.moved for e in self.events if e.instruction.engine != "store")

    @property
    def bytes_written(self) -> int:
        """Bytes that were stored."""
        return sum(e.moved for e in self.events if e.instruction.engine == "store")


def simulate(program: Program, tensors: Sequence[NDArray[np.generic]] | None = None) -> Run:
    """Run a program.

    Parameters
    ----------
    program : Program
    tensors : sequence of array, optional
        Its parameters, flat; outputs are written. Without them nothing is computed: cycles are the same for all data.

    Raises
    ------
    RunFailure
        "vta.deadlock", "vta.race", "vta.tokens".
    """
    return _Simulation(program, tensors).run()


class _Simulation:
    def __init__(self, program: Program, tensors: Sequence[NDArray[np.generic]] | None) -> None:
        self._program, self._design = program, Design.of(Target(program.target))
        self._footprints = Footprints(program.kernels, self._design.depth["uop"])
        self._data = None if tensors is None else _Data(self._design, self._footprints, tensors)
        self._todo = [[i for i in program.instructions if i.engine == e] for e in ENGINES]
        self._order = [[k for k, i in enumerate(program.instructions) if i.engine == e] for e in ENGINES]
        self._at, self._free = [0] * 3, [0] * 3
        self._clock = [np.full(3, -1) for _ in ENGINES]
        self._tokens: dict[tuple[int, int], deque[tuple[int, Rows]]] = {}
        self._touched = Touched(self._design)
        self._port, self._products = 0, 0
        self._events: list[Event] = []

    def run(self) -> Run:
        while any(self._at[e] < len(todo) for e, todo in enumerate(self._todo)):
            ready = [r for e in range(3) if (r := self._ready(e)) is not None]
            if not ready:
                raise self._deadlock()
            start, _, e = min(ready)
            self._step(start, e)
        left = {k: len(q) for k, q in self._tokens.items() if q}
        if left:
            text = ", ".join(f"{n} from {ENGINES[a]} to {ENGINES[b]}" for (a, b), n in left.items())
            raise RunFailure("vta.tokens", f"Tokens are left at the end: {text}.", (), "as many pops as pushes")
        return Run(tuple(self._events), self._design, self._products)

    def _queue(self, a: int, b: int) -> deque[tuple[int, Rows]]:
        return self._tokens.setdefault((a, b), deque())

    def _ready(self, e: int) -> tuple[int, int, int] | None:
        """When an engine could start its next instruction, the place of this in the program, and the engine; None where
        it waits for a token, or has none.
        """
        if self._at[e] >= len(self._todo[e]):
            return None
        i = self._todo[e][self._at[e]]
        start = self._free[e]
        for other in map(ENGINES.index, i.pops):
            queue = self._queue(other, e)
            if not queue:
                return None
            start = max(start, queue[0][0])
        return (max(start, self._port) if _reads_memory(i) else start), self._order[e][self._at[e]], e

    def _step(self, start: int, e: int) -> None:
        i, number = self._todo[e][self._at[e]], self._at[e]
        clock = self._clock[e].copy()
        for other in map(ENGINES.index, i.pops):
            clock = np.maximum(clock, self._queue(other, e).popleft()[1])
        clock[e] = number
        self._check(i, e, number, clock)
        cycles, moved = self._cycles(i)
        end = start + cycles
        if _reads_memory(i):
            self._port = end
        for other in map(ENGINES.index, i.pushes):
            self._queue(e, other).append((end, clock))
        self._at[e], self._free[e], self._clock[e] = number + 1, end, clock
        if self._data is not None:
            self._data.run(i)
        self._events.append(Event(i, start, end, moved))

    def _check(self, i: Instruction, e: int, number: int, clock: Rows) -> None:
        """Find out whether tokens order the instruction after all that it depends on."""
        if isinstance(i.does, LoadMicroOps):
            self._footprints.load(i.does)
        reads, writes = self._footprints.touched(i.does)
        for touched, writing in ((reads, False), (writes, True)):
            for memory, rows in touched:
                if rows.size and not 0 <= rows.min() <= rows.max() < self._design.depth[memory]:
                    raise RunFailure("vta.memory", f"{_name(i)} touches rows beyond the end of {memory!r}.", (memory,))
                before = self._touched.before(memory, rows, writing)
                for other in range(3):
                    if other != e and before[other] > clock[other]:
                        raise _race(i, self._todo[other][before[other]], memory)
        for touched, writing in ((reads, False), (writes, True)):
            for memory, rows in touched:
                self._touched.note(memory, rows, writing, e, number)

    def _cycles(self, i: Instruction) -> tuple[int, int]:
        """Cycles of an instruction, and bytes of memory that it moves."""
        d, op = self._design, i.does
        if isinstance(op, Gemm | Alu):
            n = len(self._footprints.places(op))
            self._products += n if isinstance(op, Gemm) else 0
            return d.fill + n, 0
        if isinstance(op, LoadMicroOps):
            moved, zeros = UOP_BYTES * len(self._program.kernels[op.kernel]), 0
        else:
            rows, (height, width) = op.height * op.width, op.padded
            dtype = self._program.tensors[op.tensor][1]
            moved, zeros = rows * d.rows[op.memory] * np.dtype(dtype).itemsize, height * width - rows
        return d.latency + -(-moved // d.bus) + zeros, moved

    def _deadlock(self) -> RunFailure:
        waiting = []
        for e, todo in enumerate(self._todo):
            if self._at[e] < len(todo):
                i = todo[self._at[e]]
                missing = [x for x in i.pops if not self._queue(ENGINES.index(x), e)]
                waiting.append(f"{ENGINES[e]} waits with {_name(i)} for {' and '.join(missing)}")
        return RunFailure("vta.deadlock", f"Nobody can go on: {'; '.join(waiting)}.", (), "a push is missing")


def _reads_memory(i: Instruction) -> bool:
    return isinstance(i.does, LoadMicroOps) or (isinstance(i.does, Transfer) and i.does.op == "load")


def _name(i: Instruction) -> str:
    op = i.does
    kind = op.op if isinstance(op, Transfer | Alu) else "gemm" if isinstance(op, Gemm) else "load uop"
    where = f" {op.memory}[{op.sram}]" if isinstance(op, Transfer) else ""
    return f"{kind}{where}{f' of {i.row}' if i.row else ''}"


def _race(i: Instruction, other: Instruction, memory: str) -> RunFailure:
    text = f"{_name(i)} ({i.engine}) does not wait for {_name(other)} ({other.engine}), which touches the same rows."
    return RunFailure("vta.race", text, (memory,), "a token from the one to the other")


class _Data:
    """The memories, and what instructions do to them."""

    def __init__(self, design: Design, footprints: Footprints, tensors: Sequence[NDArray[np.generic]]) -> None:
        self._design, self._footprints = design, footprints
        self._tensors = tensors
        self._memory = {m: np.zeros((design.depth[m], n), DTYPES[m]) for m, n in design.rows.items()}
        self._plans: dict[object, list[tuple[int, Rows, Rows, bool]]] = {}

    def run(self, i: Instruction) -> None:
        """Execute an instruction."""
        match i.does:
            case Transfer() as op:
                self._move(op)
            case Gemm() as op:
                self._gemm(op)
            case Alu() as op:
                self._alu(op)

    def _move(self, op: Transfer) -> None:
        memory, n = self._memory[op.memory], self._design.rows[op.memory]
        tensor = self._tensors[op.tensor]
        rows = tensor[: tensor.size // n * n].reshape(-1, n)
        if op.op == "store":
            rows[op.outside()] = memory[op.inside()].astype(tensor.dtype)
            return
        height, width = op.padded
        memory[op.sram : op.sram + height * width] = 0
        memory[op.inside()] = rows[op.outside()]

    def _gemm(self, op: Gemm) -> None:
        acc, inp, wgt = (self._memory[m] for m in ("acc", "inp", "wgt"))
        words = self._footprints.words[op.first : op.end]
        places = self._footprints.places(op)
        if op.reset:
            acc[places.reshape(-1, len(words), 3)[:, : op.reset, 0].ravel()] = 0
        key = op.loops, words.tobytes()
        if key not in self._plans:
            self._plans[key] = _by_weights(places)
        # Sums of so few products of bytes are exact in float32.
        for w, sums, data, once in self._plans[key]:
            part = (inp[data].astype(np.float32) @ wgt[w].reshape(acc.shape[1], -1).T.astype(np.float32)).astype(
                np.int32
            )
            if once:
                acc[sums] += part
            else:
                np.add.at(acc, sums, part)

    def _alu(self, op: Alu) -> None:
        acc, places, do = self._memory["acc"], self._footprints.places(op), _ALU[op.op]
        other = acc[places[:, 1]] if op.number is None else np.int32(op.number)
        acc[places[:, 0]] = do(acc[places[:, 0]], other)


def _by_weights(places: Rows) -> list[tuple[int, Rows, Rows, bool]]:
    """Iterations that use one block of weights together: its number, sums, data, and whether no sum comes twice."""
    order = np.argsort(places[:, 2], kind="stable")
    numbers, starts = np.unique(places[order, 2], return_index=True)
    return [
        (int(w), places[part, 0], places[part, 1], len(np.unique(places[part, 0])) == len(part))
        for w, part in zip(numbers, np.split(order, starts[1:]), strict=True)
    ]
