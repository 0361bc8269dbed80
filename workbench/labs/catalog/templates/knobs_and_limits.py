"""Exercises on what a template leaves open: factors, what filters and limits leave of them, what makes variants."""

from __future__ import annotations

from typing import Any

from workbench.labs.catalog.templates.spaces import (
    SIZES,
    SPARE,
    allowed,
    best_tile,
    configurations,
    divisors,
    room,
    space_of,
    tiles,
)
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Setting
from workbench.space.space import Space


def _twos(n: int) -> int:
    """How often 2 divides n."""
    return (n & -n).bit_length() - 1


def _ways(n: int, parts: int) -> int:
    """Ways to write n as a product of so many factors, their sequence counted."""
    return 1 if parts == 1 else sum(_ways(n // d, parts - 1) for d in divisors(n))


def _of_holes(space: Space, many: int) -> tuple[bool, str]:
    """Whether both splits are holes, in so many variants."""
    knobs = space.knobs()
    lacking = [name for name in ("tile_i", "tile_j") if name not in knobs]
    if lacking:
        return False, f"There is no knob {' and no knob '.join(lacking)}."
    closed = [name for name in ("tile_i", "tile_j") if knobs[name].becomes != "2 holes"]
    if closed:
        return False, f"{closed[0]} becomes {knobs[closed[0]].becomes or 'nothing'}, not two holes."
    found = len(space.variants)
    return found == many, f"tile_i and tile_j are holes; the space has {found} of {many} variants."


# ------------------------------------------------------------------------------------------------ what is open


def _tiles(cfg: Any, s: Any) -> Any:
    m = cfg.match
    cfg.define_split("tile_i", m.i, num_outputs=2)
    cfg.define_split("tile_j", m.j, num_outputs=2)
    i0, i1 = cfg["tile_i"].apply(s)
    j0, j1 = cfg["tile_j"].apply(s)
    s.reorder(i0, j0, m.k, i1, j1)


def _all_open(function: Any, at: Setting) -> tuple[bool, str]:
    space, wanted = space_of(function, at["n"], at.target), len(divisors(at["n"])) ** 2
    good, told = _of_holes(space, 1)
    return good and allowed(space) == wanted, f"{told} It has {allowed(space):,} of {wanted:,} configurations."


def _tiled_order(function: Any, at: Setting) -> tuple[bool, str]:
    loops = [lp.name.partition(".")[0] for lp in space_of(function, at["n"], at.target).variants[0].schedule.loops]
    return loops == ["i", "j", "k", "i", "j"], f"From the outside to the inside, the loops run over {', '.join(loops)}."


FACTORS = Exercise(
    name="factors",
    title="What is left open",
    task=lambda at: (
        f"A product of {at['n']} x {at['n']} matrices. A template cuts the loop i in two; which numbers the two loops "
        "get is open, as long as their product is the extent. In how many ways can that be done? In how many ways in "
        "three loops? And how many configurations are there if i and j are both cut in two?\n\n"
        "Then write that template, tiles(cfg, s): knobs tile_i and tile_j, each a split in two, and the order i.0, "
        "j.0, k, i.1, j.1."
    ),
    predictions=(
        Prediction(
            "two",
            lambda at: f"In how many ways can {at['n']} iterations be cut in two loops?",
            lambda at: len(divisors(at["n"])),
            "ways",
            (
                Misconception(lambda at: _twos(at["n"]) + 1, "Factors need not be powers of two."),
                Misconception(lambda at: len(divisors(at["n"])) - 2, "A loop of one iteration is allowed, too."),
                Misconception(lambda at: len(divisors(at["n"])) / 2, "8 x 48 and 48 x 8 are two ways."),
                Misconception(lambda at: at["n"], "Every factor has to divide the extent."),
            ),
            wrong="Which numbers divide the extent? Each is the inner factor of one way.",
            within=0,
        ),
        Prediction(
            "three",
            lambda at: f"In how many ways can {at['n']} iterations be cut in three loops?",
            lambda at: _ways(at["n"], 3),
            "ways",
            (
                Misconception(lambda at: len(divisors(at["n"])) ** 2, "The middle factor has to divide what is left."),
                Misconception(lambda at: 3 * len(divisors(at["n"])) // 2, "Try 4 first: it has 6 ways, not 4 or 5."),
            ),
            wrong="Write the extent as powers of primes. In how many ways can the twos be put in three places?",
            within=0,
        ),
        Prediction(
            "both",
            "How many configurations are there with i and j cut in two each?",
            lambda at: len(divisors(at["n"])) ** 2,
            "configurations",
            (
                Misconception(lambda at: 2 * len(divisors(at["n"])), "Each way of i goes with each way of j."),
                Misconception(lambda at: (_twos(at["n"]) + 1) ** 2, "Factors need not be powers of two."),
            ),
            within=0,
        ),
    ),
    work=Function("tiles", _tiles),
    goals=(
        Goal("tile_i and tile_j are open, in one variant with all configurations.", _all_open),
        Goal("The loops are in the order i.0, j.0, k, i.1, j.1.", _tiled_order),
    ),
    hints=(
        "A number 2**a * 3**b has (a + 1) * (b + 1) divisors: each prime by itself. In three places, a twos can be put "
        "in (a + 1) * (a + 2) / 2 ways.",
        "cfg.define_split(name, cfg.match.i, num_outputs=2) declares; cfg[name].apply(s) cuts and returns the two "
        "loops. s.reorder takes all five loops, outermost first.",
    ),
    why="A split has as many ways as the extent has divisors, and knobs multiply. So a space is counted before it is "
    "made: two more splits of this size, and nobody can try all of it.",
    variants=SIZES,
)


# ------------------------------------------------------------------------------------------------ limits


def _limited(cfg: Any, s: Any) -> Any:
    m, lanes, registers = cfg.match, cfg.machine.lanes, cfg.machine.registers
    cfg.define_split("tile_i", m.i, num_outputs=2)
    cfg.define_split("tile_j", m.j, num_outputs=2, filter=lambda e: e.size[-1] % lanes == 0)
    i0, i1 = cfg["tile_i"].apply(s)
    j0, j1 = cfg["tile_j"].apply(s)
    s.reorder(i0, j0, m.k, i1, j1)
    tile = cfg["tile_i"].size[-1] * cfg["tile_j"].size[-1]
    cfg.limit("the tile fits the registers", tile <= (registers - 4) * lanes)
    s.unroll(i1)
    s.vectorize(j1)


def fits(function: Any, at: Setting, n: int | None = None) -> tuple[bool, str]:
    """Reached where every configuration keeps a tile of whole vectors in registers."""
    many = 0
    for c in configurations(space_of(function, n or at["n"], at.target), at.lanes):
        many, kept = many + 1, c.counts.accumulators
        what = f"tile_i = {c.values.get('tile_i')}, tile_j = {c.values.get('tile_j')}"
        if kept == 0:
            return False, f"{what}: no tile of C stays in registers while k runs; is i.1 unrolled, j.1 vectorised?"
        if c.counts.lanes % at.lanes:
            return False, f"{what}: {c.counts.lanes} columns are no whole vectors of {at.lanes}."
        if kept > room(at):
            return False, f"{what}: the tile takes {kept} registers, and {room(at)} are allowed."
    keep = "The one configuration keeps" if many == 1 else f"All {many} configurations keep"
    return True, f"{keep} a tile of whole vectors in at most {room(at)} registers."


def _nothing_lost(function: Any, at: Setting) -> tuple[bool, str]:
    space = space_of(function, at["n"], at.target)
    good, told = _of_holes(space, 1)
    if not good:
        return False, told
    lost = tiles(at["n"], at) - {c.tile for c in configurations(space, at.lanes)}
    if lost:
        rows, columns = max(lost)
        return False, f"{len(lost)} allowed tiles are missing, {rows} rows of {columns} columns among them."
    return True, f"No allowed tile is missing. {told}"


def _open_j(at: Setting, twos: bool = False) -> int:
    return sum(d % at.lanes == 0 for d in divisors(at["n"]) if not twos or d & (d - 1) == 0)


LIMITS = Exercise(
    name="limits",
    title="What cannot be good",
    task=lambda at: (
        f"Most of these configurations are hopeless. A vector of this machine has {at.lanes} float32 numbers, so the "
        f"inner factor of j has to be a multiple of {at.lanes}. And of {at.registers} vector registers, {SPARE} are "
        f"needed for what is loaded, so the tile of C may take {room(at)} at most.\n\n"
        "How many ways of j are left by the first rule alone? How many elements may a tile have? How many "
        "configurations obey both rules?\n\n"
        "Write limited(cfg, s): the template of before, with i.1 unrolled and j.1 vectorised, and with both rules: a "
        "filter for the one, cfg.limit for the other. Nothing that obeys the rules may be missing."
    ),
    predictions=(
        Prediction(
            "whole",
            "How many ways of tile_j have whole vectors inside?",
            _open_j,
            "ways",
            (
                Misconception(lambda at: _open_j(at, twos=True), "Factors need not be powers of two."),
                Misconception(lambda at: _open_j(at) + 1, "Is one of yours smaller than a vector, or no divisor?"),
                Misconception(
                    lambda at: at["n"] // at.lanes, "That is how many vectors a row of C has. Which widths divide it?"
                ),
            ),
            wrong="How many vectors has a row of C? The width of a tile in vectors divides that.",
            within=0,
        ),
        Prediction(
            "elements",
            "How many elements of C may a tile have at most?",
            lambda at: room(at) * at.lanes,
            "elements",
            (
                Misconception(lambda at: at.registers * at.lanes, "Nothing is left for A and B then."),
                Misconception(room, "That is the number of registers. Each holds several elements."),
                Misconception(
                    lambda at: room(at) * at.lanes * 4, "That is the size in bytes. How many elements is it?"
                ),
            ),
        ),
        Prediction(
            "both",
            "How many configurations obey both rules?",
            lambda at: len(tiles(at["n"], at)),
            "configurations",
            (
                Misconception(lambda at: len(divisors(at["n"])) * _open_j(at), "That is without the limit."),
                Misconception(lambda at: len(tiles(at["n"], at, at.registers)), "With all registers for C it is so."),
                Misconception(
                    lambda at: sum(j == at.lanes for _, j in tiles(at["n"], at)), "A tile may be wider than one vector."
                ),
            ),
            wrong="For each width in vectors: how many divisors of the extent, times it, are few enough registers?",
            within=0,
        ),
    ),
    work=Function("limited", _limited),
    goals=(
        Goal("In every configuration, a tile of whole vectors stays in the registers that are allowed.", fits),
        Goal("Nothing that obeys the rules is missing, and there is one variant.", _nothing_lost),
    ),
    hints=(
        "rows * vectors is at most what is allowed; list the divisors for one vector, two vectors, and so on.",
        "filter=lambda e: e.size[-1] % lanes == 0 is an argument of define_split; cfg.machine has lanes and registers.",
        "cfg.limit('words', rows * columns <= number), with rows = cfg['tile_i'].size[-1]. Rows times columns are "
        "elements, so the number has to be of elements, too.",
    ),
    why="What is known beforehand is no work for a search. A limit is an inequality of open numbers: it stays one "
    "nest with holes, and the search draws only rows that fulfil it.",
    variants=SIZES,
)


# ------------------------------------------------------------------------------------------------ variants


def _branches(cfg: Any, s: Any) -> Any:
    m, lanes, registers = cfg.match, cfg.machine.lanes, cfg.machine.registers
    cfg.define_split("tile_i", m.i, num_outputs=2)
    cfg.define_split("tile_j", m.j, num_outputs=2, filter=lambda e: e.size[-1] % lanes == 0)
    i0, i1 = cfg["tile_i"].apply(s)
    j0, j1 = cfg["tile_j"].apply(s)
    s.reorder(i0, j0, m.k, i1, j1)
    tile = cfg["tile_i"].size[-1] * cfg["tile_j"].size[-1]
    cfg.limit("the tile fits the registers", tile <= (registers - 4) * lanes)
    cfg.define_reorder("order", [m.k, i1, j1])
    cfg["order"].apply(s)
    s.vectorize(j1)
    cfg.define_knob("unroll", [False, True])
    if cfg["unroll"]:
        s.unroll(i1)


def _four(function: Any, at: Setting) -> tuple[bool, str]:
    return _of_holes(space_of(function, at["n"], at.target), 4)


def _both_ways(function: Any, at: Setting) -> tuple[bool, str]:
    found = set()
    for v in space_of(function, at["n"], at.target).variants:
        names = [lp.name.partition(".")[0] for lp in v.schedule.loops]
        marked = [lp.kind for lp in v.schedule.loops if lp.name.startswith("i")]
        found.add((names.index("k") < len(names) - 1 - names[::-1].index("i"), "unroll" in marked))
        if v.schedule.loops[-1].kind != "vectorize":
            return False, f"Variant {v.index}: the innermost loop is not vectorised."
    return len(found) == 4, f"{len(found)} of 4 are there: k outside or inside of i.1, i.1 unrolled or not."


def _still_the_best(function: Any, at: Setting) -> tuple[bool, str]:
    space, (rows, columns) = space_of(function, at["n"], at.target), best_tile(at["n"], at)
    wanted = (rows, columns // at.lanes)
    if any((c.counts.rows, c.counts.vectors) == wanted for c in configurations(space, at.lanes)):
        return True, f"A tile of {wanted[0]} x {wanted[1]} registers is there."
    told = f"A tile of {wanted[0]} x {wanted[1]} registers is not there."
    for v in space.variants:
        loops = [lp.name for lp in v.schedule.loops]
        if {name.partition(".")[0] for name in loops[:2]} != {"i", "j"}:
            told += f" Variant {v.index} has the loops {', '.join(loops)}: i.0 and j.0 have to hold the other three."
            break
    return False, told


VARIANTS = Exercise(
    name="variants",
    title="What Python has to look at",
    task=lambda at: (
        "An open number has no value while the template runs. If Python has to know it, the template runs once for "
        "each value that it may have, and each run is a variant, a schedule of its own. Suppose a template without "
        f"filter or limit cuts i ({at['n']} iterations) in two, and then says: if cfg['tile_i'].size[-1] <= 8: "
        "s.unroll(i1). How many variants has it? And in how many orders of the loops k, i.1, j.1 can j.1 be "
        "vectorised? (Here a vectorised loop may hold no other loop.)\n\n"
        "Write branches(cfg, s), which starts like limited: a knob 'order' (define_reorder) for all orders of k, i.1 "
        "and j.1, then j.1 vectorised, and a knob 'unroll' (define_knob, False or True) for i.1. tile_i and tile_j "
        "stay holes. So there are four variants; orders that are not legal leave themselves out."
    ),
    predictions=(
        Prediction(
            "looked",
            "How many variants has the template with the if?",
            lambda at: len(divisors(at["n"])),
            "variants",
            (
                Misconception(2, "The if has two outcomes, but it needs a value first. How many values are there?"),
                Misconception(1, "The if has to be decided; with an open number Python cannot do that."),
                Misconception(lambda at: sum(d <= 8 for d in divisors(at["n"])), "Those above 8 are run, too."),
            ),
            within=0,
        ),
        Prediction(
            "orders",
            "In how many orders of k, i.1, j.1 can j.1 be vectorised?",
            2,
            "orders",
            (
                Misconception(6, "That is the number of all orders. In which ones does j.1 hold nothing?"),
                Misconception(1, "The other two loops can change places."),
                Misconception(3, "j.1 has three places; in which of them does it hold no other loop?"),
            ),
            within=0,
        ),
    ),
    work=Function("branches", _branches),
    goals=(
        Goal("There are four variants, and tile_i and tile_j are holes in all.", _four),
        Goal("k stands outside or inside of i.1, and i.1 is unrolled or not.", _both_ways),
        Goal("The tile with the most multiply-adds per load is in the space.", _still_the_best),
    ),
    hints=(
        "First put the loops in the order i.0, j.0, k, i.1, j.1, as in limited: define_reorder moves its three loops "
        "among the places that they have.",
        "cfg.define_reorder('order', [m.k, i1, j1]), then cfg['order'].apply(s). What a step refuses is left out by "
        "itself: no if is needed for it.",
        "cfg.define_knob('unroll', [False, True]) and then if cfg['unroll']: this if is on a knob with two values, so "
        "it makes two variants of each order.",
    ),
    why="An if on a split makes as many variants as it has ways; an if on a knob with two values makes two. Of six "
    "orders vectorize refuses four, with the reason in the table; the two others are there with and without unrolling.",
    variants=SIZES,
)
