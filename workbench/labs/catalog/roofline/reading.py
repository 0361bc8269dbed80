"""Exercises on reading a roofline: intensity, ridge, and what bounds which kernel."""

from __future__ import annotations

from workbench.labs.exercise import Exercise, Misconception, Prediction

#: Rows and columns of the matrices.
SIZES = {"n": (384, 480, 576)}
#: A core to think of: the most GFLOP/s that its arithmetic gives, and the GB/s of its memory.
CORE = {"peak": (100, 120, 160), "memory": (10, 8, 16)}


INTENSITY = Exercise(
    name="intensity",
    title="Operations per byte",
    task=lambda at: (
        "The arithmetic intensity of a kernel is the number of its operations over the bytes that it moves to and "
        "from memory. Count what has to be moved at least: each input is read once, each result is written once.\n\n"
        "C[i] = 2 * A[i] + B[i] on long arrays of float32: how many operations per byte? And the product of two "
        f"matrices of {at['n']} x {at['n']}, if each matrix is moved once?"
    ),
    predictions=(
        Prediction(
            "vectors",
            "How many operations per byte has C[i] = 2 * A[i] + B[i]?",
            2 / 12,
            "FLOP/B",
            (
                Misconception(2 / 8, "C has to be written, too."),
                Misconception(2 / 3, "These are operations per number. How many bytes has a number?"),
                Misconception(6, "That is bytes per operation."),
                Misconception(1 / 12, "A multiplication and an addition are two operations."),
            ),
            wrong="Two operations for each element; which numbers does it read, which does it write?",
        ),
        Prediction(
            "matrices",
            "How many operations per byte has the matrix product?",
            lambda at: at["n"] / 6,
            "FLOP/B",
            (
                Misconception(
                    lambda at: at["n"] / 12, "Each of the n * n * n steps is a multiplication and an addition."
                ),
                Misconception(lambda at: 2 * at["n"] / 3, "These are operations per number. A number has 4 bytes."),
                Misconception(lambda at: at["n"] / 4, "Three matrices are moved: A and B are read, C is written."),
                Misconception(
                    0.25, "That is without any reuse: here each element of A and B is read from memory only once."
                ),
            ),
            wrong="2 * n * n * n operations; three matrices of n * n numbers of 4 bytes.",
        ),
    ),
    hints=(
        "Write down both numbers for one element, or for the whole: operations, then bytes. Then divide.",
        "Per element of C the first kernel does 2 operations, reads 8 bytes and writes 4.",
        "The product does 2 n³ operations and moves 3 n² numbers of 4 bytes.",
    ),
    why="Element-wise kernels do a fixed number of operations per byte, whatever their size. The operations of a "
    "product grow with the third power, its data with the second: the larger, the more operations per byte.",
    variants=SIZES,
)


RIDGE = Exercise(
    name="ridge",
    title="Two roofs",
    task=lambda at: (
        f"Think of a core whose arithmetic gives at most {at['peak']} GFLOP/s and whose memory gives {at['memory']} "
        "GB/s. A kernel with an intensity of x operations per byte cannot be faster than x times the memory's GB/s, "
        "and never faster than the arithmetic. At which intensity do the two roofs meet (the ridge)? How fast can a "
        "kernel with 0.25 operations per byte be? And one with 50?"
    ),
    predictions=(
        Prediction(
            "ridge",
            "At which intensity do the two roofs meet?",
            lambda at: at["peak"] / at["memory"],
            "FLOP/B",
            (
                Misconception(lambda at: at["memory"] / at["peak"], "That is bytes per operation."),
                Misconception(lambda at: at["peak"] * at["memory"], "GFLOP/s over GB/s gives operations per byte."),
                Misconception(lambda at: at["peak"], "That is the height of the roof, not where it begins."),
            ),
        ),
        Prediction(
            "low",
            "How fast can a kernel with 0.25 operations per byte be?",
            lambda at: at["memory"] / 4,
            "GFLOP/s",
            (
                Misconception(lambda at: at["peak"] / 4, "The intensity is multiplied by what memory gives."),
                Misconception(lambda at: 4 * at["memory"], "A quarter of an operation per byte, not four."),
                Misconception(lambda at: at["peak"], "Memory does not give as many bytes per second as this needs."),
                Misconception(lambda at: at["memory"], "That would be one operation per byte."),
            ),
        ),
        Prediction(
            "high",
            "How fast can a kernel with 50 operations per byte be?",
            lambda at: at["peak"],
            "GFLOP/s",
            (Misconception(lambda at: 50 * at["memory"], "Memory would give enough for that. Does the arithmetic?"),),
        ),
    ),
    hints=(
        "Draw it: to the left of the ridge the roof rises with the intensity, to the right it is flat.",
        "The roofs meet where intensity times GB/s is as much as the arithmetic gives.",
    ),
    why="Left of the ridge, time is bytes over the memory's speed, and faster arithmetic changes nothing. Right of it, "
    "time is operations over the arithmetic's speed, and faster memory changes nothing.",
    variants=CORE,
)


BOUND = Exercise(
    name="bound",
    title="What bounds which kernel",
    task=lambda at: (
        f"The same core: {at['peak']} GFLOP/s, {at['memory']} GB/s. Data are large and come from memory. What bounds "
        "the product of a matrix and a vector, a 3 x 3 convolution from 64 to 64 channels (each result is a sum over "
        "3 * 3 pixels of 64 channels, for each of 64 output channels), and ReLU (max(x, 0) of every number)?"
    ),
    predictions=(
        Prediction(
            "matvec",
            "What bounds the product of a matrix and a vector?",
            "memory",
            choices=("memory", "arithmetic"),
            misconceptions=(
                Misconception("arithmetic", "How often is each element of the matrix used, once it has been read?"),
            ),
        ),
        Prediction(
            "convolution",
            "What bounds the convolution?",
            "arithmetic",
            choices=("memory", "arithmetic"),
            misconceptions=(
                Misconception("memory", "Each input goes into 9 * 64 products. How many operations per byte are that?"),
            ),
        ),
        Prediction(
            "relu",
            "What bounds ReLU?",
            "memory",
            choices=("memory", "arithmetic"),
            misconceptions=(
                Misconception("arithmetic", "One comparison per number that is read and written: 8 bytes."),
            ),
        ),
    ),
    hints=(
        "Ask of each number that comes from memory: in how many operations is it used?",
        "A matrix times a vector: 2 operations per element of 4 bytes, half an operation per byte.",
    ),
    why="Half an operation per byte, well over a hundred, and an eighth: left, right and left of the ridge.",
    variants=CORE,
)
