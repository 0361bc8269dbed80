"""What a runner keeps for the candidates of a task: inputs, reference results, packed constants, guarded outputs."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.ir import Buffer, Func, LayoutStep
from workbench.ir.winograd_weights import WinogradStep
from workbench.runtime.buffers import ALIGNMENT, Array, aligned_empty, as_aligned, concrete_shape
from workbench.runtime.measuring.expected_results import Expected, near_results, with_winograd
from workbench.runtime.measuring.random_inputs import DRAWINGS, draw

#: Bytes after every buffer that a kernel may write, filled with a pattern that must survive.
#: Chosen, not measured: four vectors of the widest machine.
GUARD = 256
PATTERN = 0xA5

#: Bytes of packed constants that are kept, over all tasks: candidates of one search often ask for the same layout.
#: Chosen, not measured.
PACKED_BYTES = 384 << 20

#: Least part of the results that are finite numbers with finite bounds, and largest part of conversions to bytes that
#: are cut, or else other inputs are tried.
#: Chosen, not measured.
_TOLD, _CUT = 0.98, 0.6


@dataclass(slots=True)
class Guarded:
    """An array with a pattern on both sides."""

    raw: Array
    array: Array

    @classmethod
    def make(cls, shape: tuple[int, ...], dtype: str) -> Guarded:
        """Allocate one; its values are undefined."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        raw = aligned_empty((ALIGNMENT + size + GUARD,), "uint8")
        raw[:ALIGNMENT] = PATTERN
        raw[ALIGNMENT + size :] = PATTERN
        return cls(raw, raw[ALIGNMENT : ALIGNMENT + size].view(dtype).reshape(shape))

    def intact(self) -> bool:
        """Whether nothing was written next to the array."""
        end = ALIGNMENT + self.array.nbytes
        return bool((self.raw[:ALIGNMENT] == PATTERN).all() and (self.raw[end:] == PATTERN).all())


@dataclass(slots=True)
class Operands:
    """A task's inputs as given, expected results, and buffers to write to."""

    func: Func
    inputs: dict[str, Array]
    expected: dict[str, Expected]
    outputs: dict[str, Guarded]
    _transformed: dict[tuple[tuple[str, int], ...], dict[str, Expected]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Memory that the task holds."""
        results = [self.expected, *self._transformed.values()]
        arrays = [*self.inputs.values(), *(a for r in results for e in r.values() for a in e.arrays)]
        return sum(a.nbytes for a in arrays) + sum(g.raw.nbytes for g in self.outputs.values())

    def expected_of(self, params: Sequence[Buffer]) -> dict[str, Expected]:
        """What a kernel with these parameters has to give: the same values, in more or less room for rounding.

        Winograd's algorithm adds up numbers that are larger than its results.
        """
        tiles = tuple((b.name, s.tile) for b in params for s in b.layout if isinstance(s, WinogradStep))
        if tiles and tiles not in self._transformed:
            near = near_results(with_winograd(self.func, tiles), self.inputs).near
            self._transformed[tiles] = {n: e.within(near[n].margin) for n, e in self.expected.items()}
        return self._transformed[tiles] if tiles else self.expected


class Packed:
    """Constants in the layouts that candidates asked for, of all tasks; what was not used longest gives way."""

    def __init__(self, most_bytes: int = PACKED_BYTES) -> None:
        self._kept: OrderedDict[tuple[str, str, object], Array] = OrderedDict()
        self._bytes, self._most = 0, most_bytes

    def get(self, task: str, buffer: Buffer, array: Array) -> Array:
        """Return the array as this buffer wants it."""
        cheap = len(buffer.layout)
        while cheap and isinstance(buffer.layout[cheap - 1], LayoutStep):
            cheap -= 1
        array = self._after(task, buffer, cheap, array)
        return self._after(task, buffer, len(buffer.layout), array, cheap)

    def _after(self, task: str, buffer: Buffer, count: int, array: Array, begin: int = 0) -> Array:
        """Return the array after the layout's first `count` steps, `begin` of which were made before."""
        if count == begin:
            return array
        key = (task, buffer.name, buffer.layout[:count])
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        for step in buffer.layout[begin:count]:
            array = step.apply(array)
        packed = aligned_empty(array.shape, array.dtype)
        np.copyto(packed, array)
        self._kept[key] = packed
        self._bytes += packed.nbytes
        while self._bytes > self._most and len(self._kept) > 2:
            _, old = self._kept.popitem(last=False)
            self._bytes -= old.nbytes
        return packed

    def forget(self, task: str) -> None:
        """Drop a task's arrays."""
        for key in [k for k in self._kept if k[0] == task]:
            self._bytes -= self._kept.pop(key).nbytes


def prepare(func: Func, seed: int) -> Operands:
    """Make inputs and expected results; raises whatever the reference raises.

    Inputs are drawn such that as many results as possible are numbers that can be told from wrong ones.
    """
    best: tuple[float, dict[str, Array], dict[str, Expected]] | None = None
    cut = 1.0
    for drawing in DRAWINGS:
        if drawing.digits and cut <= _CUT:
            break
        inputs = {name: as_aligned(array) for name, array in draw(func, seed, drawing).items()}
        results = near_results(func, inputs)
        expected = {b.name: Expected.of(results.near[b.name], b.dtype) for b in func.outputs}
        told = min((e.share for e in expected.values()), default=1.0)
        if best is None or told * (1 - results.cut) > best[0]:
            best = told * (1 - results.cut), inputs, expected
        cut = results.cut
        if told >= _TOLD and cut <= _CUT:
            break
    assert best is not None
    outputs = {b.name: Guarded.make(concrete_shape(b.shape), b.dtype) for b in func.outputs}
    return Operands(func, best[1], best[2], outputs)
