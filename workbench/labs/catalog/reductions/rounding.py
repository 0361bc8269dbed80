"""An exercise on rounding: a sum in float32 whose error does not grow with its length."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Setting

LENGTHS = (1, 2, 3, 7, 64, 1000, 4096)
_UNIT = 2.0**-24


@dataclass(frozen=True, slots=True)
class Term:
    """A float32 number, with the additions that it waited for; only `Adder.add` makes new ones."""

    value: float
    depth: int = 0
    terms: int = 1


@dataclass(slots=True)
class Adder:
    """Adds in float32 and counts."""

    additions: int = field(default=0)

    def add(self, a: object, b: object) -> Term:
        """Return the rounded sum."""
        if not (isinstance(a, Term) and isinstance(b, Term)):
            raise TypeError("add() takes two of the terms, or what add() gave")
        self.additions += 1
        return Term(float(np.float32(a.value) + np.float32(b.value)), 1 + max(a.depth, b.depth), a.terms + b.terms)


def terms_of(count: int, seed: int = 0) -> list[Term]:
    """Return positive float32 numbers between 0 and 1, the same ones every time."""
    numbers = np.random.default_rng(seed + count).random(count, dtype=np.float32)
    return [Term(float(x)) for x in numbers]


Total = Callable[[Sequence[Term], Callable[[object, object], Term]], Any]


def _tried(total: Total, count: int) -> tuple[Term, Adder, list[Term]]:
    adder, terms = Adder(), terms_of(count)
    found = total(tuple(terms), adder.add)
    if not isinstance(found, Term):
        raise TypeError(f"total() of {count} terms gave no term")
    return found, adder, terms


def _whole(total: Total, at: Setting) -> tuple[bool, str]:
    for count in LENGTHS:
        found, adder, _ = _tried(total, count)
        if found.terms != count or adder.additions != count - 1:
            return False, f"Of {count:,} terms, {found.terms:,} are in the sum, with {adder.additions:,} additions."
    return True, "Every term is in the sum once."


def _shallow(total: Total, at: Setting) -> tuple[bool, str]:
    for count in LENGTHS:
        found, _, _ = _tried(total, count)
        most = math.ceil(math.log2(count)) + 1 if count > 1 else 0
        if found.depth > most:
            return False, f"Of {count:,} terms, {found.depth:,} additions wait for each other, {most} would do."
    return True, "At most log2(n) + 1 additions wait for each other."


def _near(total: Total, at: Setting) -> tuple[bool, str]:
    found, _, terms = _tried(total, LENGTHS[-1])
    true = math.fsum(t.value for t in terms)
    units = abs(found.value - true) / (true * _UNIT)
    return units <= 13, f"The sum of {len(terms):,} terms is off by {units:.3g} units of rounding."


def _pairwise(terms: Any, add: Any) -> Any:
    while len(terms) > 1:
        pairs = [add(terms[k], terms[k + 1]) for k in range(0, len(terms) - 1, 2)]
        terms = pairs + ([terms[-1]] if len(terms) % 2 else [])
    return terms[0]


TREE = Exercise(
    name="tree",
    title="A tree of additions",
    task="Every addition in float32 rounds: it may be off by one part in 2 to the 24th, one unit of rounding here. "
    "In a chain, the first term goes through all additions; in a tree, where neighbours are added, then neighbours of "
    "these sums, it goes through few. Through how many, with 1,024 terms? And by how many units of rounding may a "
    "chain of 1,024 positive terms be off, at most?\n\n"
    "Write total(terms, add), which adds a sequence of any number of terms as a tree. add(a, b) is the only way "
    "to add two of them, and it counts.",
    predictions=(
        Prediction(
            "depth",
            "Through how many additions does a term of 1,024 go in a tree?",
            10,
            misconceptions=(
                Misconception(1023, "That is the number of all additions. Through how many does one term go?"),
                Misconception(1024, "That is the length of a chain. In a tree, each layer halves the number of sums."),
                Misconception(
                    512, "That is how many additions the first layer of the tree has. How many layers are there?"
                ),
                Misconception(32, "Each layer halves the number of sums; it does not take the root of it."),
                Misconception(11, "After how many halvings is one sum left?"),
            ),
            within=0,
        ),
        Prediction(
            "chain",
            "By how many units of rounding may a chain of 1,024 terms be off, at most?",
            1023,
            misconceptions=(
                Misconception(1, "Every addition rounds once, and the first term goes through all of them."),
                Misconception(10, "That is the tree."),
                Misconception(32, "That is about what is to be expected if errors cancel. The most is asked."),
            ),
        ),
    ),
    work=Function("total", _pairwise),
    goals=(
        Goal("Every term is in the sum, with one addition less than there are terms.", _whole),
        Goal("At most log2(n) + 1 additions wait for each other.", _shallow),
        Goal("The sum of 4,096 terms is off by at most 13 units of rounding.", _near),
    ),
    hints=(
        "Add neighbours, which gives half as many terms; begin again with these, until one is left.",
        "With an odd number of terms the last one has no neighbour: it goes to the next layer as it is.",
        "Or by halves: the sum of the first half plus the sum of the second half, each found in the same way.",
    ),
    why="A term goes through log2(n) additions instead of up to n - 1, so its error is that many roundings, and the "
    "additions of a layer do not wait for each other. Partial sums in vectors are half the way: n / lanes additions.",
)
