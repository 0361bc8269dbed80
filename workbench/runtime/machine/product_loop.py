"""Loops of the instructions that multiply narrow numbers, bfloat16 and bytes: their peaks.

An instruction is an `Intrinsic`; its own implementation is emitted on operands that stay in registers. A type without
an instruction has the peak of float32: its products are computed with those.
"""

from __future__ import annotations

import numpy as np

from workbench.intrinsics.declaration import Intrinsic, Place
from workbench.intrinsics.product_instructions import operations
from workbench.ir.dtypes import BFLOAT16
from workbench.runtime.buffers import Array
from workbench.runtime.machine.arithmetic_peak import PeakLoop
from workbench.runtime.native.emitter import Emitter, Pointers, Ptr, exported

#: Bytes between the operands and the accumulators of the loop: those of a tile.
_APART = 1024


class _OnRegisters:
    """What an implementation asks of a code generator, for the emitter of the runtime (`intrinsics.Emitter`)."""

    def __init__(self, f: Emitter) -> None:
        self._f = f
        self.after: list[str] = []
        self.round, self._again = "0", 0

    def declare(self, name: str, text: str) -> None:
        self._f.module.declare(text)

    def effect(self, text: str) -> None:
        self._f.effect(text)

    def value(self, text: str) -> str:
        return self._f.value(text, "i32").text

    def slot(self, type_: str) -> str:
        return self._f.room(type_, align=64).text

    def read(self, place: Place, lanes: int, splat: bool) -> str:
        """A vector of operands; the same numbers in every lane would be no faster."""
        return self.value(f"load <{lanes} x i32>, ptr {place.pointer}, align 4")

    def again(self, value: str, type_: str) -> str:
        """Hide that the value is the same in every round: LLVM would compute its products ahead of the loop."""
        self._again += 1
        return self.value(f'call {type_} asm "# {self._again}", "=x,0,r"({type_} {value}, i64 {self.round})')

    def around(self, before: str, after: str) -> None:
        self._f.effect(before)
        self.after.append(after)


def product_loop(intrinsic: Intrinsic) -> PeakLoop:
    """Return a loop of nothing but an instruction, onto as many results as registers hold."""
    count = intrinsic.accumulators

    @exported
    def wb_peak(f: Emitter, bufs: Pointers, ws: Ptr, rt: Ptr) -> None:
        rounds, data = bufs.load().as_("i64").load(), bufs[1].load()
        asked = _OnRegisters(f)
        assert intrinsic.machine is not None
        machine = intrinsic.machine(asked, count)
        names = [b.name for b in intrinsic.func.params]
        places = {n: Place(n, data.offset(k * _APART).text, 64) for k, n in enumerate(names)}
        operands = {n: places[n] for n in ("A", "B")}
        for k in range(count):
            machine.zero(k)
        machine.step(0, operands)  # operands are read ahead of the loop
        with f.range(rounds, once=True) as now:
            asked.round = now.text
            for k in range(count):
                machine.step(k, operands)
        for k in range(count):
            machine.store(k, Place("C", data.offset((2 + k) * _APART).text, 64))
        for text in asked.after:
            f.effect(text)

    return PeakLoop(wb_peak, _operands(intrinsic, count), count * operations(intrinsic))


def _operands(intrinsic: Intrinsic, count: int) -> Array:
    """Random operands, and room for results: zeros take less power, and so a higher clock."""
    rng = np.random.default_rng(0)
    data: Array = np.zeros((2 + count) * _APART, np.uint8)
    for k, name in enumerate("AB"):
        dtype = next(b.dtype for b in intrinsic.func.params if b.name == name)
        part = data[k * _APART : (k + 1) * _APART]
        if dtype == BFLOAT16.name:
            part[:] = rng.standard_normal(_APART // 2).astype(BFLOAT16).view(np.uint8)
        else:
            part[:] = rng.integers(0, 256, _APART, np.uint8)
    return data
