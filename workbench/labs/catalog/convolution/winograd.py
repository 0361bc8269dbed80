"""Exercises on Winograd's algorithm: four multiplications, whole tiles, and which results are exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.analysis.cache.levels import KIB
from workbench.ir import Func
from workbench.labs.catalog.convolution.direct import IN, OUT, multiplications
from workbench.labs.counting import stages
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import NOTHING_TWICE, kept_at_most
from workbench.schedule import Schedule
from workbench.workloads import conv2d_nhwc

#: Rows and columns of an image that tiles of 4 x 4 do not divide.
SIZES = {"edge": (30, 22, 38)}
#: Bytes that each of the two inner transforms may keep.
ROOM = 16 * KIB


# ------------------------------------------------------------------------------------------------ one dimension


@dataclass(slots=True)
class Counter:
    """Multiplications of two numbers that are not constants."""

    multiplications: int = 0


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number that counts: its products with constants are free, those with other numbers are not."""

    value: Fraction
    counter: Counter

    def _new(self, value: Fraction) -> Number:
        return Number(value, self.counter)

    def __add__(self, other: object) -> Number:
        return self._new(self.value + _value(other))

    def __sub__(self, other: object) -> Number:
        return self._new(self.value - _value(other))

    def __rsub__(self, other: object) -> Number:
        return self._new(_value(other) - self.value)

    def __neg__(self) -> Number:
        return self._new(-self.value)

    def __mul__(self, other: object) -> Number:
        if isinstance(other, Number):
            self.counter.multiplications += 1
        return self._new(self.value * _value(other))

    def __truediv__(self, other: object) -> Number:
        if isinstance(other, Number):
            raise TypeError("only constants divide here")
        return self._new(self.value / _value(other))

    __radd__, __rmul__ = __add__, __mul__


def _value(x: object) -> Fraction:
    if isinstance(x, Number):
        return x.value
    if isinstance(x, int | float | Fraction):
        return Fraction(x)
    raise TypeError(f"{type(x).__name__} is no number")


Filter = Callable[[Sequence[Number], Sequence[Number]], Sequence[Any]]


def _tried(two: Filter) -> tuple[str, int]:
    """What is wrong, or nothing, and the most multiplications."""
    rng, most = np.random.default_rng(23), 0
    for _ in range(20):
        counter = Counter()
        d, g = ([Number(Fraction(int(x)), counter) for x in rng.integers(-50, 51, k)] for k in (4, 3))
        found = [_value(x) for x in two(tuple(d), tuple(g))]
        most = max(most, counter.multiplications)
        right = [sum(d[y + k].value * g[k].value for k in range(3)) for y in range(2)]
        if found != right:
            given = f"d = {[int(x.value) for x in d]}, g = {[int(x.value) for x in g]}"
            told = ", ".join(map(str, found))
            return f"{given}: ({told}), but it has to be ({right[0]}, {right[1]}).", most
    return "", most


def _right(two: Filter, at: Setting) -> tuple[bool, str]:
    wrong, _ = _tried(two)
    return not wrong, wrong or "Both results are right."


def _four_only(two: Filter, at: Setting) -> tuple[bool, str]:
    wrong, most = _tried(two)
    return not wrong and most <= 4, f"{most} multiplications{', with a wrong result' if wrong else ''}."


def two_results(d: Any, g: Any) -> Any:
    """Two results of a filter of three weights over four numbers, with four multiplications."""
    first = (d[0] - d[2]) * g[0]
    plus = (d[1] + d[2]) * ((g[0] + g[1] + g[2]) / 2)
    minus = (d[2] - d[1]) * ((g[0] - g[1] + g[2]) / 2)
    last = (d[1] - d[3]) * g[2]
    return first + plus + minus, plus - minus - last


