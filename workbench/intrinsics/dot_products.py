"""What dot products of four bytes have in common: results in the lanes of a vector register."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workbench import te
from workbench.intrinsics.declaration import Emitter, Intrinsic, Machine, Place, registry
from workbench.ir import Func


class Dots:
    """Accumulators in vector registers; four bytes of A go to every lane, four bytes of B to each lane its own.

    Parameters
    ----------
    emitter : Emitter
    accumulators, lanes : int
    function : str
        LLVM's intrinsic: sums, and two vectors of bytes.
    operand : str
        LLVM type of these vectors; by default that of the sums.
    adds : bool
        Whether the intrinsic takes sums and adds to them.
    """

    def __init__(
        self, emitter: Emitter, accumulators: int, lanes: int, function: str, operand: str = "", adds: bool = True
    ) -> None:
        self._e, self._lanes, self._fn = emitter, lanes, function
        self._type = f"<{lanes} x i32>"
        self._operand = operand or self._type
        self._slots = [emitter.slot(self._type) for _ in range(accumulators)]
        taken = ", ".join([self._type] * adds + [self._operand] * 2)
        emitter.declare(function, f"declare {self._type} @{function}({taken})")

    def zero(self, acc: int) -> None:
        """Set an accumulator to 0."""
        self._set(acc, "zeroinitializer")

    def load(self, acc: int, at: Place) -> None:
        """Read a vector of sums from memory."""
        self._set(acc, self._e.value(f"load {self._type}, ptr {at.pointer}, align 4"))

    def store(self, acc: int, at: Place) -> None:
        """Write a vector of sums to memory."""
        self._e.effect(f"store {self._type} {self._get(acc)}, ptr {at.pointer}, align 4")

    def step(self, acc: int, operands: Mapping[str, Place]) -> None:
        """Accumulate the products of four bytes in every lane."""
        a, b = self._read(operands, "A"), self._read(operands, "B")
        self._set(acc, self._dot(self._get(acc), a, b))

    def fence(self) -> None:
        """Vector registers are the code generator's business."""

    def _read(self, operands: Mapping[str, Place], name: str) -> str:
        value = self._e.read(operands[name], self._lanes, name == "A")
        if self._operand == self._type:
            return value
        return self._e.value(f"bitcast {self._type} {value} to {self._operand}")

    def _dot(self, acc: str, a: str, b: str) -> str:
        args = f"{self._type} {acc}, {self._operand} {a}, {self._operand} {b}"
        return self._e.value(f"call {self._type} @{self._fn}({args})")

    def _get(self, acc: int) -> str:
        return self._e.value(f"load {self._type}, ptr {self._slots[acc]}, align 64")

    def _set(self, acc: int, value: str) -> None:
        self._e.effect(f"store {self._type} {value}, ptr {self._slots[acc]}, align 64")


def declare_dots(
    name: str,
    lanes: int,
    accumulators: int,
    requires: tuple[str, ...],
    a_dtype: str,
    machine: Callable[[Emitter, int], Machine],
    cycles: float = 0.5,
    latency: float = 5.0,
) -> None:
    """Declare ``C[j] += A[q] * B[j, q]`` of bytes, B of signed ones; arguments as for `Intrinsic`."""
    summary = f"C[j] += sum of A[q] * B[j, q] over four q, in {lanes} lanes j, {a_dtype} times int8, sums in int32."
    func = dot_description(lanes, 4, a_dtype)
    registry.add(Intrinsic(name, summary, func, frozenset(), requires, accumulators, machine, cycles, latency))


def dot_description(lanes: int, group: int, a_dtype: str) -> Func:
    """``C[j] += A[q] * B[j, q]`` for `lanes` j, over `group` q."""
    a, b = te.placeholder((group,), a_dtype, "A"), te.placeholder((lanes, group), "int8", "B")
    q = te.reduce_axis(group, "q")

    def at(j: te.Axis) -> te.Reduction:
        return te.sum(te.cast(a[q], "int32") * te.cast(b[j, q], "int32"), axis=q)

    return te.func(te.compute((lanes,), at, name="C"), f"dot{group}")
