"""Pieces of a network timed in every runtime, and the ways to put them together that are worth a measurement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from workbench.errors import UsageError
from workbench.graph import Graph
from workbench.graph.graph import Array, Node
from workbench.graph.ops.extern import Implementation, extern_node
from workbench.network.backends import BACKENDS
from workbench.network.compile import compile
from workbench.network.extern import difference
from workbench.network.partition.cuts import subgraph
from workbench.network.turns import in_turns

if TYPE_CHECKING:
    from workbench.log import Database
    from workbench.target import Target

#: Our own compiler, among the names of backends.
OURS = "workbench"
#: Milliseconds that a change between runtimes costs besides what the pieces' own times have, as candidates assume it.
_CHANGES = (0.0, 0.03, 0.3)


@dataclass(frozen=True, slots=True)
class Piece:
    """Neighbouring nodes, their milliseconds by backend, and why a backend does not take them."""

    nodes: tuple[Node, ...]
    ms: Mapping[str, float]
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """What everything is compiled and timed for."""

    backends: tuple[str, ...]
    log: Database | str | None
    target: Target | None
    threads: int
    seconds: float


def timed(graph: Graph, nodes: tuple[Node, ...], values: Mapping[str, Array], s: Setting) -> Piece:
    """Time a piece on the tensors that it gets in the network; results of others are compared with ours."""
    part = subgraph(graph, nodes, f"{graph.name} from {nodes[0].name}")
    exe = compile(part, s.log, s.target, threads=s.threads)
    feeds = exe.empty_inputs()
    for name, array in feeds.items():
        array[...] = values[name]
    runs: dict[str, Callable[[], object]] = {OURS: exe.bind(feeds)}
    want, refused = list(exe.run(feeds).values()), {}
    for name in s.backends:
        try:
            function = BACKENDS.find(name)(part, s.threads, False)
            wrong = difference(function(*feeds.values()), want)
        except UsageError:
            raise
        except Exception as e:  # a runtime may refuse what it does not know in any way
            wrong = refusal(e)
        if wrong:
            refused[name] = wrong
        else:
            runs[name] = partial(function, *feeds.values())
    return Piece(nodes, in_turns(runs, s.seconds), refused)


def refusal(e: Exception) -> str:
    """Why a runtime does not take nodes, in a line."""
    return f"it refuses them: {str(e).strip().splitlines()[0][:200] if str(e).strip() else type(e).__name__}"


def assignments(pieces: Sequence[Piece], backends: Sequence[str]) -> list[tuple[str, ...]]:
    """Backends of the pieces: all in one, where it takes all, and the cheapest mixtures."""
    alone = [(b,) * len(pieces) for b in (OURS, *backends) if all(b in p.ms for p in pieces)]
    mixed = [_cheapest(pieces, (OURS, *backends), change) for change in _CHANGES]
    return list(dict.fromkeys([*alone, *mixed]))


def _cheapest(pieces: Sequence[Piece], backends: Sequence[str], change: float) -> tuple[str, ...]:
    """Backends with the least sum of times, where each change of the backend costs something."""
    best: dict[str, tuple[float, tuple[str, ...]]] = dict.fromkeys(backends, (0.0, ()))
    for p in pieces:
        reached = best
        best = {}
        for b in (b for b in backends if b in p.ms):
            ways = [(ms + p.ms[b] + change * (way[-1:] not in ((), (b,))), (*way, b)) for ms, way in reached.values()]
            best[b] = min(ways, key=itemgetter(0))
    return min(best.values(), key=itemgetter(0))[1]


def joined(graph: Graph, pieces: Sequence[Piece], way: Sequence[str], threads: int) -> Graph:
    """The network with one node for neighbouring pieces of another runtime."""
    nodes: list[Node] = []
    for number, (backend, group) in enumerate(groupby(zip(way, pieces, strict=True), key=lambda at: at[0])):
        own = [n for _, p in group for n in p.nodes]
        if backend == OURS:
            nodes += own
            continue
        part = subgraph(graph, own, f"{graph.name}.{number}")
        function = BACKENDS.find(backend)(part, threads, False)
        types = tuple(part.types[o] for o in part.outputs)
        label = f"{backend}_{number}"
        nodes.append(extern_node(label, part.inputs, part.outputs, Implementation(backend, function, types)))
    return graph.rebuilt(nodes, graph.constants, graph.outputs, f"partition: {', '.join(dict.fromkeys(way))}")