FOUR = Exercise(
    name="four",
    title="Four multiplications instead of six",
    task="A filter with the weights g0, g1, g2 over the numbers d0, d1, d2, d3 has two results:\n\n"
    "    y0 = d0 g0 + d1 g1 + d2 g2\n    y1 = d1 g0 + d2 g1 + d3 g2\n\n"
    "How many multiplications are these? Winograd's algorithm does with four, one for each input, since sums of the "
    "weights are formed once ahead of time. In two dimensions a tile of 2 x 2 results needs 4 x 4 numbers, and rows "
    "and columns are treated alike: how many multiplications is that, and by which factor fewer than directly?\n\n"
    "Write two(d, g), which returns (y0, y1) with four multiplications. Two of them are (d0 - d2) g0 and (d1 - d3) g2. "
    "The others multiply d1 + d2 and d2 - d1 with halves of sums of the weights. Additions, and products with "
    "constants, are not counted.",
    predictions=(
        Prediction(
            "direct",
            "How many multiplications do two results take directly?",
            6,
            misconceptions=(
                Misconception(3, "That is one result."),
                Misconception(5, "Additions are not asked for."),
                Misconception(4, "That is right with the algorithm. Count them as they are written."),
                Misconception(12, "Four numbers and three weights, but not each with each."),
            ),
            within=0,
        ),
        Prediction(
            "square",
            "How many multiplications does a tile of 2 x 2 results take with the algorithm?",
            16,
            misconceptions=(
                Misconception(36, "That is the direct way: four results with nine each."),
                Misconception(8, "Rows and columns do not follow each other: each element of the tile is multiplied."),
                Misconception(4, "That is one dimension."),
                Misconception(9, "That is one result in the direct way."),
            ),
            within=0,
        ),
        Prediction(
            "factor",
            "By which factor fewer are these than directly?",
            2.25,
            misconceptions=(
                Misconception(1.5, "That is one dimension."),
                Misconception(16 / 36, "That is the share that is left."),
                Misconception(20, "That is the difference."),
                Misconception(3, "The factor of one dimension counts twice: is it multiplied or added?"),
            ),
        ),
    ),
    work=Function("two", two_results),
    goals=(
        Goal("Both results are right.", _right),
        Goal("At most four multiplications, and the right result.", _four_only),
    ),
    hints=(
        "Call the two in the middle plus = (d1 + d2) (g0 + g1 + g2) / 2 and minus = (d2 - d1) (...) / 2.",
        "minus has (g0 - g1 + g2) / 2. Multiply out plus + minus and plus - minus: what is missing in y0 and in y1?",
        "y0 is the first product plus both in the middle; y1 is plus - minus - the last one.",
    ),
    why="plus + minus is d1 g1 + d2 (g0 + g2), plus - minus is d1 (g0 + g2) + d2 g1; the first and the last product "
    "mend the rest. Multiplications are traded for additions, which in a layer are done once for all channels of the "
    "other side: the input's for all outputs, the outputs' for all inputs.",
)


# ------------------------------------------------------------------------------------------------ a layer


def uneven(at: Setting) -> Func:
    """Return the convolution of an image that tiles of 4 x 4 do not divide."""
    return conv2d_nhwc(at["edge"], at["edge"], IN, OUT)


