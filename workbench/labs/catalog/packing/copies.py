"""Exercises on what packing gains, and on what the copy costs."""

from __future__ import annotations

from workbench.analysis.cache.levels import KIB
from workbench.labs.catalog.packing.simulated import (
    CACHE,
    DEPTH,
    PAGE,
    SETS,
    SIZES,
    copied,
    lines_of,
    of_b,
    pages,
    product,
    strips,
)
from workbench.labs.counting import PER_LINE
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import kept_at_most
from workbench.schedule import Schedule

#: Pages that a packed strip covers.
STRIP_PAGES = DEPTH * PER_LINE * 4 // PAGE


def lines_at_most(times: float) -> Goal:
    """Return the goal that the lines fetched for B and its copy are at most so many times those of B."""

    def reached(s: Schedule, at: Setting) -> tuple[bool, str]:
        found, lines = of_b(s), lines_of(at["n"])
        good = found <= times * lines
        return good, (
            f"{found:,} lines are fetched for B and copies of it: {found / lines:.3g} times the {lines:,} lines of B"
            f"{'' if good else f'; it has to be at most {times:g} times'}."
        )

    many = f"at most {times:g} times the" if times > 1 else "no more than the"
    whose = "B and its copy" if times > 1 else "B"
    return Goal(lambda at: f"For {whose}, {many} {lines_of(at['n']):,} lines of B are fetched.", reached)


def _most_pages(at: Setting) -> int:
    return STRIP_PAGES * at["n"] // PER_LINE


def _few_pages(s: Schedule, at: Setting) -> tuple[bool, str]:
    found, most = pages(s), _most_pages(at)
    return found <= most, (
        f"Reading B or its copy, the product comes {found:,} times to a page not remembered"
        f"{'' if found <= most else f'; it has to be at most {most:,}'}."
    )


FEW_PAGES = Goal(
    lambda at: (
        f"The product comes at most {_most_pages(at):,} times to a page not remembered, {STRIP_PAGES} for each strip."
    ),
    _few_pages,
)


# --------------------------------------------------------------------------------------------- weights: ahead of time


def _room(at: Setting) -> int:
    """Lines of a strip that the cache has room for."""
    return SETS * PER_LINE // at["n"] * CACHE.each


def _weights(at: Setting) -> Schedule:
    return strips(Schedule(product(at["m"], at["n"], constant=True), at.target))


