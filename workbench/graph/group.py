"""Kernels of a partitioned network."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..ir.func import Func
from .graph import Node


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a tensor lies that has no memory of its own.

    Attributes
    ----------
    whole : str
        Tensor whose memory it is.
    offset : int
        Of its first element in there, in elements.
    strides : tuple of int
        Distance in elements between neighbours of each of its own dimensions.
    """

    whole: str
    offset: int
    strides: tuple[int, ...]

    def widened(self, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        """Shape of a row-major array in which neighbours lie as far apart; None for a tensor of `shape` that lies
        without gaps.

        Raises
        ------
        ValueError
            Where there is no such array.
        """
        if gapless(shape, self.strides):
            return None
        out = list(shape)
        for d in reversed(range(len(shape))):
            if shape[d] == 1:
                continue
            rest = math.prod(out[d + 2 :])
            last = d == len(shape) - 1
            if self.strides[d] % rest or (last and self.strides[d] != 1):
                raise ValueError(self)
            if not last:
                out[d + 1] = self.strides[d] // rest
                if out[d + 1] < shape[d + 1]:
                    raise ValueError(self)
        return tuple(out)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of an array without gaps, in elements."""
    return tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))


def gapless(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether elements lie as in an array of their own; how far apart the rows of one row are does not matter."""
    return all(n == 1 or s == own for n, s, own in zip(shape, strides, row_major(shape), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """One kernel of a network, a view (its outputs lie where its inputs do: a reshape, a part, parts that were written
    side by side), or a node that is not compiled; the latter two have no `func`.

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
    spots : dict of str to Spot
        Where those of its tensors lie that have no memory of their own.
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
    spots: dict[str, Spot] = field(default_factory=dict)
    obstacle: str = ""

    @property
    def view(self) -> bool:
        """Whether nothing has to be computed."""
        return self.func is None and not self.obstacle
