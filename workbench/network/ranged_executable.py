"""Executables for a range of sizes: kernels for some of them, one of which runs every other on padded inputs."""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from workbench.errors import ModelError, ModelWarning, ShapeError
from workbench.graph.graph import Graph
from workbench.graph.model import within_bounds
from workbench.graph.open_sizes import Bucket, OpenSizes
from workbench.graph.padding.padded_graph import PER_SHAPE, Numbers, PaddedGraph
from workbench.graph.tasks import partition
from workbench.network.by_inputs import ByInputs
from workbench.network.compile import plan_of, ranged
from workbench.network.dynamic_shapes import DynamicExecutable, fitting
from workbench.network.dynamic_table import dynamic_rows, milliseconds
from workbench.network.padded_run import PaddedRun
from workbench.network.recently_used import RecentlyUsed
from workbench.runtime.buffers import Array, aligned_empty
from workbench.runtime.execution.bound_run import refuse_copies
from workbench.runtime.execution.executable import Executable
from workbench.runtime.free_list import FreeList
from workbench.runtime.named_arguments import by_name
from workbench.runtime.networks.execution_plan import ArraySpec, ExecutablePlan
from workbench.runtime.networks.network import TimedRuns
from workbench.runtime.networks.outputs import check_apart, named_outputs

if TYPE_CHECKING:
    import pandas as pd

    from workbench.log import Database
    from workbench.target import Target

#: Sizes for which everything is worked out ahead of the first run. Chosen: a size takes some milliseconds.
AHEAD = 1024
#: Bytes of what the latest sizes bring along, above all places of elements. Chosen, not measured.
KEPT_BYTES = 64 << 20
#: A larger bucket than the nearest has to be faster by this factor to be taken. Chosen, as times vary by some percent.
FASTER = 0.97
#: How often kernels of each bucket are timed, for at least three runs. Chosen, not measured.
ROUNDS = 4


@dataclass(slots=True, eq=False)
class Compiled:
    """Kernels for the sizes of a bucket, the milliseconds of a run with them, and runs that wait to be taken."""

    bucket: Bucket
    padded: PaddedGraph
    executable: Executable
    ms: float = math.inf
    runs: FreeList[PaddedRun] = field(default_factory=FreeList)


@dataclass(frozen=True, slots=True)
class _Choice:
    """What runs one size."""

    compiled: Compiled
    numbers: Numbers


