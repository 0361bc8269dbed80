"""Executables for models with open dimensions: compiled for what arrives, kept for the next time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from workbench.arguments import is_a, whole
from workbench.errors import ShapeError, UsageError, did_you_mean
from workbench.graph import Graph
from workbench.graph.dynamic_stages import Stage, next_stage, stage_key
from workbench.graph.model import Declared, Program
from workbench.graph.reference import interpret
from workbench.log import Database
from workbench.network.compile import compile as compile_graph
from workbench.runtime.buffers import Array
from workbench.runtime.execution.executable import Executable
from workbench.runtime.networks.execution_plan import ArraySpec
from workbench.runtime.networks.outputs import check_apart, check_output, named_outputs
from workbench.target import Target

#: Compiled stages that are kept, the most recent ones. Chosen, not measured: what is dropped is compiled anew.
KEPT = 64


class DynamicExecutable:
    """A model that is typed, optimised and compiled for the shapes that it is run with.

    Parameters
    ----------
    program : Program
        As `workbench.graph.onnx.read_program` gives it.
    log : path or Database, optional
        Where the best schedules come from.
    target : Target, optional
        What to compile for; this machine by default.
    threads : int, optional
        Threads to run with; those of the target by default.
    ready : callable, optional
        Optimises a graph; `Graph.optimize` by default.

    Notes
    -----
    A stage is compiled once per combination of shapes and of values that determine shapes; the most recent ones are
    kept. Safe to call from several threads.
    """

    def __init__(
        self,
        program: Program,
        log: Any = None,
        target: Target | None = None,
        *,
        threads: int | None = None,
        ready: Callable[[Graph], Graph] = Graph.optimize,
    ) -> None:
        self.program = program
        self._log = log if log is None or isinstance(log, Database) else Database.load(log)
        self._target = target or Target.host()
        self._threads, self._ready = threads, ready
        self._pins: dict[tuple[Any, ...], tuple[str, ...]] = {}
        self._stages: OrderedDict[tuple[Any, ...], tuple[Stage, Executable | None]] = OrderedDict()
        self._lock = threading.RLock()

    def set_threads(self, threads: int) -> None:
        """Set the number of threads for the runs that begin from now on.

        Raises
        ------
        UsageError
            ``run.threads``.
        """
        threads = whole("threads", threads, code="run.threads")
        with self._lock:
            self._threads = threads
            for built in self.built:
                built.set_threads(threads)

    def poison(self) -> None:
        """As `Executable.poison`, for all stages that are kept."""
        with self._lock:
            for built in self.built:
                built.poison()

    def compiled(self, graph: Graph, *, nearest: bool = False) -> Executable:
        """Compile a graph of one size as everything here is."""
        return compile_graph(self._ready(graph), self._log, self._target, threads=self._threads, nearest=nearest)

    @property
    def reference_steps(self) -> tuple[str, ...]:
        """Operators that the stages compiled so far leave to their reference implementations."""
        found: dict[str, None] = {}
        with self._lock:
            stages = tuple(self._stages.values())
        for stage, built in stages:
            if built is None:
                found[self.program.nodes[stage.start].op] = None
            else:
                found |= dict.fromkeys(built.reference_steps)
        return tuple(found)

    def run(self, feeds: Mapping[str, Any], *, out: Any = None) -> dict[str, Any]:
        """Run the model once.

        Parameters
        ----------
        feeds : mapping
            Value of each input: an array, or a list for a sequence.
        out : mapping or sequence, optional
            Arrays to write outputs to, as for `Executable.run`; outputs that are no tensors cannot have one.

        Returns
        -------
        dict
            The outputs by name, in the model's order.

        Raises
        ------
        ShapeError
            "shape.name", "shape.count" (one is missing), "shape.dtype", "shape.mismatch".
        UsageError
            "run.out" for arrays that outputs cannot be written to.
        ModelError
            Whatever typing and compiling find.
        """
        values = self._checked(feeds)
        places = named_outputs(self.program.outputs, out)
        check_apart(places, ((n, a) for n, v in values.items() for a in (v if isinstance(v, list) else [v])))
        return self._from(0, values, places)

    def bind(self, feeds: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
        """Return runs that read these arrays, which are checked now and not again.

        The first stage is bound to them; what it gives is overwritten by the next call.

        Parameters
        ----------
        feeds : mapping
            As for `run`. Fill the arrays anew before a call.

        Raises
        ------
        ShapeError, ModelError
            As for `run`; `UsageError` "run.bind" for an input that would have to be copied.
        """
        values = self._checked(feeds)
        with self._lock:
            stage, built = self._stage(0, values)
        if stage.graph is None or built is None or stage.pinned:  # what it computes depends on more than shapes
            return lambda: self._from(0, dict(values), {})
        first = built.bind({n: values[n] for n in stage.graph.inputs})
        return lambda: self._from(stage.stop, {**values, **_cut(stage, first())}, {})

    @property
    def built(self) -> list[Executable]:
        """What was compiled so far and is kept."""
        with self._lock:
            return [built for _, built in self._stages.values() if built is not None]

    def whole(self, feeds: Mapping[str, Any]) -> tuple[Executable, dict[str, Array]] | None:
        """What runs these inputs, and the inputs that it takes; None where it runs a part of the network."""
        values = self._checked(feeds)
        with self._lock:
            stage, built = self._stage(0, values)
        if stage.graph is None or built is None or stage.stop < len(self.program.nodes):
            return None
        return built, {n: values[n] for n in stage.graph.inputs}

    def _from(self, at: int, values: dict[str, Any], places: Mapping[str, Array]) -> dict[str, Any]:
        """Run the stages from a node on; returns the outputs."""
        nodes, wanted = self.program.nodes, set(self.program.outputs)
        while at < len(nodes):
            with self._lock:
                stage, built = self._stage(at, values)
            values.update(self._step(stage, built, values, places))
            at = stage.stop
            needed = wanted.union(*(n.inputs for n in nodes[at:]))
            values = {n: v for n, v in values.items() if n in needed}
        constants = self.program.constants
        return {o: _put(o, values[o] if o in values else constants[o], places.get(o)) for o in self.program.outputs}

    def _checked(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        declared = {v.name: v for v in self.program.inputs}
        hint = f"give {{{next(iter(declared), 'name')!r}: array}}"
        for name in is_a("the values of the inputs", feeds, Mapping, hint):
            if name not in declared:
                close = did_you_mean(str(name), declared, "inputs")
                raise ShapeError("shape.name", f"The model has no input {name!r}.", (name,), close)
        missing = [name for name in declared if name not in feeds]
        if missing:
            pretty = ", ".join(f"{n}: {declared[n].kind}" for n in missing)
            raise ShapeError(
                "shape.count", f"No array is given for {', '.join(missing)}.", missing, f"needed: {pretty}"
            )
        return {name: fitting(v, feeds[name]) for name, v in declared.items()}

    def _stage(self, at: int, values: Mapping[str, Any]) -> tuple[Stage, Executable | None]:
        shapes = stage_key(at, values, ())
        if shapes in self._pins:
            key = stage_key(at, values, self._pins[shapes])
            if key in self._stages:
                self._stages.move_to_end(key)
                return self._stages[key]
        stage = next_stage(self.program, at, values)
        built = None if stage.graph is None else self.compiled(stage.graph)
        self._pins[shapes] = stage.pinned
        self._stages[stage_key(at, values, stage.pinned)] = (stage, built)
        while len(self._stages) > KEPT:
            self._stages.popitem(last=False)
        while len(self._pins) > 4 * KEPT:
            self._pins.pop(next(iter(self._pins)))
        return stage, built

    def _step(
        self, stage: Stage, built: Executable | None, values: Mapping[str, Any], places: Mapping[str, Array]
    ) -> dict[str, Any]:
        if stage.graph is not None and built is not None:
            whole = set(stage.graph.outputs) - {name for name, _ in stage.cut}
            out = {n: array for n, array in places.items() if n in whole}
            return _cut(stage, built.run({n: values[n] for n in stage.graph.inputs}, out=out or None))
        (node,) = self.program.nodes[stage.start : stage.stop]
        everything = {**self.program.constants, **values}
        given = {i: everything[i] for i in node.inputs if i}
        return interpret((node,), given, [o for o in node.outputs if o])


def _cut(stage: Stage, outputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of a stage, as much of them as counts."""
    found = dict(outputs)
    if stage.count:
        count = int(found.pop(stage.count)[0])
        for name, axis in stage.cut:
            found[name] = found[name][(slice(None),) * axis + (slice(count),)]
    return found


