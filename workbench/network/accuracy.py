"""How far a network in a lower precision is from the one in float32: error of each output, and of each layer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.arguments import is_a
from workbench.errors import UsageError
from workbench.graph import Graph
from workbench.graph.graph import Array
from workbench.graph.passes import optimized
from workbench.network.compile import compile, resolved_target
from workbench.network.samples import random_samples, sample_list

if TYPE_CHECKING:
    import pandas as pd

    from workbench.target import Target

#: Relative error from which on a layer is named. Chosen: bytes of well-behaved tensors stay below it.
BOUND = 0.1
#: Most bytes of tensors that one run returns; larger networks are run several times.
_AT_ONCE = 1 << 30


class ErrorSum:
    """Errors of one tensor, summed over samples in float64."""

    def __init__(self) -> None:
        self.worst, self.top, self.errors, self.squares = 0.0, 0.0, 0.0, 0.0
        self.elements = 0
        self.strange = False

    def add(self, want: Array, got: Array) -> None:
        """Compare what one sample gives."""
        a, b = want.astype(np.float64).ravel(), got.astype(np.float64).ravel()
        equal = (a == b) | (np.isnan(a) & np.isnan(b))  # infinities and NaN that both have are no error
        self.strange |= bool((~np.isfinite(b) & ~equal).any() or (~np.isfinite(a) & ~equal).any())
        finite = np.isfinite(a) & np.isfinite(b)
        a, b = a[finite], b[finite]
        self.elements += a.size
        if a.size:
            self.worst = max(self.worst, float(np.abs(a - b).max()))
            self.top = max(self.top, float(np.abs(a).max()))
            self.errors += float(((a - b) ** 2).sum())
            self.squares += float((a**2).sum())

    def row(self) -> dict[str, float]:
        """Largest error, the same against the largest number, root mean square error against that of the numbers, and
        the last in decibels.
        """
        if self.strange:
            return {"max_error": np.inf, "max_relative": np.inf, "relative": np.inf, "sqnr_db": -np.inf}
        relative = _ratio(np.sqrt(self.errors), np.sqrt(self.squares))
        decibels = np.inf if not relative else -20 * np.log10(relative) if np.isfinite(relative) else -np.inf
        return {
            "max_error": self.worst,
            "max_relative": _ratio(self.worst, self.top),
            "relative": relative,
            "sqnr_db": float(decibels),
        }


def _ratio(error: float, size: float) -> float:
    return float(error / size) if size else (0.0 if not error else np.inf)


def accuracy(
    graph: Graph,
    other: Graph | str,
    samples: Iterable[Any] | Mapping[str, Any] | None = None,
    *,
    bound: float = BOUND,
    target: Target | str | None = None,
    without: Iterable[str] | str = (),
) -> pd.DataFrame:
    """Compare a network in a lower precision with the one that it was made of.

    Parameters
    ----------
    graph : Graph
        The network in float32, as `load_onnx` returns it.
    other : Graph or str
        What `quantize` or another change of precision made of it; or a precision ("bfloat16"): then both are optimised,
        and the tensors compared are those of the optimised graphs. Tensors are compared that both have by name; of
        those that are quantised, what their readers see.
    samples : iterable, optional
        Inputs, as for `quantize`; other ones than those of the calibration. By default random numbers, of which errors
        say less than of inputs that the network was made for.
    bound : float
        Relative error above which a layer is named.
    target : Target or str, optional
        What both are compiled for; this machine by default.
    without : str or iterable of str
        Passes to leave out where `other` is compiled.

    Returns
    -------
    DataFrame
        A row for each tensor, in the order in which they are computed: `tensor node op output` (whether it is one of
        the network), `max_error`, `max_relative` (against the largest magnitude), `relative` (root mean square of the
        error against that of the tensor), `sqnr_db` (the same in decibels). ``attrs["first_above"]`` is the first
        tensor above `bound` ("" if there is none), ``attrs["bound"]`` that bound,
        ``attrs["samples"]`` their number, ``attrs["random"]`` whether they are random numbers.

    Raises
    ------
    UsageError
        "usage.accuracy" where the two have no inputs or no tensor in common, "usage.precision" for an unknown one.
    InputError
        "samples.empty", "samples.not_finite", "samples.type".
    ShapeError
        "shape.name", "shape.mismatch".
    """
    from workbench.network.accuracy_table import Accuracy

    graph = replace(is_a("graph", graph, Graph, "load a model with load_onnx(path) first").typed(), tail=None)
    if isinstance(other, str):
        loaded = graph.origin.graph if graph.origin else graph
        graph, other = graph.optimize(), optimized(loaded, precision=other, target=resolved_target(target))
    other = replace(is_a("other", other, Graph, "give what quantize returns, or a precision"), tail=None)
    if graph.input_types() != other.input_types():
        raise UsageError("usage.accuracy", "The two networks have other inputs", (graph.name, other.name))
    given = random_samples(graph) if samples is None else sample_list(graph, samples)
    pairs = _pairs(graph, other)
    if not pairs:
        hint = "give the network that the other one was made of"
        raise UsageError("usage.accuracy", "The two networks have no tensor in common", (graph.name, other.name), hint)
    sums = {x: ErrorSum() for x in pairs}
    for plain, low, names in _compared(graph, other, pairs):
        first, second = compile(plain, target=target), compile(low, target=target, without=without)
        for feeds in given:
            want, got = first.run(feeds), second.run(feeds)
            for x in plain.outputs:
                if x in sums:
                    sums[x].add(want[x], got[names[x]])
    makers = graph.producers()
    rows = [
        {"tensor": x, "node": makers[x].name, "op": makers[x].op, "output": x in graph.outputs, **sums[x].row()}
        for x in pairs
    ]
    table = Accuracy(rows)
    above = table.loc[table["relative"] > bound, "tensor"]
    table.attrs.update(first_above=above.iloc[0] if len(above) else "", bound=bound, samples=len(given))
    table.attrs["random"] = samples is None
    return table


def _compared(graph: Graph, other: Graph, pairs: Mapping[str, str]) -> Iterator[tuple[Graph, Graph, Mapping[str, str]]]:
    """Both networks in parts whose outputs are the tensors of `pairs`, with the other one's name of each of them."""
    inner = [x for x in pairs if x not in graph.outputs]
    for part in _parts(graph, inner):
        yield graph.with_outputs(part), other.with_outputs([*dict.fromkeys(pairs[x] for x in part)]), pairs
    if len(inner) < len(pairs):  # of the networks as they are, which other outputs would change
        yield graph, other, {x: x for x in graph.outputs}


def _pairs(graph: Graph, other: Graph) -> dict[str, str]:
    """Tensor of a graph -> what its readers see in the other one, of all real tensors that both compute."""
    readers, made = other.consumers(), other.producers()
    found: dict[str, str] = {}
    for node in graph.nodes:
        for x in node.outputs:
            if x in made and graph.types[x].dtype.startswith("float") and other.types[x].shape == graph.types[x].shape:
                found[x] = _seen(x, readers)
    return found


def _seen(x: str, readers: Mapping[str, Sequence[Any]]) -> str:
    """What the readers of a tensor see: itself, or what comes behind its quantisation."""
    small = next((n.outputs[0] for n in readers.get(x, ()) if n.op == "QuantizeLinear"), "")
    return next((n.outputs[0] for n in readers.get(small, ()) if n.op == "DequantizeLinear"), x) if small else x


def _parts(graph: Graph, tensors: list[str]) -> list[list[str]]:
    """Tensors in parts that fit memory together."""
    parts: list[list[str]] = []
    size = 0
    for x in tensors:
        if not parts or size + graph.types[x].nbytes > _AT_ONCE:
            parts.append([])
            size = 0
        parts[-1].append(x)
        size += graph.types[x].nbytes
    return parts
