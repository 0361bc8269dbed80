"""Kernels of a partitioned network."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.graph import Node
from workbench.ir import Func


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a tensor lies that has no memory of its own.

    Attributes
    ----------
    whole : str
        Tensor whose memory it is.
    offset : int
        Of its first element in there, in elements.
    shape, strides : tuple of int
        Its own dimensions, and the distance in elements between neighbours of each.
    """

    whole: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def widened(self, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        """Shape of a row-major array in which neighbours lie as far apart; None for a tensor that lies without gaps.

        Parameters
        ----------
        shape : tuple of int
            How a kernel sees the tensor: its own dimensions, or several of them as one.

        Raises
        ------
        ValueError
            Where there is no such array.
        """
        strides = self.strides if shape == self.shape else restrided(self.shape, self.strides, shape)
        if strides is None:
            raise ValueError(self)
        if gapless(shape, strides):
            return None
        out = list(shape)
        inner = None  # the next dimension that counts; how long it is around decides how far apart its rows lie
        for d in reversed([d for d, n in enumerate(shape) if n != 1]):
            at = d + 1 if inner is None else inner
            if at < len(shape):
                rest = math.prod(out[at + 1 :])
                if strides[d] % rest or strides[d] // rest < shape[at]:
                    raise ValueError(self)
                out[at] = strides[d] // rest
            elif strides[d] != 1:
                raise ValueError(self)
            inner = d
        return tuple(out)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of an array without gaps, in elements."""
    return tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))


def restrided(shape: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides with which the elements of a strided tensor, in their order, are one of the shape `new`; None where no
    strides do that.
    """
    have = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    out: list[int] = [0] * len(new)
    want = [d for d, n in enumerate(new) if n != 1]
    if math.prod(shape) != math.prod(new) or 0 in new:
        return None
    while want:
        # The shortest runs of dimensions on both sides that have as many elements.
        left, right = [have.pop()], [want.pop()]
        while (a := math.prod(n for n, _ in left)) != (b := math.prod(new[d] for d in right)):
            if a < b:
                left.insert(0, have.pop())
            else:
                right.insert(0, want.pop())
        if any(s != inner * n for (_, s), (n, inner) in itertools.pairwise(left)):
            return None
        step = left[-1][1]
        for d in reversed(right):
            out[d], step = step, step * new[d]
    for d in reversed(range(len(new))):  # where one element lies does not matter; as in an array looks best
        if new[d] == 1:
            out[d] = out[d + 1] * new[d + 1] if d + 1 < len(new) else 1
    return tuple(out)


def gapless(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether elements lie as in an array of their own; how far apart the rows of one row are does not matter."""
    return all(n == 1 or s == own for n, s, own in zip(shape, strides, row_major(shape), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """One kernel of a network, a view (its outputs lie where its inputs do: a reshape, a part, parts that were written
    side by side), or a node that is not compiled. A kernel is a loop nest (`func`) or a runtime kernel (`kernel`).

    Attributes
    ----------
    name : str
        Name of its first node that computes.
    nodes : tuple of Node
    func : Func or None
        The loop nest; parameters are named by role (X, W, bias, R), not by tensor.
    args : tuple of (str, str)
        Parameter name and tensor name, in the order of the kernel's parameters; (input, output) of a view.
    inputs, outputs : tuple of str
        Tensors that it reads (constants included) and writes.
    description : str
        ``conv2d 3x3 64→64 @56x56 + bias + relu``.
    rules : tuple of str
        Why these nodes are together.
    key : str
        Structural key of `func`, text of `kernel`; empty for a view.
    flops : int
    spots : dict of str to Spot
        Where those of its tensors lie that have no memory of their own.
    obstacle : str
        Why the node is not compiled but computed by its operator's reference; "" for kernels and views.
    kernel : KernelFunction or None
        The runtime kernel; it is not tuned.
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
    kernel: KernelFunction | None = None

    @property
    def untunable(self) -> str:
        """Why it cannot be tuned: the obstacle, or that it is a runtime kernel; "" for loop nests and views."""
        return self.obstacle if self.kernel is None else "a runtime kernel"

    @property
    def view(self) -> bool:
        """Whether nothing has to be computed."""
        return self.func is None and self.kernel is None and not self.obstacle
