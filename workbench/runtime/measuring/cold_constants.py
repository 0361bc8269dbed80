"""Constants as a network finds them: a kernel that is timed never reads the same weights twice from a near cache.

Called again and again, a kernel finds its weights where the last call left them, next to the core. In a network other
kernels have run meanwhile: the activations are fresh, the weights come from the shared cache or from memory. A schedule
that is best in the first case may lose in the second (one with larger packed weights, as a rule). So a measurement may
cycle through copies of the constants that are too many for the cores' own caches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.host import Host
from workbench.ir import Buffer
from workbench.runtime.buffers import ALIGNMENT, Array, RuntimeStruct, aligned_empty, pointer_table
from workbench.runtime.native import timing_loop

#: So many times what the machine's cores keep to themselves lies between two uses of the same constants.
#: Chosen, not measured.
OWN_CACHES = 4

#: Fewest and most bytes of that. On a virtual machine with 32 MB of shared cache (Zen 3), a product with a vector and
#: 4 MB of weights took 0.054 ms with 8 MB, and with 20 MB 0.11 to 0.26 ms, by what others kept in the cache meanwhile.
LEAST_BYTES, MOST_BYTES = 4 << 20, 16 << 20

#: Copies at most: what is that small costs little to fetch.
#: Chosen, not measured.
MOST_COPIES = 64


def ring_bytes(host: Host) -> int:
    """Bytes between two uses of the same constants: several times the cores' own caches, but far less than the shared
    one, of which others have a part; where many cores keep more than that, some constants are found in their caches. A
    trial and each participant of a contest have as many, or their times could not be compared.
    """
    most = min(MOST_BYTES, host.l3_bytes // 4 or MOST_BYTES)
    return max(LEAST_BYTES, min(OWN_CACHES * host.threads * host.l2_bytes, most))


class Stream:
    """Memory for the copies, kept from one candidate to the next.

    Parameters
    ----------
    nbytes : int
        Bytes between two uses of the same constants.
    """

    def __init__(self, nbytes: int) -> None:
        self._nbytes = nbytes
        self._ring: Array | None = None
        self._constants: list[Array] = []  # those that the ring has copies of
        self._places = np.zeros((0, 0), np.uintp)  # where: one row for each copy of all of them

    def tables(self, params: Sequence[Buffer], arrays: Sequence[Array]) -> Array:
        """Rows of addresses to cycle through: of the given operands, and with copies of the constants among them.

        They hold until the next call, as long as this object and the given arrays are there.
        """
        at = [i for i, b in enumerate(params) if b.role == "const" and arrays[i].nbytes]
        constants = [arrays[i] for i in at]
        same = len(constants) == len(self._constants)
        if not same or any(a is not b for a, b in zip(constants, self._constants, strict=True)):
            self._places = self._copy(constants)
            self._constants = constants
        rows = np.tile(pointer_table([a.ctypes.data for a in arrays]), (len(self._places) + 1, 1))
        if at:
            rows[1:, at] = self._places
        return rows

    def _copy(self, constants: Sequence[Array]) -> Array:
        """Fill the ring; return the address of each copy of each constant."""
        self._constants = []  # as long as the copies are not whole, they are nobody's
        sizes = [_padded(a.nbytes) for a in constants]
        each = sum(sizes)
        count = min(MOST_COPIES, -(-self._nbytes // each)) - 1 if each else 0
        if count < 1:
            return np.zeros((0, len(constants)), np.uintp)
        if self._ring is None:
            self._ring = aligned_empty((self._nbytes,), "uint8")  # all but the first copy take less
        offsets = np.cumsum([0, *sizes[:-1]])
        first = self._ring[:each]
        for array, offset in zip(constants, offsets, strict=True):
            first[offset : offset + array.nbytes] = array.reshape(-1).view(np.uint8)
        self._ring[each : each * count].reshape(-1, each)[...] = first
        starts: Array = self._ring.ctypes.data + each * np.arange(count)[:, None] + offsets[None, :]
        return starts.astype(np.uintp)


def _padded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


class CallCycle:
    """A kernel called with one row of operands' addresses after the other, timed in machine code.

    Goes on where it left off.
    """

    def __init__(self, fn: int, tables: Array, clock: int) -> None:
        self._tables = np.ascontiguousarray(tables)
        count = len(self._tables)
        starts = self._tables.ctypes.data + self._tables.strides[0] * np.arange(count)
        rows = np.stack([np.full(count, fn, np.uintp), starts.astype(np.uintp)], axis=1).reshape(-1)
        self._rows = np.tile(rows, 2)  # twice, so that so many calls in a row begin anywhere
        self._walk = timing_loop.call_table(rows.tolist())
        self._walk[timing_loop.CLOCK] = clock
        self._clock, self._stamps = clock, np.zeros(count + 1, np.int64)
        self._next = 0

    def __len__(self) -> int:
        return len(self._tables)

    def _take(self, calls: int) -> None:
        """Make the next calls those that the walk makes."""
        timing_loop.set_calls(self._walk, self._rows[2 * self._next : 2 * (self._next + calls)])
        self._next = (self._next + calls) % len(self)

    def times(self, repeat: int, number: int, workspace: int, rt: RuntimeStruct) -> list[float]:
        """Return nanoseconds per call: of `repeat` single calls, or of as many averages over `number` or more calls."""
        walk, table = timing_loop.walk_address(), int(self._walk.ctypes.data)
        out: list[float] = []
        if number > 1:
            calls, rounds = min(number, len(self)), -(-number // len(self))
            for _ in range(repeat):
                self._take(calls)
                spent = timing_loop.time_calls(walk, table, workspace, rt, 1, rounds, self._clock)
                out.append(float(spent[0]) / calls)
            return out
        self._walk[timing_loop.STAMPS] = self._stamps.ctypes.data
        try:
            while len(out) < repeat:
                calls = min(repeat - len(out), len(self))
                self._take(calls)
                timing_loop.time_calls(walk, table, workspace, rt, 1, 1, self._clock)
                out += [float(t) for t in np.diff(self._stamps[: calls + 1])]
        finally:
            self._walk[timing_loop.STAMPS] = 0
        return out
