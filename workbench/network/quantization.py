"""Quantising a network to bytes with samples of its inputs; what of it costs accuracy.

`quantize` makes the network; `plan` says which of its nodes would compute with bytes, and why not the others;
`sensitivity` measures what each of them alone costs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from workbench.arguments import is_a, real
from workbench.errors import InputError, ModelError, ModelWarning, UsageError, did_you_mean
from workbench.graph import Graph
from workbench.graph.graph import Array
from workbench.graph.quantization.insertion import each_alone, insert
from workbench.graph.quantization.plan import Plan, make_plan, prepared
from workbench.graph.quantization.ranges import METHODS, PERCENT, Observed, usable
from workbench.network.accuracy import BOUND, ErrorSum
from workbench.network.compile import compile
from workbench.network.samples import sample_list

if TYPE_CHECKING:
    import pandas as pd

    from workbench.target import Target

Names: TypeAlias = Iterable[str] | str
Samples: TypeAlias = Iterable[Any] | Mapping[str, Any]

#: Types that tensors can have. Bytes without sign are the default: instructions for bytes multiply those with signed
#: weights (with signed ones, VNNI takes two steps more), and results of Relu use all of their range either way.
ACTIVATIONS = ("uint8", "int8")


def quantize(
    graph: Graph,
    samples: Samples,
    *,
    calibration: str = "minmax",
    percentile: float = PERCENT,
    activations: str = "uint8",
    exclude: Names = (),
    target: Target | str | None = None,
) -> Graph:
    """Quantise a network to 8 bits: convolutions and products with constant weights, and what stands between them.

    Weights are int8 around 0 with a scale for each channel; tensors have one scale and zero point, from the range that
    the samples give them; biases are int32 in units of the sums. The result says so with QuantizeLinear and
    DequantizeLinear around each node, as other programs read it; `compile` makes kernels on integers of them.

    Parameters
    ----------
    graph : Graph
        In float32, as `load_onnx` returns it.
    samples : iterable or mapping
        Typical inputs: a mapping of names to arrays for each run (arrays, where there is one input), or one mapping of
        arrays with the samples along their first axis. A hundred are plenty.
    calibration : {"minmax", "percentile", "entropy"}
        How a range follows from the numbers: all of them fit, `percentile` of them fit, or the divergence of their
        distributions in float32 and in bytes is least.
    percentile : float
        Percent of the numbers that fit, where `calibration` is "percentile".
    activations : {"uint8", "int8"}
        Type of tensors.
    exclude : str or iterable of str
        Names of nodes, or of operators ("Conv"), that stay in float32. `sensitivity` proposes some.
    target : Target or str, optional
        What the samples are run on; this machine by default.

    Returns
    -------
    Graph
        Not optimised; `compile(quantize(graph, samples))` runs it, `save_onnx` writes it, `accuracy` compares it, and
        `plan` explains it.

    Raises
    ------
    UsageError
        "usage.calibration", "usage.activations", "usage.exclude", "usage.number".
    InputError
        "samples.empty", "samples.not_finite", "samples.type", "samples.constant" (every input always has one value).
    ShapeError
        "shape.name", "shape.mismatch".
    ModelError
        "model.already_quantised", "model.optimised", "model.nothing_to_quantise", "model.not_finite" (a tensor that has
        NaN or infinite numbers for a sample).

    Warns
    -----
    ModelWarning
        "model.constant_activation" for tensors that are 0 for every sample; the nodes around them stay in float32.
    """
    ready, excluded, given = _start(graph, samples, exclude)
    _choice("calibration", calibration, METHODS)
    _choice("activations", activations, ACTIVATIONS)
    if not 50 < real("percentile", percentile) <= 100:
        text = f"percentile has to be above 50 and at most 100, not {percentile}"
        hint = f"in percent: {100 * percentile:g}" if 0.5 < percentile <= 1 else ""
        raise UsageError("usage.number", text, ["percentile"], hint)
    found, ranges = _calibrated(ready, excluded, given, calibration, percentile, target)
    done = insert(found, ranges, activations)
    note = f"{done.history[-1]} ({activations}, {calibration} of {len(given)} samples)"
    return done.replace(history=(*done.history[:-1], note))


def plan(graph: Graph, exclude: Names = ()) -> pd.DataFrame:
    """Say which nodes `quantize` would compute with bytes.

    Returns
    -------
    DataFrame
        `node op quantised reason`, a row for each node after normalisations are folded into convolutions.

    Raises
    ------
    UsageError
        "usage.exclude".
    ModelError
        "model.already_quantised", "model.optimised".
    """
    import pandas as pd

    ready, excluded = _ready(graph, exclude)
    rows = [(d.node, d.op, d.quantised, d.reason) for d in make_plan(ready, excluded).decisions]
    return pd.DataFrame(rows, columns=["node", "op", "quantised", "reason"])


def sensitivity(
    graph: Graph,
    samples: Samples,
    *,
    calibration: str = "minmax",
    percentile: float = PERCENT,
    activations: str = "uint8",
    exclude: Names = (),
    bound: float = BOUND,
    target: Target | str | None = None,
) -> pd.DataFrame:
    """Measure the error that each quantised node adds by itself: it alone computes with bytes, from exact inputs.

    Parameters
    ----------
    graph, samples, calibration, percentile, activations, exclude, target
        As for `quantize`.
    bound : float
        Relative error above which a node is proposed for `exclude`.

    Returns
    -------
    DataFrame
        `node op relative max_relative sqnr_db propose`, the largest error first (columns as for `accuracy`).

    Raises
    ------
    WorkbenchError
        As `quantize`.
    """
    import pandas as pd

    ready, excluded, given = _start(graph, samples, exclude)
    _choice("calibration", calibration, METHODS)
    _choice("activations", activations, ACTIVATIONS)
    found, ranges = _calibrated(ready, excluded, given, calibration, percentile, target)
    alone, results = each_alone(found, ranges, activations)
    sums = {name: ErrorSum() for name in results}
    for tensors in _values(alone, [x for pair in results.values() for x in pair], given, target):
        for name, (want, got) in results.items():
            sums[name].add(tensors[want], tensors[got])
    rows = [{"node": n, "op": ready.node(n).op, **s.row()} for n, s in sums.items()]
    table = pd.DataFrame(rows, columns=["node", "op", "relative", "max_relative", "sqnr_db"])
    table["propose"] = table["relative"] > bound
    return table.sort_values("relative", ascending=False, kind="stable", ignore_index=True)


# ---- steps -----------------------------------------------------------------------------------------------------------


def _choice(name: str, value: object, known: Iterable[str]) -> None:
    if value not in tuple(known):
        hint = did_you_mean(str(value), list(known), "choices")
        raise UsageError(f"usage.{name}", f"{name} {value!r} is not known", [str(value)], hint)


def _ready(graph: Graph, exclude: Names) -> tuple[Graph, dict[str, str]]:
    """Prepared graph, and the nodes of it that are excluded with the reason."""
    is_a("graph", graph, Graph, "load a model with load_onnx(path) first")
    names = (exclude,) if isinstance(exclude, str) else tuple(is_a("exclude", exclude, Iterable, "give names"))
    ready = prepared(graph)
    nodes, ops = {n.name for n in (*graph.nodes, *ready.nodes)}, {n.op for n in (*graph.nodes, *ready.nodes)}
    for name in names:
        if name not in nodes and name not in ops:
            hint = did_you_mean(str(name), sorted(nodes | ops), "nodes and operators")
            raise UsageError("usage.exclude", f"The network has no node or operator {str(name)!r}", [str(name)], hint)
    reasons = {n.name: f"{n.op} is excluded" for n in ready.nodes if n.op in names}
    return ready, reasons | {n.name: "it is excluded" for n in ready.nodes if n.name in names}


def _start(graph: Graph, samples: Samples, exclude: Names) -> tuple[Graph, dict[str, str], list[dict[str, Array]]]:
    ready, excluded = _ready(graph, exclude)
    given = sample_list(ready, samples)
    seen = [np.stack([s[n] for s in given]) for n, t in ready.input_types().items() if t.dtype.startswith("float")]
    if seen and all((a == a.ravel()[0]).all() for a in seen if a.size):
        text = "Every input has one and the same value in all samples, from which no range follows"
        raise InputError("samples.constant", text, list(ready.inputs), "give inputs as the network will have them")
    return ready, excluded, given


def _calibrated(
    graph: Graph,
    excluded: dict[str, str],
    given: Sequence[Mapping[str, Array]],
    method: str,
    percent: float,
    target: Target | str | None,
) -> tuple[Plan, dict[str, tuple[float, float]]]:
    """Plan without nodes around tensors that have no range, and the ranges of its tensors."""
    found = make_plan(graph, excluded)
    seen = {x: Observed() for x in found.tensors if x not in found.same}
    for tensors in _values(graph, list(seen), given, target):
        for x, observed in seen.items():
            observed.see(tensors[x])
            _check_finite(graph, x, observed)
    if method != "minmax":
        for tensors in _values(graph, list(seen), given, target):
            for x, observed in seen.items():
                observed.count(tensors[x])
    ranges = {x: METHODS[method](o, percent) for x, o in seen.items()}
    dead = {x for x, r in ranges.items() if not usable(*r)}
    if dead:
        _warn(dead)
        why = dict.fromkeys(_around(graph, dead), "a tensor around it is 0 in all samples")
        found = make_plan(graph, {**why, **excluded})
    if not found.nodes:
        reasons = "; ".join(sorted({f"{d.op}: {d.reason}" for d in found.decisions})[:6])
        text = f"No node of {graph.name!r} can compute with bytes."
        raise ModelError("model.nothing_to_quantise", text, (graph.name,), reasons)
    return found, {x: ranges[x] for x in found.tensors if x not in found.same}


def _around(graph: Graph, tensors: set[str]) -> list[str]:
    """Nodes that read or make some of the tensors, and those behind which a Relu or Clip makes one."""
    before = {n.inputs[0] for n in graph.nodes if n.op in ("Relu", "Clip") and n.outputs[0] in tensors}
    return [n.name for n in graph.nodes if not (tensors | before).isdisjoint({*n.inputs, *n.outputs})]


def _check_finite(graph: Graph, x: str, seen: Observed) -> None:
    if not np.isfinite([seen.low, seen.high]).all():
        maker = graph.producers().get(x)
        of = f", which {maker.name!r} ({maker.op}) makes," if maker is not None else ""
        text = f"The tensor {x!r}{of} has NaN or infinite numbers for a sample."
        raise ModelError("model.not_finite", text, (x,), "look at the weights and at the samples")


def _warn(dead: Iterable[str]) -> None:
    names = sorted(dead)
    shown = ", ".join(map(repr, names[:4])) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    text = f"All samples make the tensors {shown} 0; the nodes around them stay in float32."
    warnings.warn(ModelWarning("model.constant_activation", text, names, "give samples of all kinds"), stacklevel=4)


def _values(
    graph: Graph, tensors: Sequence[str], given: Sequence[Mapping[str, Array]], target: Target | str | None
) -> Iterable[Mapping[str, Array]]:
    """Values of tensors for each sample."""
    made = [x for x in dict.fromkeys(tensors) if x not in graph.inputs]
    executable = compile(graph.with_outputs(made), target=target) if made else None
    for feeds in given:
        yield {**feeds, **(executable.run(feeds) if executable is not None else {})}
