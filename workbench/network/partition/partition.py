"""`partition`: which runtime computes which part of a network, by measurement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench import markup as m
from workbench.arguments import is_a, real, whole
from workbench.errors import ModelError, UsageError
from workbench.graph import Graph
from workbench.graph.as_loaded import require_as_loaded
from workbench.graph.graph import Array
from workbench.network.backends import BACKENDS
from workbench.network.compile import compile
from workbench.network.extern import difference
from workbench.network.partition.candidates import OURS, Piece, Setting, assignments, joined, refusal, timed
from workbench.network.partition.cuts import pieces, without_known
from workbench.network.turns import in_turns
from workbench.runtime.execution.executable import Executable
from workbench.runtime.networks.execution_plan import main_node
from workbench.target import Target

if TYPE_CHECKING:
    import pandas as pd

    from workbench.log import Database

#: A mixture takes at most this share of the time of the best runtime alone; what is less of a gain is noise.
_GAIN = 0.98


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A network in parts, each computed by the runtime that was measured to be the fastest for it.

    Attributes
    ----------
    graph : Graph
        A node "Extern" stands for each part that another runtime computes.
    executable : Executable
        The same, compiled.
    way : tuple of str
        Backend of each piece.
    times : dict of str to float
        Milliseconds of the whole network in each runtime alone, and "parts" of the best mixture.
    """

    graph: Graph
    executable: Executable
    pieces: tuple[Piece, ...]
    way: tuple[str, ...]
    times: Mapping[str, float]
    alone: Callable[..., Sequence[Array]] | None = None

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """Outputs by name, for inputs by name."""
        if self.alone is None:
            return self.executable.run(inputs)
        return dict(zip(self.graph.outputs, self.alone(*self.executable._arrays((inputs,), {})), strict=True))

    def explain(self) -> pd.DataFrame:
        """A row for each piece: its nodes, milliseconds in each runtime, which computes it, and why."""
        import pandas as pd

        return pd.DataFrame([self._row(p, b) for p, b in zip(self.pieces, self.way, strict=True)])

    def _row(self, piece: Piece, backend: str) -> dict[str, object]:
        names = dict.fromkeys(k for p in self.pieces for k in (*p.ms, *p.refused))
        best = min(piece.ms, key=lambda b: piece.ms[b])
        why = "the fastest here" if backend == best else f"{best} is faster here, but not the network with the change"
        why = "; ".join([why, *(f"not {b}: {text}" for b, text in piece.refused.items() if b != backend)])
        times = {f"{b}_ms": piece.ms.get(b, float("nan")) for b in names}
        ends = {"first": piece.nodes[0].name, "last": piece.nodes[-1].name, "nodes": len(piece.nodes)}
        return {**ends, **times, "backend": backend, "reason": why}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {ms:.3g} ms" for name, ms in self.times.items())
        return f"<Partition of {self.graph.name}: {' + '.join(dict.fromkeys(self.way))} ({shown})>"

    def _repr_html_(self) -> str:
        table = self.explain()
        rows = [[v if isinstance(v, str) else f"{v:.3g}" for v in row] for row in table.itertuples(index=False)]
        return str(
            m.Html(
                "".join(
                    (
                        m.heading("Partition", repr(self)),
                        m.table([m.Column(str(c), c != "reason") for c in table.columns], rows),
                    )
                )
            )
        )


def partition(
    graph: Graph,
    backends: Sequence[str] = ("onnxruntime",),
    log: Database | str | None = None,
    *,
    inputs: Mapping[str, Any] | None = None,
    target: Target | str | None = None,
    threads: int | None = None,
    parts: int = 8,
    seconds: float = 4.0,
) -> Partition:
    """Give parts of a network to other runtimes where these are faster.

    The network is cut where few tensors cross. Every piece is timed in every runtime on the tensors that it gets, and
    its results are compared with ours. The most promising mixtures are timed as a whole, with what crossing costs,
    beside each runtime alone; the fastest is taken.

    Parameters
    ----------
    graph : Graph
        As `load_onnx` returns it.
    backends : sequence of str
        Other runtimes: "onnxruntime", or what `network.backends.partition_backend` declared.
    log : path or Database, optional
        Where our kernels have their schedules from, see `compile`.
    inputs : mapping, optional
        Typical inputs by name; random numbers by default, zeros for integers.
    target : Target or str, optional
        This machine by default.
    threads : int, optional
        Threads of each runtime; those of the target by default.
    parts : int
        Pieces that the network is cut into, about.
    seconds : float
        How long is measured, about: half for pieces, half for the whole.

    Returns
    -------
    Partition
        `run` runs it, `explain` is the table.

    Raises
    ------
    UsageError
        "usage.backend" for an unknown one, "usage.backend_missing" where its package is not installed,
        "usage.number".
    ModelError
        "model.optimised", and "model.dynamic_shape" for a network whose shapes are open or depend on values.
    """
    is_a("graph", graph, Graph, "load a model with load_onnx(path) first")
    require_as_loaded(graph, "cut")
    if graph.cuts or graph.tail is not None:
        text = f"Shapes in the network {graph.name!r} depend on values, so it cannot be cut."
        raise ModelError("model.dynamic_shape", text, (graph.name,), "compile it as a whole")
    names = (backends,) if isinstance(backends, str) else tuple(is_a("backends", backends, Sequence, "give names"))
    for name in names:
        BACKENDS.find(name)
    resolved = Target(target) if isinstance(target, str) else target or Target.host()
    count = resolved.threads if threads is None else whole("threads", threads, code="run.threads")
    parts = whole("parts", parts, code="usage.number")
    s = Setting(names, log, resolved, count, real("seconds", seconds, 0) / (2 * parts))
    return _measured(without_known(graph), s, inputs, parts)


