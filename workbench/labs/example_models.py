"""Networks to play with: those that the onnx package carries, with weights that mean something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.target import Target


def example_model(
    name: str = "light_squeezenet",
    seed: int = 0,
    target: Target | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Graph:
    """Return a network that the onnx package carries, optimised and with seeded weights.

    Parameters
    ----------
    name : str
        ``light_squeezenet``, ``light_resnet50``, ...; the path of any other model will do as well.
    seed : int
        Of the weights, which the files come without; see `workbench.graph.seeded_weights`.
    target : Target, optional
        What the network is run on while its weights are calibrated; this machine by default.
    shapes : mapping, optional
        Shapes of inputs with open dimensions, as for `load_onnx`.

    Raises
    ------
    ModelError
        ``model.*`` for a model that is not there or cannot be read.
    """
    from workbench.network.seeded_model import load_filled

    return load_filled(name, seed, shapes, target).optimize()
