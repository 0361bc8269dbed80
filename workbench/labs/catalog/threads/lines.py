"""Exercises on cache lines that threads take from each other, and on a sum by several threads."""

from __future__ import annotations

from workbench.ir import Func
from workbench.labs.catalog.threads.work import N, product
from workbench.labs.counting import PER_LINE, shared_lines
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import NO_SHARED_LINES, parallel_iterations
from workbench.schedule import Schedule
from workbench.workloads import reduce

#: Rows that are summed, of 2,048 numbers each.
SIZES = {"rows": (256, 512, 384)}
#: Columns of C in one iteration of the nest that has to be repaired.
NARROW = 4
#: Parts of the long sum.
PARTS = 16
LONG = 1 << 20


def _rows(at: Setting) -> Func:
    return reduce(at["rows"], 2048)


def _by_line(s: Schedule, at: Setting) -> None:
    outer, _ = s.split("i", [None, PER_LINE])
    s.parallel(outer)


SHARING = Exercise(
    name="sharing",
    title="False sharing",
    task=lambda at: (
        f"Y[i] (float32) is the sum of row i, of {at['rows']} rows. Say that i is parallel: each iteration has "
        "a row, and no two iterations write the same element. But memory moves in lines of 64 bytes, and a core has "
        "to own a whole line to write into it: two threads that write different elements of a line take it from each "
        "other all the time. How many elements of Y are in a line? How many lines of Y are written by more than "
        "one iteration?\n\n"
        "Then make the loop over the rows parallel in such a way that no two iterations write the same line."
    ),
    predictions=(
        Prediction(
            "together",
            "How many elements of Y are in a line?",
            PER_LINE,
            misconceptions=(
                Misconception(64, "That is how many bytes a line has. How many has a float32?"),
                Misconception(8, "That is right for float64 numbers. How many bytes has a float32?"),
                Misconception(1, "Elements of Y lie one behind the other."),
            ),
            within=0,
        ),
        Prediction(
            "shared",
            "How many lines of Y are written by more than one iteration?",
            lambda at: at["rows"] // PER_LINE,
            misconceptions=(
                Misconception(0, "No element is written twice, but a line has many elements."),
                Misconception(lambda at: at["rows"], "That is how many elements Y has. How many lines are these?"),
                Misconception(lambda at: at["rows"] // PER_LINE - 1, "Every line of Y has several elements."),
            ),
            within=0,
        ),
    ),
    work=Nest(_rows, _by_line),
    goals=(NO_SHARED_LINES, parallel_iterations(8)),
    hints=(
        "An iteration has to write whole lines: as many neighbouring rows as a line has elements.",
        f"s.split('i', [None, {PER_LINE}]) and s.parallel('i.0').",
    ),
    why="With 16 rows per iteration each line of Y has one writer. Here a result is written once per row, so false "
    "sharing costs little; where sums stay in memory and are written at each step, it can cost more than threads "
    "give.",
    variants=SIZES,
)


def _narrow(at: Setting) -> Schedule:
    s = Schedule(product(at), at.target)
    outer, inner = s.split("j", [None, NARROW])
    s.reorder(outer, "k", "i", inner)
    s.parallel(outer)
    return s


def _wide(s: Schedule, at: Setting) -> None:
    s.undo(len(s.trace))
    outer, inner = s.split("i", [None, 8])
    s.reorder(outer, "k", inner, "j")
    s.parallel(outer)


REPAIR = Exercise(
    name="repair",
    title="Repair: a product in narrow columns",
    task=f"Somebody has given blocks of {NARROW} columns of C to threads, with k outside of i: C is loaded and stored "
    "at every step of k. How many iterations write the same line of C? How many lines of C are written by more than "
    "one?\n\n"
    "Mend it: no line of C has two writers, at least 8 iterations.",
    predictions=(
        Prediction(
            "writers",
            "How many iterations write the same line of C?",
            PER_LINE // NARROW,
            misconceptions=(
                Misconception(PER_LINE, "That would be one column per iteration."),
                Misconception(N // NARROW, "That is the number of blocks. A line has only 16 columns."),
                Misconception(1, "A line has 16 columns of C, an iteration fewer."),
            ),
            within=0,
        ),
        Prediction(
            "lines",
            "How many lines of C are written by more than one iteration?",
            N * N // PER_LINE,
            misconceptions=(
                Misconception(N // PER_LINE, "That is how many lines a row of C has. How many rows are there?"),
                Misconception(N * N, "That is how many elements C has. How many lines are these?"),
                Misconception(0, "A line of C reaches over several blocks of columns."),
            ),
            wrong="How many lines has all of C? Is there one that a single iteration writes?",
        ),
    ),
    work=Nest(_narrow, _wide),
    goals=(NO_SHARED_LINES, parallel_iterations(8)),
    hints=(
        "Rows of C begin with a new line here. Which loop should the threads share?",
        "s.undo(n) takes n steps back. Then blocks of rows: split i, bring i.0 outside, parallel.",
        "Columns would do as well, in blocks of 16 or more.",
    ),
    why="Blocks of rows are whole lines. The narrow columns had four writers for each line, at each of 512 steps of k.",
)


def _long(at: Setting) -> Func:
    return reduce(1, LONG)


def _parts(s: Schedule, at: Setting) -> None:
    outer, _ = s.split("k", [None, LONG // PARTS])
    s.rfactor(outer)
    s.parallel("i", outer)


def _parallel_sums(s: Schedule, at: Setting) -> tuple[bool, str]:
    found = [name for name, stage in shared_lines(s.func).items() if stage.iterations > 1]
    return len(found) == 1, f"Stages with parallel iterations: {', '.join(found) or 'none'}."


SUM = Exercise(
    name="sum",
    title="One sum, many threads",
    task=f"One row of {LONG:,} numbers: the only result is a sum, and k may not be parallel. `rfactor` gives each "
    f"iteration of a loop a sum of its own: split k into {PARTS} parts, `s.rfactor` the outer loop, and make it "
    "parallel. How many numbers has a part? "
    f"The {PARTS} partial sums lie in one cache line: is that a problem, if each thread keeps its sum in a register "
    "until its part is done?\n\n"
    "(A parallel loop has to be on the outside, and around k.0 there is i, the loop over the only row. So both have "
    "to be parallel: `s.parallel('i', 'k.0')`.)",
    predictions=(
        Prediction(
            "part",
            "How many numbers has a part?",
            LONG // PARTS,
            misconceptions=(
                Misconception(PARTS, "That is the number of parts. How many numbers has one?"),
                Misconception(LONG, "That is all of the row."),
                Misconception(4 * LONG // PARTS, "That is how many bytes a part has. How many has a float32?"),
            ),
        ),
        Prediction(
            "problem",
            "Is it a problem that the partial sums share a line?",
            "no",
            choices=("yes", "no"),
            misconceptions=(
                Misconception("yes", "How often is a partial sum written, if it stays in a register till the end?"),
            ),
        ),
    ),
    work=Nest(_long, _parts),
    goals=(parallel_iterations(8), Goal("One stage of partial sums is parallel.", _parallel_sums)),
    hints=(
        f"s.split('k', [None, {LONG // PARTS}]) makes k.0, the parts, and k.1, the numbers of a part.",
        "s.rfactor('k.0') makes the partial sums independent; then s.parallel('i', 'k.0').",
    ),
    why="Every thread adds up a part of its own, and one of them adds the parts. Each partial sum is written once, so "
    "one shared line costs a fraction of a microsecond in all.",
)
