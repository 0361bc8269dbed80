"""Where a run writes its outputs: arrays that the caller gives, or memory that earlier callers have let go of."""

from __future__ import annotations

import ctypes
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, count
from typing import Any

import numpy as np

from workbench.errors import ShapeError, UsageError, did_you_mean
from workbench.locks import ForkLock
from workbench.runtime.buffers import Array, aligned_empty, misfit, numpy_dtype
from workbench.runtime.free_list import SEASON, FreeList
from workbench.runtime.networks.execution_plan import ArraySpec

#: Bytes of free memory that are kept for the outputs of a network; two runs' outputs where these are larger.
#: Chosen, not measured. New pages cost 0.1 ms per megabyte (measured).
_KEPT_BYTES = 64 << 20
#: Below this, memory of NumPy's own, wherever it begins, is there sooner: in 0.2 µs, not 1.8.
#: Measured: a run with small outputs takes 8 µs, not 9.5.
_LEAST_BYTES = 16 << 10
#: Seconds without a run after which a network's free memory goes, when another network runs.
#: Chosen, not measured.
_DISUSE_S = 10.0


class OutputMemory:
    """Arrays for the outputs of a network's runs, in memory that is used again once nobody can reach it.

    Parameters
    ----------
    specs : sequence of ArraySpec
        The network's outputs.

    Notes
    -----
    Every array has a `_Loan` as its base, which all its views keep, those of the buffer protocol and DLPack too: the
    memory is free when the loan is deleted. That may happen anywhere, also in a thread that is taking memory just then,
    so there is no lock: lists add and remove elements in one step.
    """

    def __init__(self, specs: Sequence[ArraySpec]) -> None:
        most = max(2, _KEPT_BYTES // max(1, sum(s.nbytes for s in specs)))
        self._blocks = [(s.name, _Blocks(s, most)) for s in specs]
        self.used_at = time.monotonic()
        with _lock:
            _all.add(self)

    def take(self, given: Mapping[str, Array] | None = None) -> list[Array]:
        """Return an array for each output: the one that is given, or one that nobody else has."""
        given = given or {}
        self.used_at = time.monotonic()
        if not next(_runs) % SEASON:
            _drop_disused(self.used_at - _DISUSE_S)
        return [given[name] if name in given else blocks.take() for name, blocks in self._blocks]

    @property
    def free_bytes(self) -> int:
        """Size of the memory that waits for runs."""
        return sum(sum(b.nbytes for b in blocks.free.waiting) for _, blocks in self._blocks)

    def drop(self) -> None:
        """Give the system the memory that waits for runs."""
        for _, blocks in self._blocks:
            blocks.free.waiting.clear()


_lock = ForkLock()
_all: weakref.WeakSet[OutputMemory] = weakref.WeakSet()
_runs = count(1)


def _drop_disused(since: float) -> None:
    """Drop the free memory of networks that have not run since then."""
    with _lock:
        memories = list(_all)
    for memory in memories:
        if memory.used_at < since:
            memory.drop()


class _Loan:
    """A block of memory that the caller's arrays lie in, as a mixin of a ctypes array."""

    owner: weakref.ref[_Blocks]
    block: Array | None = None

    def __del__(self) -> None:
        blocks = self.owner()
        if blocks is not None and self.block is not None:
            blocks.free.give(self.block)


class _Blocks:
    """Free blocks of one output.

    Parameters
    ----------
    spec : ArraySpec
    most : int
        Blocks that are kept.
    """

    def __init__(self, spec: ArraySpec, most: int) -> None:
        self.free: FreeList[Array] = FreeList(most=most)
        self._shape, self._dtype, self._nbytes = spec.shape, numpy_dtype(spec.dtype), spec.nbytes
        self._lend: Any = type("Loan", (_Loan, ctypes.c_char * spec.nbytes), {"owner": weakref.ref(self)})

    def take(self) -> Array:
        """Return an uninitialised array."""
        if self._nbytes < _LEAST_BYTES:
            return np.empty(self._shape, self._dtype)
        block = self.free.take()
        if block is None:
            block = aligned_empty((self._nbytes,), "uint8")
        loan = self._lend.from_buffer(block)
        loan.block = block
        return np.ndarray(self._shape, self._dtype, loan)


def checked_outputs(specs: Sequence[ArraySpec], out: Any, inputs: Iterable[tuple[str, Any]]) -> dict[str, Array]:
    """Return the arrays of a caller's ``out`` that a run with these inputs can write to, by name.

    Raises
    ------
    ShapeError
        ``shape.name``, ``shape.count``, ``shape.mismatch``, ``shape.dtype``.
    UsageError
        ``run.out``.
    """
    given = named_outputs([s.name for s in specs], out)
    for spec in specs:
        if spec.name in given:
            check_output(spec, given[spec.name])
    check_apart(given, inputs)
    return given


def named_outputs(names: Sequence[str], out: Any) -> dict[str, Array]:
    """Return the arrays of a caller's ``out`` by name of the output.

    Parameters
    ----------
    names : sequence of str
        The network's outputs, in order.
    out : mapping or sequence, optional
        Arrays by name, or one for each output, or None where a new one is wanted.

    Raises
    ------
    ShapeError
        ``shape.name``, ``shape.count``.
    UsageError
        ``run.out`` for what is neither, or no array.
    """
    if out is None:
        return {}
    if isinstance(out, Mapping):
        given = dict(out)
    elif isinstance(out, list | tuple):
        if len(out) != len(names):
            raise ShapeError("shape.count", f"the network has {len(names)} outputs, out has {len(out)} arrays", names)
        given = dict(zip(names, out, strict=True))
    else:
        hint = "give a list of arrays, or a mapping from names to arrays"
        raise UsageError("run.out", f"out is a {type(out).__name__}, no list or mapping of arrays", (), hint)
    for name, array in given.items():
        if name not in names:
            hint = did_you_mean(str(name), names, "outputs")
            raise ShapeError("shape.name", f"the network has no output {name!r}", (name,), hint)
        if not (array is None or isinstance(array, np.ndarray)):
            raise UsageError("run.out", f"out[{name!r}] is a {type(array).__name__}, no NumPy array", (name,))
    return {name: array for name, array in given.items() if array is not None}


def check_output(spec: ArraySpec, array: Array) -> None:
    """Refuse an array that a run cannot write the output to.

    Raises
    ------
    ShapeError
        ``shape.mismatch``, ``shape.dtype``.
    UsageError
        ``run.out`` for one that is read-only or does not lie as machine code writes it.
    """
    what, flags = f"out[{spec.name!r}]", array.flags
    dtype = numpy_dtype(spec.dtype)
    if array.shape != spec.shape or array.dtype != dtype:
        raise misfit(what, array, spec.shape, dtype, spec.name)
    for good, text, hint in (
        (flags.c_contiguous, "is not C-contiguous", "give an array with its elements side by side, the last axis last"),
        (flags.writeable, "is read-only", "give an array that may be written"),
        (flags.aligned, f"does not begin at a multiple of {array.itemsize} bytes", "give an array of its own"),
    ):
        if not good:
            raise UsageError("run.out", f"{what} {text}", (spec.name,), hint)


def check_apart(outputs: Mapping[str, Array], inputs: Iterable[tuple[str, Any]]) -> None:
    """Refuse arrays for outputs that overlap an input or each other.

    Raises
    ------
    UsageError
        ``run.out``.
    """
    hint = "give every output memory of its own; without out=, a run uses memory again that was let go of"
    for name, array in inputs if outputs else ():
        for mine, out in outputs.items():
            if isinstance(array, np.ndarray) and np.may_share_memory(out, array):
                raise UsageError("run.out", f"out[{mine!r}] overlaps the input {name!r}", (mine, name), hint)
    for (a, x), (b, y) in combinations(outputs.items(), 2):
        if np.may_share_memory(x, y):
            raise UsageError("run.out", f"out[{a!r}] and out[{b!r}] overlap", (a, b), hint)
