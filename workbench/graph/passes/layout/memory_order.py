"""In which order the elements of a tensor lie in memory.

An `Order` cuts the row-major index of the model's tensor into digits and says in which order the digits follow each
other in memory. Reshaping keeps the row-major index, so a reshaped tensor has the order of what it was made from;
transposing keeps what lies in memory, and only the order has another name. Two tensors lie alike exactly where their
orders are equal, dimensions of one element do not count, and a channels-last image of one pixel is one as the model
has it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from workbench.graph.operator_facts import inverse

Shape = tuple[int, ...]
Perm = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """Digits of the row-major index, outermost first, and the digit at each place in memory (`Order.of` makes them)."""

    digits: Shape = ()
    memory: Perm = ()

    @staticmethod
    def of(shape: Sequence[int], perm: Sequence[int]) -> Order:
        """Order of a tensor that lies in memory with its axes permuted; equal orders are equal values."""
        runs: list[list[int]] = []
        kept = [a for a in range(len(shape)) if shape[a] != 1]
        for a in (kept.index(p) for p in perm if shape[p] != 1):
            if runs and runs[-1][-1] + 1 == a:
                runs[-1].append(a)
            else:
                runs.append([a])
        if len(runs) < 2:
            return PLAIN
        first = sorted(range(len(runs)), key=lambda r: runs[r][0])
        digits = tuple(prod(shape[kept[a]] for a in runs[r]) for r in first)
        return Order(digits, tuple(first.index(r) for r in range(len(runs))))

    @property
    def plain(self) -> bool:
        """Whether the elements lie as the model has them."""
        return not self.digits

    def parts(self, shape: Sequence[int]) -> list[list[int]] | None:
        """Axes of each digit, without those of one element; None where a digit ends inside of an axis."""
        axes = iter([a for a in range(len(shape)) if shape[a] != 1])
        found: list[list[int]] = []
        for digit in self.digits:
            part: list[int] = []
            while prod(shape[a] for a in part) < digit:
                part.append(next(axes))
            if prod(shape[a] for a in part) != digit:
                return None
            found.append(part)
        return found

    def perms(self, shape: Sequence[int]) -> list[Perm]:
        """Permutations of a shape's axes that are this order, the simplest first; none where it cuts an axis."""
        rank = len(shape)
        found = [p for p in (tuple(range(rank)), last(rank)) if Order.of(shape, p) == self]
        parts = None if self.plain else self.parts(shape)
        if parts is not None:
            found.append(_with_units([a for d in self.memory for a in parts[d]], shape))
        return list(dict.fromkeys(found))

    def stored(self, shape: Sequence[int]) -> Shape:
        """A shape that a tensor of this order can have in memory."""
        perms = self.perms(shape)
        return tuple(shape[p] for p in perms[0]) if perms else tuple(self.digits[d] for d in self.memory)

    def __str__(self) -> str:
        if self.plain:
            return "as the model has it"
        return "digits " + "x".join(map(str, self.digits)) + " in order " + ",".join(map(str, self.memory))


#: As the model has it.
PLAIN = Order()


def last(rank: int) -> Perm:
    """Permutation to channels last."""
    return (0, *range(2, rank), 1) if rank > 2 else tuple(range(rank))


def _with_units(axes: list[int], shape: Sequence[int]) -> Perm:
    """The permutation with its axes of one element put back: each before the axis that it preceded, the rest last."""
    out: list[int] = list(itertools.takewhile(lambda a: shape[a] == 1, range(len(shape))))
    for a in axes:
        before = list(itertools.takewhile(lambda b: shape[b] == 1, range(a - 1, -1, -1)))[::-1]
        out += [b for b in before if b not in out] + [a]
    return (*out, *(a for a in range(len(shape)) if a not in out))


def transposed(order: Order, shape: Sequence[int], perm: Sequence[int]) -> Order | None:
    """Order of the result of a Transpose whose input stays where it lies; None where its order cuts an axis."""
    found = order.perms(shape)
    if not found:
        return None
    back = inverse(perm)
    return Order.of([shape[p] for p in perm], [back[a] for a in found[0]])


def common_digits(a: Order, b: Order, size: int) -> tuple[Shape, Perm, Perm] | None:
    """Digits that both orders can be written in, and where these lie in each; None where one cuts through the other."""
    marks = sorted({*_marks(a, size), *_marks(b, size)}, reverse=True)
    pairs = list(itertools.pairwise(marks))
    if any(outer % inner for outer, inner in pairs):
        return None
    digits = tuple(outer // inner for outer, inner in pairs)
    pa, pb = a.parts(digits), b.parts(digits)
    whole = tuple(range(len(digits)))
    perms = [
        whole if order.plain else tuple(x for d in order.memory for x in (parts or [])[d])
        for order, parts in ((a, pa), (b, pb))
    ]
    return digits, perms[0], perms[1]


def _marks(order: Order, size: int) -> Iterator[int]:
    """Number of elements that one step of each digit passes over, and the size."""
    yield size
    yield 1
    step = 1
    for d in reversed(order.digits):
        step *= d
        yield step


def split_rows(order: Order, shape: Sequence[int]) -> list[int] | None:
    """Where each element along the last axis lies in memory came from, for an order that permutes only within it.

    None where the order moves anything else.
    """
    size, row = prod(shape), shape[-1]
    marks = sorted({*_marks(order, size), row}, reverse=True)
    pairs = list(itertools.pairwise(marks))
    if order.plain or not size or any(outer % inner for outer, inner in pairs):
        return None
    digits = [outer // inner for outer, inner in pairs]
    parts = order.parts(digits)
    if parts is None:
        return None
    memory = [x for d in order.memory for x in parts[d]]
    lead = next(k for k in range(len(digits) + 1) if prod(digits[k:]) == row)
    if memory[:lead] != list(range(lead)):
        return None
    index = np.arange(row).reshape(digits[lead:])
    return [int(v) for v in np.transpose(index, [x - lead for x in memory[lead:]]).reshape(-1)]
