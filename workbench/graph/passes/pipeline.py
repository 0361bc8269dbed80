"""The one order in which passes run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from workbench.errors import UsageError, did_you_mean
from workbench.graph.graph import Graph, Origin, pass_runner
from workbench.graph.passes import fuse
from workbench.graph.passes.base import Pass, find_pass, passes, run_pass, select_passes
from workbench.intrinsics.product_instructions import emulated
from workbench.late_binding import import_modules
from workbench.target import Target

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
    "part_statistics",
    "simplify",
    "flatten_products",
    "sparse_products",
    "common_subexpressions",
    "canonicalize",
    "fold_pads",
    "fold_batch_norm",
    "fold_scale",
    "combine_parallel",
    "layout",
    "simplify_views",
    "fold_constants",
    "unfold_taps",
    "unfold_bytes",
    "bfloat16",
    "bfloat16_in_float32",
    "fuse",
)

#: What `Graph.optimize` runs.
DEFAULT = tuple(name for name in ORDER if find_pass(name).default)

#: Precision in which a network is computed -> the passes that it needs besides.
PRECISIONS: dict[str, tuple[str, ...]] = {"float32": (), "bfloat16": ("unfold_taps", "bfloat16")}
#: The same for processors that lack an instruction for the type.
EMULATED = {"bfloat16": ("bfloat16_in_float32",)}


def order_of(precision: str, target: Target | None = None) -> tuple[str, ...]:
    """Passes that `Graph.optimize` runs for a precision; of a target, those that suit its instructions.

    Raises
    ------
    UsageError
        "usage.precision" for one that there is not.
    """
    if precision not in PRECISIONS:
        text = f"There is no precision {precision!r}."
        hint = did_you_mean(str(precision), PRECISIONS, "precisions")
        hint = "bytes need samples: wb.compile(wb.quantize(graph, samples))" if "int8" in str(precision) else hint
        if str(precision) in ("float16", "fp16", "half"):
            hint = "networks are computed in float32 or bfloat16, which has 16 bits and the range of float32"
        raise UsageError("usage.precision", text, (str(precision),), hint)
    return _with(EMULATED if target is not None and emulated(target, [precision]) else PRECISIONS, precision)


def _with(table: Mapping[str, tuple[str, ...]], precision: str) -> tuple[str, ...]:
    return tuple(name for name in ORDER if find_pass(name).default or name in table[precision])


def precision_of(passes: Iterable[str]) -> str:
    """Precision that some passes compute in."""
    ran = set(passes) - set(DEFAULT)
    return next(
        (p for table in (PRECISIONS, EMULATED) for p, own in table.items() if own and ran >= set(own)), "float32"
    )


def suited(graph: Graph, target: Target) -> Graph:
    """Return an optimised graph with the passes that its precision needs on a target.

    It is optimised once more where it was for other instructions, unless it was changed since or its passes were chosen
    by hand.
    """
    if (origin := graph.origin) is None or (precision := precision_of(origin.passes)) not in EMULATED:
        return graph
    known, own = (_with(PRECISIONS, precision), _with(EMULATED, precision)), order_of(precision, target)
    if origin.passes == own or origin.passes not in known:
        return graph
    return run_passes(origin.graph, own, origin.without)


def list_passes() -> tuple[Pass, ...]:
    """All declared passes in their order, each once."""
    return tuple(find_pass(name) for name in dict.fromkeys((*ORDER, *passes())))


def run_passes(
    graph: Graph,
    order: Sequence[str] | None = None,
    without: Iterable[str] | str = (),
    precision: str = "float32",
) -> Graph:
    """Run passes in order (default: those of the precision), except those that are left out.

    Where fusion is left out by name every node becomes a kernel of its own.
    """
    without = (without,) if isinstance(without, str) else tuple(without)
    order = order_of(precision) if order is None else tuple(order)
    now = graph
    for name in select_passes(order, without):
        now = run_pass(now, name)
    return finished(now, Origin(graph, order, without))


pass_runner.provide(run_passes)


def finished(graph: Graph, origin: Origin) -> Graph:
    """Give every node a kernel of its own where fusion was left out by name, and say where the graph comes from."""
    done = fuse.unfused(graph) if "fuse" in origin.without and not graph.groups else graph
    return done if done is origin.graph else done.replace(origin=origin)


def optimized(
    graph: Graph, without: Iterable[str] | str = (), precision: str | None = None, target: Target | None = None
) -> Graph:
    """Return the graph, optimised when it is not yet; `precision` is float32, or that of an optimised graph.

    With a target it is `suited` to it.

    Raises
    ------
    UsageError
        "usage.pass" when a pass is to be left out of a graph that has been through all of them, "usage.precision" when
        it has been optimised for another precision.
    """
    if not graph.groups:
        return run_passes(graph, order_of(precision or "float32", target), without)
    if precision is not None:
        order_of(precision)  # refuses one that there is not
    if precision not in (None, precision_of(graph.origin.passes if graph.origin else ())):
        text = f"The graph is optimised already, for another precision than {precision}."
        raise UsageError("usage.precision", text, (str(precision),), "give the graph as load_onnx returns it")
    if select_passes(DEFAULT, without) != DEFAULT:
        text = "The graph is optimised already, so no pass can be left out any more."
        raise UsageError("usage.pass", text, tuple(without), "give the graph as load_onnx returns it")
    return graph if target is None else suited(graph, target)
