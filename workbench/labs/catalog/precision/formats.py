"""Exercises on numbers of 16 bits: what a bfloat16 keeps, and where the sum of products is kept."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from workbench.arguments import shown
from workbench.labs.exercise import Exercise, Function, Misconception, Prediction
from workbench.labs.goals import Case, right_for

#: Rows and columns of the weights whose memory is asked for.
SIDE = 2048
#: Terms of the products that are added up.
TERMS = 4096


def to_bfloat16(bits: int) -> int:
    """Round to the nearest bfloat16; of two that are as near, to the one whose last bit is 0."""
    half, rest = bits >> 16, bits & 0xFFFF
    up = rest > 0x8000 or (rest == 0x8000 and half % 2 == 1)
    return half + up


#: Bits of float32 numbers, and of the bfloat16 nearest to each.
ROUNDED = {
    "numbers that are a bfloat16 already": ((0, 0), (0x3F800000, 0x3F80), (0xC0490000, 0xC049), (0x7F800000, 0x7F80)),
    "numbers that are nearer to one side": (
        (0x3F807FFF, 0x3F80),
        (0x3F808001, 0x3F81),
        (0x40490FDB, 0x4049),
        (0xBF80C000, 0xBF81),
    ),
    "numbers in the middle": ((0x3F808000, 0x3F80), (0x3F818000, 0x3F82), (0xBF838000, 0xBF84)),
    "numbers that round up to the next power of two": (
        (0x3FFFFFFF, 0x4000),
        (0x3FFF8000, 0x4000),
        (0x7F7FFFFF, 0x7F80),
    ),
}


def _bits(sample: str) -> list[Case]:
    return [((given,), wanted, hex(given)) for given, wanted in ROUNDED[sample]]


def _hex(found: object) -> str:
    return hex(int(found)) if isinstance(found, Integral) else shown(found)


FORMATS = Exercise(
    name="formats",
    title="What a bfloat16 keeps",
    task="A float32 has 1 bit for the sign, 8 for the exponent and 23 for the fraction. A bfloat16 is its upper half: "
    "1, 8 and 7 bits. A float16 also has 16 bits, but 1, 5 and 10. How far is the next bfloat16 after 1 from 1? "
    f"Which of the two formats of 16 bits holds 100,000, if it may be rounded? How much memory do {SIDE:,} × {SIDE:,} "
    "weights take in bfloat16?\n\n"
    "Then write to_bfloat16(bits): it gets the 32 bits of a float32 as an int, and returns the 16 bits of the nearest "
    "bfloat16. Of two that are as near, it takes the one whose last bit is 0. No NaN is given.",
    predictions=(
        Prediction(
            "step",
            "How far is the next bfloat16 after 1 from 1?",
            2.0**-7,
            misconceptions=(
                Misconception(2.0**-8, "That is the largest rounding error there: half the distance."),
                Misconception(2.0**-10, "That is the distance in float16, whose fraction has 10 bits."),
                Misconception(2.0**-23, "That is the distance in float32. How many bits has the fraction here?"),
                Misconception(2.0**-16, "Not all of the 16 bits are fraction."),
                Misconception(1 + 2.0**-7, "That is the number itself. How far is it from 1?"),
            ),
        ),
        Prediction(
            "holds",
            "Which format of 16 bits holds 100,000, rounded?",
            "bfloat16",
            choices=("bfloat16", "float16", "both"),
            misconceptions=(
                Misconception("float16", "With 5 bits of exponent, 65,504 is the largest number. Which has 8 bits?"),
                Misconception("both", "With 5 bits of exponent, 65,504 is the largest number of the one."),
            ),
        ),
        Prediction(
            "memory",
            f"How much memory do {SIDE:,} × {SIDE:,} weights take in bfloat16?",
            SIDE * SIDE * 2 / 2**20,
            "MiB",
            (
                Misconception(SIDE * SIDE * 4 / 2**20, "That is what they take in float32."),
                Misconception(SIDE * SIDE / 2**20, "That would be one byte each. How many bytes are 16 bits?"),
                Misconception(SIDE * SIDE * 16 / 2**20, "That is in mebibits. A byte has 8 bits."),
            ),
        ),
    ),
    work=Function("to_bfloat16", to_bfloat16),
    goals=tuple(right_for(f"Right for {sample}.", _bits(sample), show=_hex) for sample in ROUNDED),
    hints=(
        "bits >> 16 is the upper half, bits & 0xFFFF what is cut off. Its middle is 0x8000.",
        "What is cut off is less than 0x8000: the upper half. More: the upper half + 1. Just 0x8000: to the even one.",
        "A carry into the exponent needs nothing: the next number after the largest fraction is the next power of two.",
    ),
    why="Cutting off would always round towards 0, and errors of many numbers would add up instead of cancelling. The "
    "exponent has as many bits as that of a float32, so nothing that fits into the one is too large for the other "
    "(but for the last few, which round to infinity), and that is why networks rarely need other changes.",
)


# ------------------------------------------------------------------------------------------------ where the sum is kept


def _dot(x: Any, y: Any) -> Any:
    total = np.float32(0)
    for a, b in zip(x, y, strict=True):
        total += np.float32(a) * np.float32(b)
    return float(total)


def _pairs(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors of bfloat16: ones, or positive numbers, or numbers of both signs that are the same every time."""
    draw = np.random.default_rng(TERMS)
    if kind == "ones":
        return np.ones(TERMS, bfloat16), np.ones(TERMS, bfloat16)
    least = 0.0 if kind == "positive numbers" else -1.0
    x, y = draw.uniform(least, 1, (2, TERMS))
    return x.astype(bfloat16), y.astype(bfloat16)


