"""The layer of the lab, what its nests are judged by, and the exercise on the direct convolution."""

from __future__ import annotations

from workbench.ir import Func
from workbench.labs.exercise import Exercise, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import FITS, accumulators, pieces, whole_vectors
from workbench.schedule import Schedule
from workbench.workloads import conv2d_nhwc

#: Channels of the image and of the result.
IN, OUT = 16, 32
#: Rows and columns of the image.
SIZES = {"n": (28, 20, 36)}
#: Pixels of a tile of results.
PIXELS = 4


def layer(at: Setting) -> Func:
    """Return the convolution of the student's image: kernels of 3 by 3, a frame of zeros, stride 1."""
    return conv2d_nhwc(at["n"], at["n"], IN, OUT)


#: Goals of every product in this lab.
FAST = (whole_vectors(), pieces(), accumulators(PIXELS), FITS)


def multiplications(n: int) -> int:
    """Multiplications of the direct convolution of an image of n by n."""
    return n * n * OUT * 9 * IN


def _direct(s: Schedule, at: Setting) -> None:
    w0, w1 = s.split("w", [None, PIXELS])
    o0, o1 = s.split("o", [None, at.lanes])
    s.reorder("h", w0, o0, "kh", "kw", "c", w1, o1)
    s.unroll(w1)
    s.vectorize(o1)


DIRECT = Exercise(
    name="direct",
    title="Seven loops",
    task=lambda at: (
        f"An image of {at['n']} x {at['n']} pixels with {IN} channels, {OUT} output channels, kernels of 3 x 3, a "
        "frame of zeros. Channels lie side by side in memory: the last index of the image, of W and of the result. "
        "How many multiplications are there, those with zeros of the frame counted as well? How often is one number of "
        "the image (not at the edge) used? Which loop should become the vector?\n\n"
        f"Then order the seven loops: at least {PIXELS} vectors of sums stay in registers while kh, kw and c run."
    ),
    predictions=(
        Prediction(
            "multiplications",
            "How many multiplications are there?",
            lambda at: multiplications(at["n"]),
            misconceptions=(
                Misconception(lambda at: multiplications(at["n"]) / 9, "A kernel has more than one element."),
                Misconception(lambda at: multiplications(at["n"]) / IN, "The sum goes over input channels as well."),
                Misconception(lambda at: multiplications(at["n"]) / OUT, "That is one output channel."),
                Misconception(lambda at: 2 * multiplications(at["n"]), "Additions are not asked for."),
                Misconception(
                    lambda at: multiplications(at["n"] + 2), "The frame is read, but no result is computed there."
                ),
            ),
            wrong="Multiply the extents of the seven loops of conv.",
        ),
        Prediction(
            "uses",
            "How often is one number of the image used?",
            9 * OUT,
            misconceptions=(
                Misconception(9, "That is how many pixels of the result need it, each in several channels."),
                Misconception(OUT, "That is how many channels need it, each at several pixels."),
                Misconception(
                    9 * IN, "That is how many numbers go into one result. Into how many results does one number go?"
                ),
                Misconception(1, "Neighbouring results share what they read."),
            ),
        ),
        Prediction(
            "loop",
            "Which loop should become the vector?",
            "o",
            choices=("w", "o", "c"),
            misconceptions=(
                Misconception("w", "How far apart is the next pixel in memory, when channels lie side by side?"),
                Misconception("c", "All steps of c add to the same result: that would need another order of the sum."),
            ),
        ),
    ),
    work=Nest(layer, _direct),
    goals=FAST,
    hints=(
        "What stays while the sums run lies inside of kh, kw and c: some pixels (unrolled) and a vector of channels.",
        lambda at: (
            f"Split w by {PIXELS} and o by {at.lanes}; s.reorder('h', 'w.0', 'o.0', 'kh', 'kw', 'c', 'w.1', 'o.1')."
        ),
        "s.unroll('w.1') and s.vectorize('o.1') at the end.",
    ),
    why=f"{9 * OUT} uses of every number are plenty: the direct convolution needs no copy to be a product that is kept "
    "in registers. With channels last, a vector of output channels is one piece of the kernels and one of the result, "
    "and the number of the image is shared by all lanes.",
    variants=SIZES,
)
