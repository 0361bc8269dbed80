"""Constants as a network finds them: a kernel that is timed never reads the same weights twice from a near cache.

Called again and again, a kernel finds its weights where the last call left them, next to the core. In a network other
kernels have run meanwhile: the activations are fresh, the weights come from the shared cache or from memory. A schedule
that is best in the first case may lose in the second (one with larger packed weights, as a rule). So a measurement may
cycle through copies of the constants that are too many for the cores' own caches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.ir.func import Buffer
from workbench.runtime import harness
from workbench.runtime.buffers import ALIGNMENT, Array, RuntimeStruct, aligned_empty, pointer_table

#: Bytes of constants between two uses of the same ones; several times what the cores of one machine keep to themselves.
STREAM_BYTES = 16 << 20

#: Copies at most: what is that small costs little to fetch.
MOST_COPIES = 64


class Stream:
    """Memory for the copies, kept from one candidate to the next."""

    def __init__(self) -> None:
        self._ring: Array | None = None
        self._constants: list[Array] = []  # those that the ring has copies of
        self._found: list[list[Array]] = []

    def copies(self, params: Sequence[Buffer], arrays: Sequence[Array]) -> list[list[Array]]:
        """Operand lists to cycle through: the given one, and others with copies of its constants."""
        at = [i for i, b in enumerate(params) if b.role == "const" and arrays[i].nbytes]
        each = sum(_padded(arrays[i].nbytes) for i in at)
        count = min(MOST_COPIES, -(-STREAM_BYTES // each)) if each else 1
        if count > 1 and self._ring is None:
            self._ring = aligned_empty((STREAM_BYTES,), "uint8")  # all but the first copy take less
        constants = [arrays[i] for i in at]
        if len(constants) != len(self._constants) or any(
            a is not b for a, b in zip(constants, self._constants, strict=True)
        ):
            self._constants, offset, self._found = constants, 0, []
            for _ in range(count - 1):
                mine = []
                for array in constants:
                    copy, offset = self._copy(array, offset)
                    mine.append(copy)
                self._found.append(mine)
        found = [list(arrays)]
        for mine in self._found:
            whole = list(arrays)
            for i, copy in zip(at, mine, strict=True):
                whole[i] = copy
            found.append(whole)
        return found

    def _copy(self, array: Array, offset: int) -> tuple[Array, int]:
        assert self._ring is not None
        place = self._ring[offset : offset + array.nbytes].view(array.dtype).reshape(array.shape)
        np.copyto(place, array)
        return place, offset + _padded(array.nbytes)


def _padded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


class CallCycle:
    """A kernel called with one operand list after the other, timed in machine code; goes on where it left off."""

    def __init__(self, fn: int, operands: Sequence[Sequence[Array]], clock: int) -> None:
        self._tables = [pointer_table([a.ctypes.data for a in arrays]) for arrays in operands]
        rows = [number for t in self._tables for number in (fn, int(t.ctypes.data))]
        self._rows = np.array(rows * 2, np.uintp)  # twice, so that so many calls in a row begin anywhere
        self._walk = harness.call_table(rows)
        self._walk[harness.CLOCK] = clock
        self._clock, self._stamps = clock, np.zeros(len(operands) + 1, np.int64)
        self._next = 0

    def __len__(self) -> int:
        return len(self._tables)

    def _take(self, calls: int) -> None:
        """Make the next calls those that the walk makes."""
        harness.set_calls(self._walk, self._rows[2 * self._next : 2 * (self._next + calls)])
        self._next = (self._next + calls) % len(self)

    def times(self, repeat: int, number: int, workspace: int, rt: RuntimeStruct) -> list[float]:
        """Return nanoseconds per call: of `repeat` single calls, or of as many averages over `number` or more calls."""
        walk, table = harness.walk_address(), int(self._walk.ctypes.data)
        out: list[float] = []
        if number > 1:
            calls, rounds = min(number, len(self)), -(-number // len(self))
            for _ in range(repeat):
                self._take(calls)
                spent = harness.time_calls(walk, table, workspace, rt, 1, rounds, self._clock)
                out.append(float(spent[0]) / calls)
            return out
        self._walk[harness.STAMPS] = self._stamps.ctypes.data
        try:
            while len(out) < repeat:
                calls = min(repeat - len(out), len(self))
                self._take(calls)
                harness.time_calls(walk, table, workspace, rt, 1, 1, self._clock)
                out += [float(t) for t in np.diff(self._stamps[: calls + 1])]
        finally:
            self._walk[harness.STAMPS] = 0
        return out