def _products(kind: str) -> list[Case]:
    x, y = _pairs(kind)
    return [((x, y), float(x.astype(float) @ y.astype(float)), f"{TERMS:,} {kind}")]


SUMS = Exercise(
    name="sums",
    title="Where the sum is kept",
    task="A product of two matrices in bfloat16 adds many products up. Suppose that the sum is a bfloat16 as well, and "
    "that ones are added to it, one after the other: at which number does it stop growing? How many significant bits "
    "has the product of two bfloat16 numbers at most (each has 8: 7 bits of fraction, and the 1 before it)? Does a "
    "float32, which has 24, hold every such product exactly, as long as it is in its range?\n\n"
    f"Then write dot(x, y), the sum of the products of two vectors of {TERMS:,} bfloat16 numbers, which may be off by "
    "one part in ten thousand. (x * y).sum() is a bfloat16, and so is everything on the way to it: try it.",
    predictions=(
        Prediction(
            "stops",
            "At which number does a sum of ones in bfloat16 stop growing?",
            256,
            misconceptions=(
                Misconception(128, "From 128 to 256, neighbours are 1 apart: a one still counts."),
                Misconception(255, "255 + 1 is a bfloat16, exactly. Does the next one count?"),
                Misconception(65504, "That is the largest float16. Where are neighbours 2 apart?"),
                Misconception(2**24, "That is where a float32 stops. How many bits has the fraction here?"),
                Misconception(512, "Neighbours are 2 apart well before. What does a one do there?"),
            ),
            within=0,
        ),
        Prediction(
            "bits",
            "How many significant bits has the product of two bfloat16 numbers at most?",
            16,
            "bits",
            misconceptions=(
                Misconception(8, "That is one factor. 99 × 99 has more digits than 99."),
                Misconception(14, "The 1 before the fraction counts as well."),
                Misconception(32, "Only significant bits are multiplied, not all 16 of each."),
                Misconception(15, "Take the largest factors: (2**8 - 1) ** 2."),
            ),
            within=0,
        ),
        Prediction(
            "exact",
            "Does a float32 hold every such product exactly?",
            "yes",
            choices=("yes", "no"),
            misconceptions=(Misconception("no", "Compare the bits of the product with those of a float32."),),
        ),
    ),
    work=Function("dot", _dot),
    goals=tuple(
        right_for(f"The sum is right for {kind}.", _products(kind), 1e-4)
        for kind in ("ones", "positive numbers", "numbers of both signs")
    ),
    hints=(
        "x.astype('float32') are the same numbers, and sums of them are float32.",
        "Convert before you multiply: a product that was rounded to bfloat16 stays rounded.",
    ),
    why="256 + 1 lies in the middle of 256 and 258, and rounds to the even one. Products are exact in a float32, so "
    "only the sum rounds, with 24 bits. That is what instructions for bfloat16 do: they take bfloat16 numbers and add "
    "up in float32; the result is rounded once, when it is stored.",
)
