"""Networks to play with: those that the onnx package carries, with weights that mean something."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.target import Target


def example_model(name: str = "light_squeezenet", seed: int = 0, target: Target | None = None) -> Graph:
    """Return a network that the onnx package carries, optimised and with seeded weights.

    Parameters
    ----------
    name : str
        ``light_squeezenet``, ``light_resnet50``, ...; the path of any other model will do as well.
    seed : int
        Of the weights, which the files come without; see `workbench.graph.fill`.
    target : Target, optional
        What the network is run on while its weights are calibrated; this machine by default.

    Raises
    ------
    ModelError
        ``model.*`` for a model that is not there or cannot be read.
    """
    from workbench.graph import load_onnx
    from workbench.graph.fill import fill_weights
    from workbench.graph.graph import Source
    from workbench.graph.onnx.reader import source_of
    from workbench.tune.compile import execute

    graph = load_onnx(fill_weights(name, seed, partial(execute, target=target)))
    source = source_of(name)
    return graph.replace(source=None if source is None else Source(source.path, seed)).optimize()
