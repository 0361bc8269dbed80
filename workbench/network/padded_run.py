"""Runs of the kernels of a bucket: what stays between two runs of one size, and little else to do for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workbench.graph.padding.padded_graph import Numbers
from workbench.runtime.buffers import Array, aligned_empty, poison
from workbench.runtime.execution.executable import Executable
from workbench.runtime.execution.run_context import NOTHING, RunContext
from workbench.runtime.execution.running import WithThreads
from workbench.runtime.networks.execution_plan import ArraySpec
from workbench.runtime.networks.outputs import check_output

#: Bytes of an output below which a copy is made sooner than the kernels are told of new memory.
#: Measured: a copy takes 0.3 µs, memory and its address 1.5; a copy of 16 KiB takes 1.
_COPIED = 16 << 10


@dataclass(frozen=True, slots=True)
class _Result:
    """An output of one size: the number of its array, and how much of that counts.

    Attributes
    ----------
    name : str
    number : int
    cut : tuple of slice or None
        What belongs to the size; None for all of it.
    counts : tuple of (int, tuple of slice)
        Outputs that say how much of it data leave, and all of the axes before that.
    """

    name: str
    number: int
    cut: tuple[slice, ...] | None
    counts: tuple[tuple[int, tuple[slice, ...]], ...]


class PaddedRun:
    """Kernels with a context and arrays of their own, which keep what is the same for the next run of the same size.

    Parameters
    ----------
    executable : Executable
        Of the largest size of a bucket.
    """

    def __init__(self, executable: Executable) -> None:
        self._exe = executable
        self._context = executable._contexts.take() or RunContext(executable.network, executable.threads)
        self._views = not self._context.keeps_addresses or bool(executable._elsewhere)
        specs = executable.outputs
        self._own = {s.name: aligned_empty(s.shape, s.dtype) for s in specs if s.nbytes < _COPIED}
        self._fresh = len(self._own) < len(specs)  # others get new memory for each run
        self._outputs = executable._memory.take(self._own)
        self._memory: dict[str, Array] = {}
        self._inputs: list[Array] = []
        self._numbers: Numbers | None = None
        self._given: list[tuple[int, str]] = []
        self._padded: list[tuple[Array, str]] = []
        self._results: list[_Result] = []
        self._poisoned = False

    def poison(self) -> None:
        """As `Executable.poison`."""
        self._context.poison()
        self._poisoned = True

    def run(self, numbers: Numbers, given: Mapping[str, Array], places: Mapping[str, Array]) -> dict[str, Array]:
        """Run once.

        Parameters
        ----------
        numbers : Numbers
            Of the size that the inputs have.
        given : mapping
            The inputs, C-contiguous.
        places : mapping
            Arrays of the caller for outputs.
        """
        first, exe = numbers is not self._numbers, self._exe
        if first:
            self._fit(numbers, given)
        for r in self._results if places else ():
            if r.name in places and not r.counts:
                spec = exe.outputs[r.number]
                check_output(ArraySpec(r.name, numbers.outputs[r.name], spec.dtype), places[r.name])
        for padded, name in self._padded:
            padded[...] = given[name]
        if self._fresh:
            self._outputs = exe._memory.take(self._own)
        if self._poisoned:
            self._poisoned = False
            for array in self._outputs:
                poison(array)
        self._bind(first, given)
        with WithThreads(self._context, exe.threads):
            exe.finish(self._context, self._outputs)
        if first or self._views:
            self._context.release()
        found = self._found(places)
        if self._fresh:
            self._outputs = []
        return found

    def _bind(self, first: bool, given: Mapping[str, Array]) -> None:
        """Tell the context of what is not where it was in the run before."""
        context = self._context
        if first or self._views:
            for number, name in self._given:
                self._inputs[number] = given[name]
            context.bind(self._inputs, self._outputs)
            for number, _ in self._given:
                self._inputs[number] = NOTHING
            return
        for number, name in self._given:
            context.bind_input(number, given[name])
        if self._fresh:
            context.bind_outputs(self._outputs)

    def _fit(self, numbers: Numbers, given: Mapping[str, Array]) -> None:
        """Take another size."""
        self._numbers, self._inputs, self._given, self._padded = None, [], [], []
        for k, spec in enumerate(self._exe.inputs):
            x = given.get(spec.name)
            if x is None:
                x = numbers.feeds[spec.name]
            elif x.shape == spec.shape:
                self._given.append((k, spec.name))
                x = NOTHING
            else:
                whole = self._memory.get(spec.name)
                if whole is None:
                    whole = self._memory[spec.name] = aligned_empty(spec.shape, spec.dtype)
                whole[...] = 0
                self._padded.append((whole[tuple(map(slice, x.shape))], spec.name))
                x = whole
            self._inputs.append(x)
        self._results = list(self._cut(numbers))
        self._numbers = numbers

    def _cut(self, numbers: Numbers) -> Iterator[_Result]:
        """The outputs of a size, in the network's order."""
        specs, cuts = self._exe.outputs, self._exe.plan.cuts
        at = {s.name: k for k, s in enumerate(specs)}
        for name, shape in numbers.outputs.items():
            k = at[name]
            counts = tuple((count, (slice(None),) * axis) for x, count, axis in cuts if x == k)
            yield _Result(name, k, None if shape == specs[k].shape else tuple(map(slice, shape)), counts)

    def _found(self, places: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs, in the caller's arrays where there are some."""
        found = {r.name: self._counted(r) for r in self._results}
        for r in self._results if places else ():
            if r.counts and r.name in places:  # before any is written
                x = found[r.name]
                check_output(ArraySpec(r.name, x.shape, x.dtype.name), places[r.name])
        for name, x in found.items():
            if (place := places.get(name)) is not None:
                place[...] = x
                found[name] = place
            elif name in self._own or not x.flags.c_contiguous:
                found[name] = x.copy()
        return found

    def _counted(self, r: _Result) -> Array:
        """What counts of an output."""
        x = self._outputs[r.number]
        if r.cut is not None:
            x = x[r.cut]
        for count, before in r.counts:
            x = x[(*before, slice(self._outputs[count].item(0)))]
        return x