AHEAD = Exercise(
    name="ahead",
    title="Packed ahead of time",
    task=lambda at: (
        f"A has {at['m']} rows, B has {DEPTH} rows and {at['n']} columns, and the nest goes through B in strips of "
        f"{PER_LINE} columns: for one strip, i runs over all rows of A. The cache has {SETS} sets with room for "
        f"{CACHE.each} lines each; line number L of memory goes into set L % {SETS}, and rows of B are "
        f"{at['n'] // PER_LINE} lines apart. A strip has {DEPTH} lines. How many of them can be in the cache at a "
        "time? So how many times is each line of B fetched as the nest stands?\n\n"
        f"Memory also has pages of {PAGE // KIB} KiB. A core remembers the addresses of a few pages (here the last "
        "16), and has to look up the others. How many pages does a strip touch, row by row? How many when it is "
        "packed?\n\n"
        "B holds weights, which are known ahead of time: here transform_layout changes the layout of B itself, and no "
        "copy is made while the nest runs. Predict, then pack B."
    ),
    predictions=(
        Prediction(
            "room",
            "How many lines of a strip can be in the cache at a time?",
            _room,
            "lines",
            (
                Misconception(
                    CACHE.size // 64, "That is how many lines the cache has. Into which sets may those of a strip go?"
                ),
                Misconception(DEPTH, "That is how many lines the strip has. Which sets do they go into?"),
                Misconception(
                    lambda at: SETS * PER_LINE // at["n"],
                    "That is the number of sets. Each has room for several lines.",
                ),
                Misconception(CACHE.each, "That is one set. Rows go into more than one, in turn."),
            ),
            wrong=lambda at: f"Write down L % {SETS} for L = 0, {at['n'] // PER_LINE}, {at['n'] // 8}, ...",
            within=0,
        ),
        Prediction(
            "times",
            "How many times is each line of B fetched as the nest stands?",
            lambda at: at["m"],
            misconceptions=(
                Misconception(1, "Compare the lines of a strip with the room that you found."),
                Misconception(2, "If something is thrown out, it is always what is wanted next."),
                Misconception(lambda at: at["m"] * 4, "Neighbours in a line are read one after the other."),
            ),
            wrong="For each i the nest goes through the strip once. Is anything found there?",
            within=0,
        ),
        Prediction(
            "pages",
            "How many pages does a strip touch, row by row?",
            lambda at: DEPTH * 4 * at["n"] // PAGE,
            misconceptions=(
                Misconception(
                    1, f"The rows of a strip are not neighbours: how far is it from the first to number {DEPTH}?"
                ),
                Misconception(STRIP_PAGES, "That would be right if its lines were neighbours."),
                Misconception(
                    lambda at: at["n"] // PER_LINE,
                    "That is the number of strips. How many pages does one of them touch?",
                ),
            ),
            wrong=f"A strip goes through all rows of B. How many bytes are {DEPTH} rows?",
            within=0,
        ),
        Prediction(
            "packed",
            "How many pages does a packed strip touch?",
            STRIP_PAGES,
            misconceptions=(
                Misconception(1, f"A strip has {DEPTH} lines of 64 bytes."),
                Misconception(DEPTH, "That is the number of lines. How many of them are in a page?"),
                Misconception(0.5, "A number takes 4 bytes, and no page is touched in part only."),
            ),
            within=0,
        ),
    ),
    work=Nest(_weights, lambda s, at: s.transform_layout("B", 1, PER_LINE)),
    goals=(lines_at_most(1), FEW_PAGES),
    hints=(
        "From row to row, the set moves on by the distance of the rows in lines, and starts again after 128.",
        "s.transform_layout(buffer, dim, block) cuts dimension dim into blocks; the number of the block comes first, "
        "the place inside the block last.",
        "Columns are dimension 1: s.transform_layout('B', 1, 16).",
    ),
    why="A strip is 8 KiB, an eighth of the cache, and yet it does not stay: its lines lie at a distance that is a "
    "power of two and go into few sets. Packed, they are neighbours, go through all sets, and lie in two pages. The "
    "same misses could be avoided by shorter strips, but not the pages.",
    variants=SIZES,
)


# ------------------------------------------------------------------------------------------------ a copy at run time


def _strips(at: Setting) -> Schedule:
    return strips(Schedule(product(at["m"], at["n"]), at.target))


COPY = Exercise(
    name="copy",
    title="What the copy costs",
    task=lambda at: (
        "Now B comes with each call; its layout belongs to the caller, and transform_layout refuses to change it. "
        "So the nest copies B first: cache_read makes a copy, B.local, which then can be packed.\n\n"
        f"B has {DEPTH} rows and {at['n']} columns, A has {at['m']} rows. How many accesses does the copy add, reads "
        "and writes of numbers together? The cache holds neither B nor the copy. A line that is written is fetched, "
        "too. If all of B is packed first: how many times as many lines as B has are fetched, for B and its copy "
        "together? As it stands, each line of B is fetched once for every row of A: from how many rows of A on does "
        "packing fetch fewer lines? Predict, then pack a copy of B."
    ),
    predictions=(
        Prediction(
            "accesses",
            "How many accesses does the copy add?",
            lambda at: 2 * DEPTH * at["n"],
            misconceptions=(
                Misconception(lambda at: DEPTH * at["n"], "Each number is read, and then?"),
                Misconception(
                    lambda at: 2 * lines_of(at["n"]),
                    "That is the number of lines. How many numbers are read and written?",
                ),
                Misconception(lambda at: 2 * at["m"] * DEPTH * at["n"], "The copy is made once, not for every i."),
            ),
        ),
        Prediction(
            "times",
            "How many times the lines of B are fetched, for B and its copy, when all of B is packed first?",
            3,
            misconceptions=(
                Misconception(1, "B is read; the copy is written, and read again later."),
                Misconception(2, "When the product begins, is the copy still in the cache?"),
                Misconception(lambda at: at["m"] + 2, "A packed strip stays in the cache for all rows of A."),
                Misconception(4, "A packed strip is read often, but how often fetched?"),
            ),
            within=0,
        ),
        Prediction(
            "rows",
            "From how many rows of A on does packing fetch fewer lines?",
            4,
            "rows",
            (
                Misconception(3, "Then it is as many as without packing, not fewer."),
                Misconception(2, "Compare with what you said before: so many times are the lines fetched."),
                Misconception(1, "With one row of A every number of B is used once. What could a copy gain?"),
                Misconception(16, "A line has 16 numbers; but these are used together, packed or not."),
            ),
            wrong="Without packing, the lines of B are fetched once for each row of A.",
            within=0,
        ),
    ),
    work=Nest(_strips, lambda s, at: copied(s)),
    goals=(lines_at_most(3), FEW_PAGES),
    hints=(
        "s.cache_read(block, buffer) lets the block read a copy; the block of the product is called C.",
        "The copy alone has the same layout as B. s.transform_layout('B.local', dim, block) packs it.",
        "s.cache_read('C', 'B'), then s.transform_layout('B.local', 1, 16).",
    ),
    why=lambda at: (
        f"Read B, write the copy, read the copy: 3 times its lines, whatever A is, against {at['m']} times without it. "
        "A product with one row, a matrix times a vector, uses each number of B once: there a copy never pays, and "
        "only weights that are packed ahead of time do."
    ),
    variants=SIZES,
)


