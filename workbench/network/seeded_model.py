"""Models with seeded weights, calibrated by running them with our own executable."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from workbench.arguments import whole
from workbench.graph import load_onnx
from workbench.graph.graph import Source
from workbench.graph.onnx.reader import read_program, source_of
from workbench.graph.open_sizes import fixed, open_sizes
from workbench.graph.seeded_weights import fill_weights
from workbench.network.compile import execute

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.target import Target


def load_filled(
    path: str | os.PathLike[str],
    seed: int,
    shapes: Mapping[str, Sequence[int]] | None = None,
    target: Target | None = None,
    dynamic: Mapping[str, Iterable[int]] | None = None,
) -> Graph:
    """Read an ONNX model as `load_onnx` does, with seeded weights (`workbench.graph.seeded_weights`) for its own.

    Parameters
    ----------
    path : path
    seed : int
    shapes : mapping, optional
        Shapes of inputs with open dimensions.
    target : Target, optional
        What the network is run on while its weights are calibrated; this machine by default.
    dynamic : mapping, optional
        Lengths that open dimensions can have, as for `load_onnx`; weights are calibrated for the largest.

    Raises
    ------
    ModelError
        What `load_onnx` raises, and "model.fill_role" for a weight whose role is not known.
    """
    seed = whole("fill_weights", seed, least=0)
    largest = shapes
    if dynamic is not None:
        sizes = open_sizes(fixed(read_program(path), shapes or {}), dynamic)
        largest = {name: t.shape for name, t in sizes.at(sizes.largest).types({}).items()}
    graph = load_onnx(fill_weights(path, seed, partial(execute, target=target), largest), shapes, dynamic)
    source = source_of(path)
    filled = None if source is None else Source(source.path, seed)
    return graph.replace(source=filled, open_sizes=graph.open_sizes)