class RangedExecutable(ByInputs):
    """A network for a range of sizes, compiled ahead.

    No run compiles anything, but for sizes that none of the shared kernels runs: they are compiled once each.

    A run takes the kernels of the size above that are fastest, as measured. Its inputs are padded with zeros; what lies
    behind them reaches no result, see `workbench.graph.padding`. Where the network has a node for which that does not
    hold, `reason` says so, and runs compile for the shapes that come, of which the latest are kept.

    Parameters
    ----------
    plan : ExecutablePlan
        Of the largest size, for display.
    sizes : OpenSizes
    compiled : list of Compiled
        Empty where each shape is compiled as it comes.
    per_shape : DynamicExecutable
        Runs these.
    reason : str
        Why that is so.
    """

    def __init__(
        self,
        plan: ExecutablePlan,
        sizes: OpenSizes,
        compiled: list[Compiled],
        per_shape: DynamicExecutable,
        reason: str,
    ) -> None:
        super().__init__(plan)
        self.sizes, self.compiled, self.reason = sizes, compiled, reason
        self._per_shape = per_shape
        self._declared = {v.name: v for v in sizes.program.inputs}
        largest = sizes.at(sizes.largest).types({})
        self.inputs = tuple(ArraySpec(n, t.shape, t.dtype) for n, t in largest.items())
        self._names = list(largest)
        self._choices: RecentlyUsed[tuple[int, ...], _Choice] = RecentlyUsed(KEPT_BYTES)
        self._seen: dict[tuple[Any, ...], tuple[int, ...]] = {}  # shapes and types that fit: lengths
        self._apart: set[tuple[int, ...]] = set()
        for one in compiled * ROUNDS:  # in turns: what else runs meanwhile slows down some, not one of them each time
            one.ms = min(one.ms, milliseconds(one.executable))
        ranges = sizes.ranges.values()
        if compiled and math.prod(map(len, ranges)) <= AHEAD:
            for values in product(*ranges):
                self._choice(values)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n}={r[0]}…{r[-1]}" for n, r in self.sizes.ranges.items())
        how = f"{len(self.compiled)} sets of kernels" if self.compiled else "compiled for each shape"
        return f"<RangedExecutable {self.plan.name}: {sizes}, {how}, {self.threads} threads>"

    # ---- running ----

    def run(self, *args: Any, out: Any = None, **named: Any) -> dict[str, Array]:
        """Run the network once; as `Executable.run`, for inputs of any size in the ranges.

        Raises
        ------
        ShapeError
            Also ``shape.range`` for a length outside.
        """
        given, values = self._sized(args, named)
        choice = self._choices.get(values) or self._shared(values)
        if choice is None:
            return self._per_shape.run(given, out=out)
        places: Mapping[str, Array] = {}
        if out is not None:
            places = named_outputs(self._results, out)
            check_apart(places, given.items())
        runs = choice.compiled.runs
        run = runs.take() or PaddedRun(choice.compiled.executable)
        found = run.run(choice.numbers, given, places)
        runs.give(run)  # not after an error: nobody knows what it holds
        return found

    __call__ = run

    def bind(self, *args: Any, out: Any = None, **named: Any) -> Any:
        """Return a function that runs the network on these arrays, with what is in them then.

        What it returns is as from `run`: the arrays of `out`, or new ones.

        Raises
        ------
        ShapeError, UsageError
            As for `run`; ``run.bind`` for an input that would have to be copied.
        """
        given = dict(self._sized(args, named)[0])
        for name, array in by_name(self._names, args, named).items():
            flags = np.asarray(array).flags
            if not (flags.c_contiguous and flags.aligned):
                refuse_copies(name)
        places = named_outputs(self._results, out)
        check_apart(places, given.items())
        return lambda: self.run(given, out=places or None)

    def _sized(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Mapping[str, Array], tuple[int, ...]]:
        """Arrays by name, and the lengths of the open dimensions; what was seen to fit is not checked again."""
        names, given = self._names, args[0] if len(args) == 1 and not named else None
        if type(given) is not dict or len(given) != len(names):
            given = by_name(names, args, named)
        kinds = tuple([_kind(given.get(n)) for n in names])
        if (values := self._seen.get(kinds)) is not None:
            return given, values
        given = by_name(names, args, named)
        checked = {n: fitting(v, given[n]) for n, v in self._declared.items()}
        values = self._values(checked)
        if None not in kinds and len(self._seen) < AHEAD:
            self._seen[kinds] = values
        return checked, values

    def _arrays(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Array]:
        given, _ = self._sized(args, named)
        return [given[n] for n in self._names]

    def _values(self, given: Mapping[str, Array]) -> tuple[int, ...]:
        """Lengths of the open dimensions, in the order of the ranges."""
        found = dict(self.sizes.program.sizes)
        seen: dict[str, str] = {}
        for name, v in self._declared.items():
            for dim, length in zip(v.dims or (), given[name].shape, strict=True):
                if isinstance(dim, str) and found.setdefault(dim, length) != length:
                    before = f"as for {seen[dim]!r}" if dim in seen else "which is fixed"
                    text = f"The dimension {dim!r} of {name!r} is {length}, not {found[dim]} {before}."
                    raise ShapeError("shape.mismatch", text, (name,))
                seen.setdefault(str(dim), name)
        values = tuple(found[d] for d in self.sizes.ranges)
        if not self.sizes.index(values):
            at, (dim, lengths) = next(
                (v, r) for v, r in zip(values, self.sizes.ranges.items(), strict=True) if v not in r[1]
            )
            text = f"The dimension {dim!r} is {at}, which is not in the range from {lengths[0]} to {lengths[-1]}."
            raise ShapeError("shape.range", text, (dim,), "compile for it: dynamic={name: range(...)}")
        return values

    def kernels(self, values: tuple[int, ...]) -> Compiled | None:
        """The kernels that run a size; None where it is compiled for itself."""
        choice = self._shared(values)
        return None if choice is None else choice.compiled

    def _shared(self, values: tuple[int, ...]) -> _Choice | None:
        """The fastest kernels for a size; None where none of them runs it, so that it is compiled for itself."""
        if not self.compiled or values in self._apart:
            return None
        try:
            return self._choice(values)
        except ModelError as e:
            if e.code not in PER_SHAPE:
                raise
            self._apart.add(values)
            return None

    def _choice(self, values: tuple[int, ...]) -> _Choice:
        """The fastest kernels for a size: those of its own bucket, or of one above that takes less time."""
        if (known := self._choices.get(values)) is not None:
            return known
        fit = [c for c in self.compiled if all(v <= m for v, m in zip(values, c.bucket.most, strict=True))]
        own = next(c for c in fit if all(v >= m for v, m in zip(values, c.bucket.least, strict=True)))
        for one in (*sorted((c for c in fit if c.ms < FASTER * own.ms), key=lambda c: c.ms), own):
            try:
                numbers = one.padded.numbers(values)
            except ModelError:  # of the larger buckets some are for longer tensors alone
                if one is own:
                    raise
                continue
            return self._choices.put(values, _Choice(one, numbers), numbers.nbytes + 1024)
        raise AssertionError(f"the buckets leave out {values}")

    @staticmethod
    def _feeds(choice: _Choice, given: Mapping[str, Array]) -> dict[str, Array]:
        """Inputs of the kernels, for those who look at them; runs keep what is padded, see `PaddedRun`."""
        found: dict[str, Array] = {}
        for spec in choice.compiled.executable.inputs:
            x = given.get(spec.name)
            if x is None:
                x = choice.numbers.feeds[spec.name]
            elif x.shape != spec.shape:
                whole = aligned_empty(spec.shape, spec.dtype)
                whole[...] = 0
                whole[tuple(map(slice, x.shape))] = x
                x = whole
            found[spec.name] = x
        return found

    @contextmanager
    def _timed(self, inputs: list[Array]) -> Iterator[TimedRuns]:
        feeds = dict(zip(self._names, inputs, strict=True))

        def times(repeat: int, number: int) -> list[float]:
            found = []
            for _ in range(repeat):
                begin = time.perf_counter()
                for _ in range(number):
                    self.run(feeds)
                found.append((time.perf_counter() - begin) * 1e3 / number)
            return found

        yield TimedRuns(times, self.threads, self._pool, 1)

    # ---- looking ----

    def _of(self, inputs: Mapping[str, Any] | None) -> tuple[Executable, dict[str, Array]]:
        given = dict(zip(self._names, self._given(inputs), strict=True))
        values = self._values(given)
        choice = self._shared(values)
        if choice is None:
            return self.fixed(values), given
        return choice.compiled.executable, self._feeds(choice, given)

    def poison(self) -> None:
        """As `Executable.poison`, for all kernels."""
        for one in self.compiled:
            one.executable.poison()
            for run in list(iter(one.runs.take, None)):  # none that is running
                run.poison()
                one.runs.give(run)
        self._per_shape.poison()

    def set_threads(self, threads: int) -> None:
        """Threads to run with."""
        super().set_threads(threads)
        for one in getattr(self, "compiled", ()):
            one.executable.set_threads(threads)
        if (rest := getattr(self, "_per_shape", None)) is not None:
            rest.set_threads(threads)

    def export(self, path: Any, *, name: str | None = None, main: bool = False) -> NoReturn:
        """Refused: a library has one size."""
        text = f"The network {self.plan.name!r} cannot be exported for a range of sizes."
        raise ModelError("model.dynamic_shape", text, (), "export one size: compile(load_onnx(path, shapes)).export()")

    def dynamic_table(self, fixed: bool = False) -> pd.DataFrame:
        """Which kernels run which sizes, and what that costs.

        Parameters
        ----------
        fixed : bool
            Whether to compile for the smallest size of each row alone, and compare: that takes a while.

        Returns
        -------
        pandas.DataFrame
            A row per bucket: for each open dimension the smallest and the largest length (``n``, ``n_most``), the
            lengths of the kernels that run the smallest (``kernels``), milliseconds of a run with them (``ms``), tasks
            without a record (``untuned``). With `fixed`, milliseconds of kernels for that very size (``fixed_ms``)
            and the quotient (``ratio``), timed in turns.
        """
        import pandas as pd

        rows = []
        for row in dynamic_rows(self, [c.bucket for c in self.compiled] if fixed else ()):
            ends = zip(self.sizes.ranges, row.pop("least"), row.pop("most"), strict=True)
            found = {k: v for name, least, most in ends for k, v in ((name, least), (f"{name}_most", most))}
            found |= {**row, "kernels": "x".join(map(str, row["kernels"]))}
            rows.append(found | ({"ratio": row["ms"] / row["fixed_ms"]} if fixed else {}))
        return pd.DataFrame(rows)

    def fixed(self, values: tuple[int, ...]) -> Executable:
        """Kernels of one size alone, with schedules from the same log."""
        return self._per_shape.compiled(within_bounds(self.sizes.at(values), {}), nearest=True)


