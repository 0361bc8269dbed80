"""Addresses of a statement's accesses: a number for the loops outside of an instruction, a step for those inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.errors import BuildError
from workbench.ir import Affine, Buffer, For
from workbench.ir.affine import flat_index
from workbench.ir.poly import concrete


def value(form: Affine, at: Mapping[str, int]) -> int:
    """Value of a form, loops that are not in `at` standing at 0."""
    total = concrete(form.const)
    for digit, c in form.terms:
        part = at.get(digit.var, 0) // concrete(digit.lower)
        total += concrete(c) * (part if digit.extent is None else part % concrete(digit.extent))
    return total


def flat(buffer: Buffer, index: Sequence[Affine]) -> Affine:
    """Elements from the beginning of a buffer."""
    return flat_index(index, buffer.strides())


@dataclass(frozen=True, slots=True)
class Inner:
    """A loop inside an instruction: iterations, elements that each access moves, and what other forms do."""

    extent: int
    moves: tuple[int, ...]
    also: tuple[int, ...] = ()

    def part(self, extent: int, step: int) -> Inner:
        """The loop over every `step` of its iterations."""
        return Inner(extent, tuple(m * step for m in self.moves), tuple(m * step for m in self.also))


def inner_loops(loops: Sequence[For], forms: Sequence[Affine], also: Sequence[Affine] = ()) -> tuple[Inner, ...]:
    """The loops with the steps of all forms, outermost first."""

    def steps(lp: For, of: Sequence[Affine]) -> tuple[int, ...]:
        return tuple(concrete(f.coefficient(lp.name)) for f in of)

    return tuple(Inner(concrete(lp.extent), steps(lp, forms), steps(lp, also)) for lp in loops)


def cut(loops: Sequence[For], forms: Sequence[Affine]) -> int:
    """How many of the loops, from the outside, have to be run one by one: those of which a form uses a digit."""
    cut = {d.var for f in forms for d, _ in f.terms if not d.plain}
    return max((k + 1 for k, lp in enumerate(loops) if lp.name in cut), default=0)


def by_rows(loops: Sequence[Inner], elements: int, what: str, memory: str) -> tuple[Inner, ...]:
    """Loops over whole rows of a memory, of so many elements, with steps in rows.

    Parameters
    ----------
    loops : sequence of Inner
        Over single elements.
    elements : int
        Of one row.
    what, memory : str
        The statement and the memory, for errors.

    Raises
    ------
    BuildError
        "vta.row" where some loops do not run over the elements of rows in the order in which they lie.
    """
    rest, done = list(loops), 1
    while done < elements:
        hit = next((lp for lp in rest if all(m == done for m in lp.moves) and not any(lp.also)), None)
        part = 0 if hit is None else min(hit.extent, elements // done)
        if hit is None or hit.extent % part or (elements // done) % part:
            raise _no_rows(what, memory, elements)
        rest.remove(hit)
        if hit.extent > part:
            rest.append(hit.part(hit.extent // part, part))
        done *= part
    if any(m % elements for lp in rest for m in lp.moves):
        raise _no_rows(what, memory, elements)
    return tuple(Inner(lp.extent, tuple(m // elements for m in lp.moves), lp.also) for lp in rest)


def row_of(address: int, elements: int, what: str, memory: str) -> int:
    """Number of the row that begins at an address."""
    if address % elements:
        raise _no_rows(what, memory, elements)
    return address // elements


def _no_rows(what: str, memory: str, elements: int) -> BuildError:
    return BuildError(
        "vta.row",
        f"{what!r} does not touch whole rows of {elements} elements of {memory!r}, in the order in which they lie.",
        (what,),
        "tiles are multiples of the product's sizes, and weights lie as [..., outputs, inputs]: transform_layout",
    )