def products(n: int, m: int) -> int:
    """Multiplications of data with weights in tiles of m x m."""
    return (-(-n // m)) ** 2 * (m + 2) ** 2 * IN * OUT


def _tiles(s: Schedule, at: Setting) -> None:
    s.winograd("conv", 4)
    s.compute_at("conv.T", "conv.V_ty")
    s.compute_at("conv.Y", "conv.out_h")


def _few(s: Schedule, at: Setting) -> tuple[bool, str]:
    share = stages(s.func)["conv"].runs / multiplications(at["edge"])
    return share <= 0.3, f"The product does {share:.1%} of the direct multiplications."


TILES = Exercise(
    name="tiles",
    title="Whole tiles",
    task=lambda at: (
        f"Now the image has {at['edge']} x {at['edge']} pixels ({IN} channels, {OUT} output channels). The step "
        "winograd(block, m) makes tiles of m x m results; each takes (m + 2) x (m + 2) multiplications for every pair "
        "of channels, and a tile that reaches beyond the image is computed as a whole. How many multiplications does "
        "the product take with m = 2, and with m = 4? How many times as much memory do the weights take with m = 4?\n\n"
        "Then do it. The transforms are stages of their own: conv.T and conv.V of the image, along rows and columns, "
        "conv.Y and conv.out of the products. Leave at most 30 % of the multiplications, and let conv.T and conv.Y "
        f"keep at most {ROOM // KIB} KiB each, with nothing computed twice."
    ),
    predictions=(
        Prediction(
            "two",
            "How many multiplications does the product take with m = 2?",
            lambda at: products(at["edge"], 2),
            misconceptions=(
                Misconception(lambda at: multiplications(at["edge"]), "That is the direct convolution."),
                Misconception(lambda at: products(at["edge"], 2) / (IN * OUT), "For every pair of channels."),
                Misconception(lambda at: 4 * products(at["edge"], 2), "There is a tile for each m x m results."),
                Misconception(lambda at: products(at["edge"], 2) // 4, "A tile has m + 2 numbers along each side."),
            ),
            wrong="Tiles, times elements of a tile, times input channels, times output channels.",
        ),
        Prediction(
            "four",
            "How many multiplications does the product take with m = 4?",
            lambda at: products(at["edge"], 4),
            misconceptions=(
                Misconception(
                    lambda at: at["edge"] ** 2 // 4 * 9 * IN * OUT,
                    "That would be so if tiles divided the image. What about those at the edge?",
                ),
                Misconception(
                    lambda at: (at["edge"] // 4) ** 2 * 36 * IN * OUT, "The pixels at the edge need tiles as well."
                ),
                Misconception(lambda at: products(at["edge"], 2), "That is m = 2."),
            ),
            wrong="How many tiles of 4 begin along a side?",
        ),
        Prediction(
            "weights",
            "How many times as much memory do the weights take with m = 4?",
            4,
            misconceptions=(
                Misconception(2.25, "That is right for the image: 36 numbers for 16 pixels. A kernel has 9."),
                Misconception(1, "They are transformed as well: as many numbers as a tile has, for each pair."),
                Misconception(36, "A kernel had 9 numbers before."),
                Misconception(16 / 9, "That is m = 2."),
            ),
        ),
    ),
    work=Nest(uneven, _tiles),
    goals=(
        Goal("The product does at most 30 % of the direct multiplications.", _few),
        kept_at_most(ROOM, "conv.T", "conv.Y"),
        NOTHING_TWICE,
    ),
    hints=(
        "s.winograd('conv', 4) gives back the names of the stages. Each reads the one above it in the table.",
        "conv.V reads conv.T of its own row of tiles only; conv.out reads conv.Y of its own row of pixels.",
        "s.compute_at('conv.T', 'conv.V_ty') and s.compute_at('conv.Y', 'conv.out_h').",
    ),
    why="A tile of 4 x 4 takes 36 multiplications where 144 are needed directly, a quarter; tiles at the edge waste "
    "some of it. The rest of the price: weights grow from 9 numbers to 36 per pair of channels, the image from 16 to "
    "36 per tile, and there are four transforms, which are additions and bytes.",
    variants=SIZES,
)


EXACT = Exercise(
    name="exact",
    title="Which results are exact",
    task="Take an image and kernels of integers from -8 to 8. float32 holds every integer up to 16,777,216 exactly, "
    "and halves and quarters of smaller ones as well. The weights are transformed with halves for m = 2 (quarters in "
    f"two dimensions), and with sixths and 24ths for m = 4. With {IN} input channels: can rounding change the results "
    "of the direct convolution? Of Winograd's algorithm with m = 2, with m = 4? And which of the three do you expect "
    "to have the largest error on real data?",
    predictions=(
        Prediction(
            "direct",
            "Direct, with integers: can rounding change the result?",
            "no",
            choices=("yes", "no"),
            misconceptions=(Misconception("yes", f"How large can a sum of {9 * IN} products of up to 64 become?"),),
        ),
        Prediction(
            "two",
            "m = 2, with integers: can rounding change the result?",
            "no",
            choices=("yes", "no"),
            misconceptions=(
                Misconception("yes", "Quarters are exact in binary. How large do the sums become, in quarters?"),
            ),
        ),
        Prediction(
            "four",
            "m = 4, with integers: can rounding change the result?",
            "yes",
            choices=("yes", "no"),
            misconceptions=(Misconception("no", "Write a sixth as a binary fraction: does it end?"),),
        ),
        Prediction(
            "largest",
            "Which has the largest error on real data?",
            "m = 4",
            choices=("direct", "m = 2", "m = 4"),
            misconceptions=(
                Misconception(
                    "direct", "More additions, but of numbers of the same size. Which factors do transforms have?"
                ),
                Misconception("m = 2", "Its factors are 1 and 1/2. Which ones do larger tiles need?"),
            ),
        ),
    ),
    hints=(
        f"{9 * IN} products of at most 64 each: compare their sum with 16,777,216.",
        "A fraction is exact in binary if its denominator is a power of two, and there are bits enough.",
    ),
    why="As long as every number on the way fits in 24 bits, float32 is exact, in any order. Halves and quarters fit; "
    "a sixth does not. On real data all three round; with m = 4 the transforms subtract large multiples of each other "
    "(factors up to 8), so that errors grow. This is why larger tiles are rare, and rarer in float16.",
)
