"""The one order in which passes run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workbench.errors import UsageError
from workbench.graph.graph import Graph, Origin, pass_runner
from workbench.graph.passes import fuse
from workbench.graph.passes.base import Pass, find_pass, passes, run_pass, select_passes
from workbench.late_binding import import_modules

# All that declares a pass is there before the order names it.
import_modules("workbench.graph.passes", without=("pipeline", "explain"))

#: The declared order, a name for each run of a pass. One that is off by default stands here too, in its place.
ORDER = (
    "qdq_to_integer",
    "dead_code",
    "fold_constants",
    "drop_identities",
    "integer_products",
    "decompose",
    "unroll_recurrences",
    "part_statistics",
    "simplify",
    "flatten_products",
    "common_subexpressions",
    "canonicalize",
    "fold_pads",
    "fold_batch_norm",
    "fold_scale",
    "combine_parallel",
    "layout",
    "simplify_views",
    "fold_constants",
    "fuse",
)

#: What `Graph.optimize` runs.
DEFAULT = tuple(name for name in ORDER if find_pass(name).default)


def list_passes() -> tuple[Pass, ...]:
    """All declared passes in their order, each once."""
    return tuple(find_pass(name) for name in dict.fromkeys((*ORDER, *passes())))


def run_passes(graph: Graph, order: Sequence[str] | None = None, without: Iterable[str] | str = ()) -> Graph:
    """Run passes in order (default: `DEFAULT`), except those that are left out.

    Where fusion is left out by name every node becomes a kernel of its own.
    """
    without = (without,) if isinstance(without, str) else tuple(without)
    order = tuple(DEFAULT if order is None else order)
    now = graph
    for name in select_passes(order, without):
        now = run_pass(now, name)
    return finished(now, Origin(graph, order, without))


pass_runner.provide(run_passes)


def finished(graph: Graph, origin: Origin) -> Graph:
    """Give every node a kernel of its own where fusion was left out by name, and say where the graph comes from."""
    done = fuse.unfused(graph) if "fuse" in origin.without and not graph.groups else graph
    return done if done is origin.graph else done.replace(origin=origin)


def optimized(graph: Graph, without: Iterable[str] | str = ()) -> Graph:
    """Return the graph, optimised when it is not yet.

    Raises
    ------
    UsageError
        "usage.pass" when a pass is to be left out of a graph that has been through all of them.
    """
    if not graph.groups:
        return run_passes(graph, None, without)
    if select_passes(DEFAULT, without) != DEFAULT:
        text = "The graph is optimised already, so no pass can be left out any more."
        raise UsageError("usage.pass", text, tuple(without), "give the graph as load_onnx returns it")
    return graph