def _measured(graph: Graph, s: Setting, inputs: Mapping[str, Any] | None, parts: int) -> Partition:
    exe = compile(graph, s.log, s.target, threads=s.threads)
    given = exe.empty_inputs()
    for array, drawn in zip(given.values(), exe.draw_inputs(), strict=True):
        array[...] = drawn
    for name, value in (inputs or {}).items():
        if name not in given:
            raise UsageError("usage.input", f"The network has no input {name!r}", [name], f"give {', '.join(given)}")
        if np.shape(value) != given[name].shape:
            text = f"The input {name!r} has the shape {np.shape(value)}, not {given[name].shape}"
            raise UsageError("usage.input", text, [name])
        given[name][...] = value
    cut = pieces(graph, _costs(graph, exe, given), parts)
    values = dict(given) | _crossing(graph, cut, given, s)
    found = tuple(timed(graph, nodes, values, s) for nodes in cut)
    runs: dict[tuple[str, ...], Callable[[], object]] = {}
    made: dict[tuple[str, ...], tuple[Graph, Executable, Callable[..., Sequence[Array]] | None]] = {}
    want = list(exe.run(given).values())
    for way in assignments(found, s.backends):
        try:
            whole_graph, mixed, alone = _made(graph, found, way, s, exe)
            got = mixed.run(given).values() if alone is None else alone(*given.values())
            wrong = difference([np.asarray(a) for a in got], want)  # each piece is near, all together may not be
        except UsageError:
            raise
        except Exception as e:  # a runtime may refuse the whole though it takes each piece
            wrong = refusal(e)
        if wrong:
            found = tuple(
                p if b == OURS else replace(p, refused={b: f"all together, {wrong}", **p.refused})
                for p, b in zip(found, way, strict=True)
            )
            continue
        made[way] = (whole_graph, mixed, alone)
        runs[way] = mixed.bind(given) if alone is None else partial(alone, *given.values())
    times = in_turns({str(k): run for k, run in enumerate(runs.values())}, s.seconds * parts)
    ms = dict(zip(runs, times.values(), strict=True))
    return _best(found, made, ms)


def _made(
    graph: Graph, found: tuple[Piece, ...], way: tuple[str, ...], s: Setting, ours: Executable
) -> tuple[Graph, Executable, Callable[..., Sequence[Array]] | None]:
    """The network with these runtimes, compiled, and the function of one that computes it alone."""
    whole_graph = joined(graph, found, way, s.threads)
    if set(way) == {OURS}:
        return whole_graph, ours, None
    alone = BACKENDS.find(way[0])(graph, s.threads, True) if len(set(way)) == 1 else None
    return whole_graph, compile(whole_graph, s.log, s.target, threads=s.threads), alone


def _best(
    found: tuple[Piece, ...], made: Mapping[tuple[str, ...], Any], ms: Mapping[tuple[str, ...], float]
) -> Partition:
    single = {way: t for way, t in ms.items() if len(set(way)) == 1}
    mixed = {way: t for way, t in ms.items() if len(set(way)) > 1}
    way = min(single, key=lambda w: single[w])
    shown = {w[0]: t for w, t in single.items()}
    if mixed:
        best = min(mixed, key=lambda w: mixed[w])
        shown["parts"] = mixed[best]
        way = best if mixed[best] < _GAIN * single[way] else way
    graph, exe, alone = made[way]
    return Partition(graph, exe, found, way, shown, alone)


def _costs(graph: Graph, exe: Executable, given: Mapping[str, Array]) -> dict[str, float]:
    """Milliseconds by node, of the kernels' main nodes."""
    table = exe.profile(given, repeat=3, warmup=1, roofline=False)
    names = {n.name for n in graph.nodes}
    heads = (main_node(str(call), names) for call in table["call"])
    return {head: float(ms) for head, ms in zip(heads, table["ms"], strict=True) if head is not None}


def _crossing(graph: Graph, cut: Sequence[Sequence[Any]], given: Mapping[str, Array], s: Setting) -> dict[str, Array]:
    """Tensors that pieces read from each other."""
    where = {o: k for k, nodes in enumerate(cut) for n in nodes for o in n.outputs}
    needed = dict.fromkeys(i for k, nodes in enumerate(cut) for n in nodes for i in n.inputs if where.get(i, k) != k)
    if not needed:
        return {}
    outputs = tuple(needed)
    return compile(graph.with_outputs(outputs), s.log, s.target, threads=s.threads).run(dict(given))