def _put(name: str, value: Any, place: Array | None) -> Any:
    """The output in the caller's array, where there is one and no stage has written it there."""
    if place is None or place is value:
        return value
    if not isinstance(value, np.ndarray):
        raise UsageError("run.out", f"The output {name!r} is no tensor, so out cannot have it.", (name,))
    check_output(ArraySpec(name, value.shape, value.dtype.name), place)
    place[...] = value
    return place


def fitting(v: Declared, given: Any) -> Any:
    """Value of an input as the stages want it."""
    if not v.dtype:  # a sequence or an optional value: the nodes that read it know more
        return given
    try:
        x = np.ascontiguousarray(given).reshape(np.shape(given))
    except ValueError as e:
        text = f"The input {v.name!r} is no array: {e}."
        raise ShapeError("shape.mismatch", text, (v.name,), f"it has to be {v.kind}") from None
    hint = f"it has to be {v.kind}"
    if not (x.dtype.kind in "OU" if v.dtype == "string" else x.dtype.name == v.dtype and x.dtype.isnative):
        text = f"The input {v.name!r} has element type {x.dtype}, not {v.dtype}."
        raise ShapeError("shape.dtype", text, (v.name,), hint)
    if v.dims is not None and len(v.dims) != x.ndim:
        text = f"The input {v.name!r} has {x.ndim} dimensions, not {len(v.dims)}."
        raise ShapeError("shape.mismatch", text, (v.name,), hint)
    if not v.fits(x.shape):
        text = f"The input {v.name!r} has the shape {'x'.join(map(str, x.shape))}, not {v.pretty}."
        raise ShapeError("shape.mismatch", text, (v.name,), hint)
    return x