# ------------------------------------------------------------------------------------------------ strip by strip


def _whole_copy(at: Setting) -> Schedule:
    return copied(_strips(at))


STRIP = Exercise(
    name="strip",
    title="A copy that stays near",
    task=lambda at: (
        f"The packed copy of all of B is written, leaves the cache, and is fetched again. B has {DEPTH} rows and "
        f"{at['n']} columns. How many KiB is the copy? If the nest packs one strip, uses it for all rows of A, and "
        "packs the next one in its place: how many KiB is the copy then? Then the copy stays in the cache all the "
        "time, and almost only B is fetched, each line once. From how many rows of A on does packing fetch fewer lines "
        "than the nest without a copy (leave the few lines of the strip itself out)?\n\n"
        "Predict, then bring the copy into the loop over strips."
    ),
    predictions=(
        Prediction(
            "whole",
            "How many KiB is the copy of all of B?",
            lambda at: DEPTH * at["n"] * 4 / KIB,
            "KiB",
            (
                Misconception(lambda at: DEPTH * at["n"] / KIB, "A number has 4 bytes."),
                Misconception(lambda at: DEPTH * at["n"] * 4, "That is the size in bytes. How many KiB is it?"),
                Misconception(lambda at: at["m"] * DEPTH * 4 / KIB, "That is A."),
            ),
        ),
        Prediction(
            "one",
            "How many KiB is the copy, strip by strip?",
            DEPTH * PER_LINE * 4 / KIB,
            "KiB",
            (
                Misconception(DEPTH * PER_LINE / KIB, "A number has 4 bytes."),
                Misconception(64 / KIB, "That is one row of a strip."),
                Misconception(lambda at: DEPTH * at["n"] * 4 / KIB, "When a strip is done, its place is free."),
                Misconception(DEPTH * PER_LINE * 4, "That is the size in bytes. How many KiB is it?"),
            ),
        ),
        Prediction(
            "rows",
            "From how many rows of A on does packing fetch fewer lines now?",
            2,
            "rows",
            (
                Misconception(4, "That was right when the copy was fetched again, too."),
                Misconception(1, "With one row of A, each line of B is fetched once without a copy as well."),
                Misconception(3, "Which lines are still fetched for B and for its copy?"),
            ),
            within=0,
        ),
    ),
    work=Nest(_whole_copy, lambda s, at: s.compute_at("B.copy", "j.0")),
    goals=(lines_at_most(1.25), kept_at_most(DEPTH * PER_LINE * 4, "B.copy"), FEW_PAGES),
    hints=(
        "The block that copies is called B.copy. Lab 7 brings a stage into a loop of its consumer.",
        "Which loop goes from strip to strip? In it the copy has to be made, before i runs.",
        "s.compute_at('B.copy', 'j.0').",
    ),
    why=lambda at: (
        f"A strip is 8 KiB instead of {DEPTH * at['n'] * 4 // KIB} KiB, and is used for all rows of A while it is "
        "there. The copy itself still goes down the columns of B, through many pages, but once and not for each row of "
        "A. Deeper, inside of i, it would be packed again for each row of A. Libraries pack at two such places: a "
        "block of B outside, a block of A inside."
    ),
    variants=SIZES,
)
