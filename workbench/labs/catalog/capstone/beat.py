"""The exercise that the lab is for: a schedule of the layer by hand, against the tuner's."""

from __future__ import annotations

from workbench.analysis import estimate
from workbench.analysis.cache.levels import KIB
from workbench.labs.catalog.capstone.layer import CACHE, OUT, SIDE, SIZES, THREADS, of, run, score, to_beat
from workbench.labs.catalog.capstone.register_tiles import FAST, columns
from workbench.labs.counting import LINE
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import NO_SHARED_LINES, busy_at_least, kept_at_most
from workbench.schedule import Schedule

#: Bytes of results that may be kept until the ReLU has read them: the layer is one pass.
ROOM = 8 * KIB
#: Estimated cycles that a schedule may have, times the tuner's.
NEAR = 1.15
#: Lines that a schedule may fetch, times the tuner's: the tuner's tile in another order of rows does not reach it.
FEWER = 0.96
#: Input channels that the solution goes through before it comes to the next tile.
CHUNK = 64


def _near(s: Schedule, at: Setting) -> tuple[bool, str]:
    ratio = estimate(s).cycles / to_beat(at["c"], at.target)[1]
    return ratio <= NEAR, f"The model estimates {ratio:.2f} times the tuner's cycles."


def _misses(s: Schedule, at: Setting) -> tuple[bool, str]:
    found, tuned = run(s).misses(CACHE.name), to_beat(at["c"], at.target)[0]
    good = found <= FEWER * tuned
    end = "." if good else f"; at most {FEWER * tuned:,.0f} are wanted."
    return good, f"{found:,} lines are fetched; the tuner's schedule fetches {tuned:,}{end}"


def _beaten(s: Schedule, at: Setting) -> tuple[bool, str]:
    found = score(s)
    return found > 100, f"The score is {found:.1f}; the tuner's is 100."


def _by_hand(s: Schedule, at: Setting) -> None:
    s.compute_inline("bias_add")
    outer, inner = s.split("o", [None, columns(at)])
    chunk, c = s.split("c", [None, CHUNK])
    s.reorder("h", chunk, outer, "kh", "kw", c, "w", inner)
    s.unroll("w")
    s.vectorize(inner)
    s.reverse_compute_at("relu", "h")
    _, vector = s.split("relu_o", [None, at.lanes])
    s.vectorize(vector)
    s.parallel("n", "h")


def _lines(at: Setting) -> int:
    return at["c"] * OUT * 4 // LINE


HAND = Exercise(
    name="hand",
    title="By hand, against the tuner",
    task=lambda at: (
        "Now schedule the whole layer: convolution, bias, ReLU. It is compared with the tuner's schedule by what is "
        "counted: simulated misses of a cache of 32 KiB, and cycles of the analytic model from which the tuner's "
        "search starts. The score is the geometric mean of both ratios, the tuner's over yours, times 100.\n\n"
        f"Before you start: how many cache lines has W? If each of {SIDE} rows of pixels goes through all of W, and "
        "nothing of it is left in the cache for the next row, how many lines of W are fetched? With these rows as "
        f"iterations for {THREADS} threads, which share of their time is work?"
    ),
    predictions=(
        Prediction(
            "lines",
            "How many cache lines has W?",
            _lines,
            misconceptions=(
                Misconception(lambda at: at["c"] * OUT // LINE, "A line has 64 bytes, not 64 numbers."),
                Misconception(lambda at: at["c"] * OUT, "That is how many numbers W has. How many are in a line?"),
                Misconception(lambda at: at["c"] * OUT * 4, "That is how many bytes W has. How many does a line have?"),
            ),
        ),
        Prediction(
            "fetched",
            "How many lines of W are fetched?",
            lambda at: SIDE * _lines(at),
            misconceptions=(
                Misconception(_lines, "That would be enough if the cache held W."),
                Misconception(lambda at: SIDE * SIDE * _lines(at), f"The {SIDE} pixels of a row share what is loaded."),
                Misconception(lambda at: SIDE * at["c"] * OUT, "Neighbouring numbers come in one line."),
            ),
        ),
        Prediction(
            "share",
            "Which share of the threads' time is work?",
            100 * SIDE / (2 * 7),
            "%",
            (
                Misconception(100, "13 is odd: in the last round somebody waits."),
                Misconception(50, "Only in the last round one of two waits."),
                Misconception(100 - 100 * SIDE / (2 * 7), "That is the share that is waiting. The rest is work."),
            ),
            wrong="Iterations, over threads times rounds.",
        ),
    ),
    work=Nest(of, _by_hand),
    goals=(
        *FAST,
        kept_at_most(ROOM),
        busy_at_least(0.9, THREADS),
        NO_SHARED_LINES,
        Goal(f"The model estimates at most {NEAR:g} times the tuner's cycles.", _near),
        Goal(f"At least {1 - FEWER:.0%} fewer lines are fetched than by the tuner's schedule.", _misses),
        Goal("The score is above 100: the tuner is beaten.", _beaten, points=2),
    ),
    hints=(
        "Begin with the tile of the repair, inline bias_add, bring relu into a loop of conv, make an outer loop "
        "parallel; parallel takes n and the loop inside of it. That reaches most goals.",
        "Which lines are fetched more often than once per row? card(s) says it for X and W. A row of X is read again "
        "for each tile of output channels; is it still in the cache then?",
        f"Cut c as well: with {CHUNK} channels at a time, what all tiles of a row read of X and W fits in the cache.",
        "The order h, c.0, o.0, kh, kw, c.1, w, o.1, with relu at h.",
    ),
    why="The tuner's tile was right; the order around it left something over. With the channels cut, the next tile of "
    "output channels reads the same piece of a row of X again while it is in the cache, and the other half of a line "
    "of W, where a vector is half a line. What it costs: sums are stored and loaded once per piece. Score and time "
    "need not agree: the tuner chose by the clock, and neither the model nor the cache knows of prefetching.",
    variants=SIZES,
)
