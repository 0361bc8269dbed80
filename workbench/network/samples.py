"""Samples of a network's inputs: what a caller gives, as one mapping of arrays for each run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from workbench.arguments import ArgumentTypeError, shown
from workbench.errors import InputError, ShapeError, did_you_mean
from workbench.graph import Graph
from workbench.graph.graph import Array, TensorType

#: Most samples that are taken from an iterable; some never end.
MOST = 100_000
_HINT = 'give [{"x": array}, ...], or {"x": array} with the samples along the first axis'


def random_samples(graph: Graph, count: int = 8) -> list[dict[str, Array]]:
    """Inputs for some runs: normally distributed numbers, zeros for integers, the same ones each time."""
    rng = np.random.default_rng(0)

    def drawn(kind: TensorType) -> Array:
        numbers = np.dtype(kind.dtype).kind in "fV"
        values = rng.standard_normal(kind.shape) if numbers else np.zeros(kind.shape)
        return values.astype(kind.dtype)

    return [{name: drawn(kind) for name, kind in graph.input_types().items()} for _ in range(count)]


def sample_list(graph: Graph, samples: Iterable[Any] | Mapping[str, Any]) -> list[dict[str, Array]]:
    """Inputs of each run.

    Parameters
    ----------
    graph : Graph
    samples : iterable or mapping
        A mapping of input names to arrays for each run, or an array where there is one input. Or one mapping of arrays
        that hold the samples one behind the other, along their first axis (as in an npz file): n times the shape of the
        input, with or without an axis of its own.

    Raises
    ------
    InputError
        "samples.empty", "samples.not_finite", "samples.type".
    ShapeError
        "shape.name" for an input that is unknown or missing, "shape.mismatch" for one that does not fit.
    """
    if isinstance(samples, Mapping):
        runs: list[Mapping[str, Any]] = list(_cut(graph, samples))
    elif isinstance(samples, np.ndarray):
        runs = list(_cut(graph, {_only(graph): samples}))
    elif isinstance(samples, str | bytes) or not isinstance(samples, Iterable):
        raise ArgumentTypeError("samples.type", f"Samples have to be arrays, not {shown(samples)}", ["samples"], _HINT)
    else:
        runs = [s if isinstance(s, Mapping) else {_only(graph): s} for s in islice(samples, MOST)]
    if not runs or not graph.inputs:
        raise InputError("samples.empty", "There is no sample", ["samples"], _HINT)
    return [_checked(graph, run, k) for k, run in enumerate(runs)]


def _only(graph: Graph) -> str:
    if len(graph.inputs) != 1:
        names = ", ".join(graph.inputs)
        raise InputError(
            "samples.type", f"The network has the inputs {names}; say which one is meant", ["samples"], _HINT
        )
    return graph.inputs[0]


def _cut(graph: Graph, stacked: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """One mapping for each run, from arrays that hold several."""
    _check_names(graph, stacked)
    parts = {name: _pieces(name, _array(name, stacked[name]), t) for name, t in graph.input_types().items()}
    counts = {name: len(p) for name, p in parts.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{c} of {n!r}" for n, c in counts.items())
        raise ShapeError("shape.mismatch", f"Inputs have different numbers of samples: {listed}", list(counts), _HINT)
    for k in range(next(iter(counts.values()), 0)):
        yield {name: p[k] for name, p in parts.items()}


def _pieces(name: str, a: Array, t: TensorType) -> list[Array]:
    if a.shape == t.shape:
        return [a]
    if a.shape[1:] == t.shape:
        return list(a)
    if t.shape and a.shape[1:] == t.shape[1:] and a.shape[0] % t.shape[0] == 0:
        return list(a.reshape(-1, *t.shape))
    text = f"Samples of {name!r} have the shape {list(a.shape)}, which holds no whole number of {list(t.shape)}"
    raise ShapeError("shape.mismatch", text, [name], _HINT)


def _check_names(graph: Graph, given: Mapping[str, Any]) -> None:
    for name in given:
        if name not in graph.inputs:
            hint = did_you_mean(str(name), graph.inputs, "inputs")
            raise ShapeError("shape.name", f"The network has no input {str(name)!r}", [str(name)], hint)
    for name, t in graph.input_types().items():
        if name not in given:
            raise ShapeError("shape.name", f"The samples lack the input {name!r}", [name], f"it is {t}")


def _array(name: str, value: Any) -> Array:
    found = np.asarray(value)
    if found.dtype.kind not in "fiub" and found.dtype.name != "bfloat16":
        raise ArgumentTypeError("samples.type", f"Samples of {name!r} are no numbers ({found.dtype})", [name], _HINT)
    return found


def _checked(graph: Graph, run: Mapping[str, Any], k: int) -> dict[str, Array]:
    _check_names(graph, run)
    out: dict[str, Array] = {}
    for name, t in graph.input_types().items():
        a = _array(name, run[name])
        if a.shape != t.shape or not np.can_cast(a.dtype, t.dtype, "same_kind"):
            text = f"Sample {k} of {name!r} is {a.dtype}{list(a.shape)}, expected {t}"
            raise ShapeError("shape.mismatch", text, [name], _HINT)
        if a.dtype.kind == "f" and not np.isfinite(a).all():
            text = f"Sample {k} of {name!r} has NaN or infinite numbers, from which no range follows"
            raise InputError("samples.not_finite", text, [name], "leave it out, or mend what made it")
        out[name] = np.ascontiguousarray(a.astype(t.dtype, copy=False))
    return out
