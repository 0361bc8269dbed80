"""Exercises on bytes: scale and zero point, a scale for each channel, and where to cut a histogram off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.arguments import shown
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Reached, Setting

#: Values, and what they are in words.
SAMPLES = {
    "values of both signs": [-1.0, 0.25, 3.0],
    "positive values": [2.0, 5.1, 3.0],
    "negative values": [-0.3, -2.55],
    "zeros only": [0.0, 0.0],
}


def quantizer(values: Sequence[float]) -> tuple[float, int]:
    """Return (scale, zero point) of a uint8, so that 0 is a value of its own."""
    least, most = min(0.0, *values), max(0.0, *values)
    scale = (most - least) / 255 or 1.0
    return scale, round(-least / scale)


def _right(sample: str) -> Goal:
    values = SAMPLES[sample]

    def reached(work: Any, at: Setting) -> tuple[bool, str]:
        found = work(list(values))
        scale, zero = np.array(found, float).tolist() if np.shape(found) == (2,) else (np.nan, np.nan)
        if not np.isfinite((scale, zero)).all():
            return False, f"quantizer({values}) is {shown(found)}; two numbers are wanted: scale, zero point."
        wanted, at_zero = quantizer(values)
        told = f"quantizer({values}) is a scale of {scale:.6g} and a zero point of {zero:g}"
        if zero != int(zero) or not 0 <= zero <= 255:
            return False, f"{told}; a zero point is a uint8."
        good = abs(scale - wanted) <= 1e-6 * wanted and (zero == at_zero or not any(values))
        return good, f"{told}{'.' if good else f'; {wanted:.6g} and {at_zero} are right.'}"

    return Goal(f"Right for {sample}.", reached)


SCALE = Exercise(
    name="scale",
    title="Scale and zero point",
    task="A byte q stands for the number scale * (q - zero). With uint8, q goes from 0 to 255. For values between -1 "
    "and 3, the smallest becomes 0 and the largest 255. What is the scale? Which q stands for 0, the zero point? By "
    "how much may a value be off when it is rounded to the nearest? And what would the scale be, if one single value "
    "of 101 were among them?\n\n"
    "Write quantizer(values), which returns (scale, zero). 0 has to be inside of the range, even if all values are "
    "positive or all are negative: zeros that pad an image have to be exact. If all values are 0, the scale is 1. The "
    "zero point is rounded to the nearest integer.",
    predictions=(
        Prediction(
            "scale",
            "What is the scale for values between -1 and 3?",
            4 / 255,
            misconceptions=(
                Misconception(3 / 255, "The range begins at -1."),
                Misconception(
                    4 / 256,
                    "From 0 to 255 there are 255 steps.",
                ),
                Misconception(3 / 127, "That would be an int8 whose zero point is 0."),
                Misconception(255 / 4, "That is how many steps one unit has; the scale is how long a step is."),
            ),
            within=0.003,
        ),
        Prediction(
            "zero",
            "Which q stands for 0?",
            64,
            misconceptions=(
                Misconception(0, "0 stands for the smallest value, -1."),
                Misconception(128, "That would be the middle of the range, 1."),
                Misconception(63, "1 / scale is 63.75. Which integer is the nearest?"),
                Misconception(1, "That is the distance of -1 from 0 in units. How many steps is it?"),
                Misconception(63.75, "q is an integer. Which one is the nearest?"),
                Misconception(-64, "-1 becomes q = 0, so 0 lies above it."),
            ),
            within=0,
        ),
        Prediction(
            "off",
            "By how much may a value be off, at most?",
            2 / 255,
            misconceptions=(
                Misconception(4 / 255, "To the nearest: how far is the middle between two neighbours?"),
                Misconception(0.5, "That is in steps. How long is a step?"),
                Misconception(1 / 255, "The range is 4 long."),
            ),
        ),
        Prediction(
            "outlier",
            "What would the scale be with one value of 101?",
            102 / 255,
            misconceptions=(
                Misconception(4 / 255, "The largest value is 101 now."),
                Misconception(
                    101 / 255,
                    "The range begins at -1.",
                ),
                Misconception(105 / 255, "From -1 to 101: how long is that?"),
            ),
            within=0.003,
        ),
    ),
    work=Function("quantizer", quantizer),
    goals=tuple(_right(sample) for sample in SAMPLES),
    hints=(
        "least = min(0, smallest value), most = max(0, largest value); scale = (most - least) / 255.",
        "-least / scale steps lie between the beginning of the range and 0: round that.",
    ),
    why="One value far away makes every step 25 times as long, for all others: that is why rare values may be cut off "
    "(the next exercise). The zero point is rounded, so the range moves by up to half a step; 0 is exact.",
)


# ------------------------------------------------------------------------------------------------ where to cut off

#: Of an int4, without its smallest value.
STEPS = 7
VALUES = 10_000
BINS = 200


def histogram(kind: str) -> tuple[list[int], float]:
    """Return how many absolute values lie in each bin, and how wide the bins are; the same every time."""
    draw = np.random.default_rng(7)
    values = np.abs(draw.laplace(0, 1, VALUES) if kind == "long tails" else draw.normal(0, 1, VALUES))
    if kind == "ten values far away":
        values[:10] = np.linspace(20, 40, 10)
    counts, edges = np.histogram(values, BINS, (0.0, float(values.max())))
    return [int(n) for n in counts], float(edges[1])


def error_of(counts: Sequence[int], width: float, limit: float) -> float:
    """Mean of the squared error, where what is larger than the limit becomes the limit; by the middles of the bins."""
    middles = (np.arange(len(counts)) + 0.5) * width
    lost = np.where(middles > limit, (middles - limit) ** 2, (limit / STEPS) ** 2 / 12)
    return float(np.dot(counts, lost) / sum(counts))


def limit(counts: Sequence[int], width: float) -> float:
    """Return the end of the bin at which cutting off costs least."""

    def error(limit: float) -> float:
        step, total = limit / 7, 0.0
        for k, n in enumerate(counts):
            middle = (k + 0.5) * width
            total += n * ((middle - limit) ** 2 if middle > limit else step**2 / 12)
        return total

    return min((k * width for k in range(1, len(counts) + 1)), key=error)


def _as_good(kind: str) -> Reached:
    def reached(work: Any, at: Setting) -> tuple[bool, str]:
        counts, width = histogram(kind)
        found = float(work(list(counts), width))
        if not 0 < found < float("inf"):
            return False, f"For {kind}, limit() returns {found:g}: nothing is left of the values."
        least = min(error_of(counts, width, k * width) for k in range(1, BINS + 1))
        error = error_of(counts, width, found)
        told = f"For {kind}, cutting off at {found:.3g} gives an error of {error:.3g}"
        return error <= 1.02 * least, f"{told}{'.' if error <= 1.02 * least else f'; {least:.3g} can be had.'}"

    return reached


CLIP = Exercise(
    name="clip",
    title="A scale for each channel, and where to cut off",
    task="Weights are int8 with zero point 0: q from -127 to 127, the largest absolute value becomes 127. One channel "
    "of a convolution has weights up to 2, another one up to 0.02, and all share one scale. How many different values "
    "can q have in the second channel? With a scale (float32) for each channel of 3 × 3 × 64 int8 weights, by what "
    "share does the memory grow? And if activations are cut off at their percentile 99.9, below which 99.9 % of "
    "them lie, how many of 10,000 are cut off?\n\n"
    f"Now activations with 4 bits: q from -{STEPS} to {STEPS}, so cutting off matters more. Write limit(counts, "
    "width): counts[k] of the absolute values lie between k * width and (k + 1) * width. Values above the limit become "
    f"the limit; the others are rounded to steps of limit / {STEPS}. Return the limit, a multiple of width, at which "
    "the mean of the squared error is least. Take every value for the middle of its bin: if it is above the limit, its "
    "error is its distance to the limit; if not, the square of the error is step² / 12 on average.",
    predictions=(
        Prediction(
            "values",
            "How many different values can q have in the second channel?",
            3,
            misconceptions=(
                Misconception(255, "That is the channel with weights up to 2. What is 0.02 / scale, rounded?"),
                Misconception(1, "What is 0.02 / scale, rounded? It is not 0."),
                Misconception(2, "0 is a value as well."),
                Misconception(127, "The scale is 2 / 127 for both. What is 0.02 / scale, rounded?"),
            ),
            within=0,
        ),
        Prediction(
            "grows",
            "By what share does the memory of a channel of 3 × 3 × 64 weights grow with a scale of its own?",
            100 * 4 / 576,
            "%",
            (
                Misconception(100 / 576, "A float32 has 4 bytes."),
                Misconception(100 / 64, "A channel has 3 × 3 × 64 weights."),
                Misconception(100 * 4 / 64, "A channel has 3 × 3 × 64 weights."),
            ),
        ),
        Prediction(
            "cut",
            "How many of 10,000 activations are cut off at the percentile 99.9?",
            10,
            misconceptions=(
                Misconception(1, "That would be the percentile 99.99."),
                Misconception(100, "That would be the percentile 99."),
                Misconception(9990, "That is how many are left."),
            ),
            within=0,
        ),
    ),
    work=Function("limit", limit),
    goals=tuple(
        Goal(f"The error is at most 2 % above the least one for {kind}.", _as_good(kind))
        for kind in ("a bell", "long tails", "ten values far away")
    ),
    hints=(
        "Try every limit k * width, for k from 1 to len(counts), and take the one with the least sum of errors.",
        "For one limit: the sum over all bins of counts[k] times (middle - limit) ** 2 above it, step ** 2 / 12 below.",
    ),
    why="A larger limit makes every step longer, a smaller one cuts more off. With 4 bits, cutting off pays even for a "
    "bell; with 8 bits, steps are so short that the largest value is nearly the best limit, unless others lie far "
    "away. Squares make a few large errors count much. Calibration is the name for choosing limits from samples; "
    "wb.quantize has three: min-max cuts nothing off, percentile a share of the values, and entropy takes the limit at "
    "which the distributions of values and of their bytes differ least (Kullback-Leibler divergence).",
)