def _kind(x: Any) -> tuple[Any, ...] | None:
    """Shape and type of an array that machine code reads; None for anything else."""
    return (x.shape, x.dtype) if type(x) is np.ndarray and x.flags.c_contiguous else None


def compile_range(
    sizes: OpenSizes, database: Database, target: Target, threads: int, ready: Callable[[Graph], Graph]
) -> RangedExecutable:
    """Compile a network for every size of its ranges.

    Warns
    -----
    ModelWarning
        "model.padding" where it has to be compiled for each shape instead; it names the node, and says why.
    """
    pool: dict[Any, Array] = {}  # weights are the same for all sizes

    def plan(graph: Graph) -> ExecutablePlan:
        graph = ready(graph)
        made = plan_of(graph, partition(graph), database, target, threads, nearest=True)
        shared = (pool.setdefault((a.shape, a.dtype.str, hashlib.blake2b(a.data).digest()), a) for a in made.constants)
        return replace(made, constants=tuple(shared))

    per_shape = DynamicExecutable(sizes.program, database, target, threads=threads, ready=ready)
    try:
        padded = [(bucket, PaddedGraph(sizes, bucket)) for bucket in sizes.buckets()]
        compiled = [Compiled(bucket, p, Executable(plan(p.graph))) for bucket, p in padded]
        return RangedExecutable(compiled[-1].executable.plan, sizes, compiled, per_shape, "")
    except ModelError as e:
        if e.code not in PER_SHAPE:
            raise
        reason = str(e.message)
        warnings.warn(
            ModelWarning("model.padding", f"Each shape is compiled as it comes: {reason}", e.where), stacklevel=4
        )
        largest = plan(within_bounds(sizes.at(sizes.largest), {}))
    return RangedExecutable(largest, sizes, [], per_shape, reason)


ranged.provide(compile_range)
