"""Kernels of a partitioned network."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.func import Func
from .graph import Node


@dataclass(frozen=True, slots=True)
class Part:
    """The output of a kernel is ``[offset, offset + own extent)`` along `axis` of a tensor with `extent` elements
    there.
    """

    axis: int
    extent: int
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """One kernel of a network, a view that gives a tensor another shape without moving data, or a node that is not
    compiled; the latter two have no `func`.

    Attributes
    ----------
    name : str
        Name of its first node that computes.
    nodes : tuple of Node
    func : Func or None
        The computation; parameters are named by role (X, W, bias, R), not by tensor.
    args : tuple of (str, str)
        Parameter name and tensor name, in the order of ``func.params``; (input, output) of a view.
    inputs, outputs : tuple of str
        Tensors that it reads (constants included) and writes.
    description : str
        ``conv2d 3x3 64→64 @56x56 + bias + relu``.
    rules : tuple of str
        Why these nodes are together.
    key : str
        Structural key of `func`; empty for a view.
    flops : int
    part : Part or None
        Where the output lies in a larger tensor that several kernels write together.
    obstacle : str
        Why the node is not compiled but computed by its operator's reference; "" for kernels and views.
    """

    name: str
    nodes: tuple[Node, ...]
    func: Func | None
    args: tuple[tuple[str, str], ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    description: str
    rules: tuple[str, ...]
    key: str = ""
    flops: int = 0
    part: Part | None = None
    obstacle: str = ""

    @property
    def view(self) -> bool:
        """Whether nothing has to be computed."""
        return self.func is None and not self.obstacle
