"""Exercises on the best configuration: elsewhere, in a small space, and in a space that has lost it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.labs.catalog.templates.knobs_and_limits import LIMITS, fits
from workbench.labs.catalog.templates.spaces import (
    OTHER,
    SIZES,
    adds_per_load,
    allowed,
    best,
    best_tile,
    configurations,
    divisors,
    room,
    space_of,
    tiles,
)
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Setting
from workbench.labs.goals import Case, right_for

assert isinstance(LIMITS.work, Function)
_limited = LIMITS.work.solution


# ------------------------------------------------------------------------------------------------ another size


def _carried(values: Any, knobs: Any) -> Any:
    found = {}
    for name, value in values.items():
        small = [c for c in knobs[name].candidates if c[-1] <= value[-1]]
        found[name] = max(small, key=lambda c: c[-1])
    return found


def _below(candidates: list[int], most: int) -> int:
    return max(c for c in candidates if c <= most)


def _columns(n: int, at: Setting) -> list[int]:
    lanes = at.lanes
    return [d for d in divisors(n) if d % lanes == 0]


def _there(at: Setting) -> tuple[int, int]:
    """The tile that the best one becomes at the other size."""
    rows, columns = best_tile(at["n"], at)
    return _below(divisors(OTHER), rows), _below(_columns(OTHER, at), columns)


def _share(at: Setting) -> float:
    found, most = adds_per_load(_there(at), at.lanes), adds_per_load(best_tile(OTHER, at), at.lanes)
    return 100 * found / most


def _carried_to(at: Setting, *sizes: int) -> Iterator[Case]:
    """All configurations at the student's size, and what the rule makes of them at others."""
    for n in sizes:
        knobs = space_of(_limited, n, at.target).knobs()
        for one in configurations(space_of(_limited, at["n"], at.target), at.lanes):
            yield (one.values, knobs), _carried(one.values, knobs), f"{one.values}, carried to n = {n}"


def _thinnest_best(at: Setting) -> int:
    """Columns of the best tile with the fewest rows; where several are equal, not the one that is meant."""
    lanes, most = at.lanes, adds_per_load(best_tile(at["n"], at), at.lanes)
    return max(columns for rows, columns in tiles(at["n"], at) if adds_per_load((rows, columns), lanes) > most - 1e-9)


def _above(at: Setting) -> int:
    columns = best_tile(at["n"], at)[1]
    return min(c for c in _columns(OTHER, at) if c > columns)


TRANSFER = Exercise(
    name="transfer",
    title="The best, elsewhere",
    task=lambda at: (
        f"The best configuration of limited for n = {at['n']} (the most multiply-adds per load; of equal ones that "
        f"with the most rows) is to be used for n = {OTHER}. But its factors need not divide {OTHER}. A rule that "
        "never breaks a limit: of each knob, take the candidate with the largest inner factor that is not larger than "
        f"the old one.\n\nHow many columns has its tile at {OTHER}? What is that worth: which share of the "
        f"multiply-adds per load of the best for {OTHER} does it reach?\n\n"
        "Write carried(values, knobs): values is a dict from the name of a knob to its factors, such as {'tile_i': "
        "(64, 6), 'tile_j': (6, 64)}; knobs is the table space.knobs() of the other space, and "
        "knobs['tile_i'].candidates are the factors that are possible there. It returns such a dict for the other "
        "space."
    ),
    predictions=(
        Prediction(
            "columns",
            f"How many columns has the tile at n = {OTHER}?",
            lambda at: _there(at)[1],
            "columns",
            (
                Misconception(lambda at: best_tile(at["n"], at)[1], f"Does that divide {OTHER}?"),
                Misconception(_thinnest_best, "Of the tiles that are equally good, which one has the most rows?"),
                Misconception(
                    _above,
                    "Did you begin with the tile that has the most rows? For that one, this is the next larger width; "
                    "it could break the limit.",
                ),
                Misconception(lambda at: _below(divisors(OTHER), best_tile(at["n"], at)[1]), "Whole vectors only."),
                Misconception(
                    lambda at: _there(at)[1] / at.lanes, "That is the number of vectors. How many columns are they?"
                ),
            ),
            within=0,
        ),
        Prediction(
            "share",
            f"Which share of the best for n = {OTHER} does it reach?",
            _share,
            "%",
            (
                Misconception(100, "What was the best at one size need not be it at another one."),
                Misconception(lambda at: 1e4 / _share(at), "A share of the best is at most 100 %."),
                Misconception(
                    lambda at: 100 * adds_per_load(_there(at), at.lanes), "That is its own number of multiply-adds."
                ),
            ),
            wrong="Multiply-adds per load are rows * vectors / (rows + vectors), for both tiles.",
        ),
    ),
    work=Function("carried", _carried),
    goals=(
        right_for(
            f"Every configuration is carried to n = {OTHER} and n = 512 by the rule.",
            lambda at: _carried_to(at, OTHER, 512),
        ),
        right_for("To the same size, a configuration stays what it is.", lambda at: _carried_to(at, at["n"])),
    ),
    hints=(
        lambda at: f"{OTHER} = 16 * 25. Which multiples of {at.lanes} divide it?",
        "For each name: the candidates whose last factor is at most value[-1], and of those the one whose last factor "
        "is the largest. max has an argument key.",
    ),
    why="A configuration belongs to a size as it belongs to a machine. Carried by a rule it is legal, and a good place "
    "to begin a search; how far it is from the best depends on what divides the new size. Padding the matrix to "
    "another size is the other way out.",
    variants=SIZES,
)


# ------------------------------------------------------------------------------------------------ small and good


#: Configurations of a small space.
FEW = 16


def _small(cfg: Any, s: Any) -> Any:
    m, lanes, registers = cfg.match, cfg.machine.lanes, cfg.machine.registers
    cfg.define_split("tile_i", m.i, num_outputs=2)
    cfg.define_split("tile_j", m.j, num_outputs=2, filter=lambda e: e.size[-1] % lanes == 0)
    i0, i1 = cfg["tile_i"].apply(s)
    j0, j1 = cfg["tile_j"].apply(s)
    s.reorder(i0, j0, m.k, i1, j1)
    tile = cfg["tile_i"].size[-1] * cfg["tile_j"].size[-1]
    cfg.limit("the tile fits the registers", tile <= (registers - 4) * lanes)
    cfg.limit("it uses two thirds of them", tile * 3 >= (registers - 4) * lanes * 2)
    s.unroll(i1)
    s.vectorize(j1)


def _with_the_best(function: Any, at: Setting, sizes: tuple[int, ...], few: int | None = None) -> tuple[bool, str]:
    """Whether the spaces of these sizes have the best tile, and few configurations where that is asked for."""
    text = ""
    for n in sizes:
        space = space_of(function, n, at.target)
        if few is not None and allowed(space) > few:
            return False, f"n = {n}: the space has {allowed(space):,} configurations."
        found, most = best(space, at.lanes).counts.adds_per_load, adds_per_load(best_tile(n, at), at.lanes)
        text = f"n = {n}: the best of your space has {found:.4g} multiply-adds per load, and {most:.4g} are possible."
        if found < most - 1e-9:
            return False, text
    return True, text


def _others(at: Setting) -> tuple[int, ...]:
    return *(n for n in SIZES["n"] if n != at["n"]), OTHER


SMALL = Exercise(
    name="small",
    title="Small, and with the best",
    task="What limited leaves is still dozens of configurations, and each has to be compiled and measured. A tile of "
    "24 registers may be 24 x 1, 12 x 2 or 6 x 4 (rows x vectors). One step of k loads a vector of B for each vector "
    "and broadcasts an element of A for each row, and does a multiply-add for each register. How many multiply-adds "
    "per load is that for 6 x 4, and how many for 24 x 1?\n\n"
    f"Write small(cfg, s): limited with one or two more rules of yours, so that at most {FEW} configurations are left, "
    "and the one with the most multiply-adds per load is still among them; not for your size alone.",
    predictions=(
        Prediction(
            "square",
            "How many multiply-adds per load has a tile of 6 x 4 registers?",
            2.4,
            misconceptions=(
                Misconception(24, "That is how many multiply-adds there are. How many loads?"),
                Misconception(1, "A vector of B is loaded once for all rows, an element of A once for all vectors."),
                Misconception(6, "The rows of A have to be loaded (broadcast), too."),
                Misconception(4, "The vectors of B have to be loaded, too."),
                Misconception(24 / 34, "C stays in registers while k runs; it is not loaded."),
                Misconception(1 / 2.4, "That is loads per multiply-add."),
            ),
        ),
        Prediction(
            "thin",
            "And one of 24 x 1?",
            0.96,
            misconceptions=(
                Misconception(24, "One vector of B, but how many elements of A?"),
                Misconception(1, "Nearly: the vector of B is a load, too."),
                Misconception(25 / 24, "That is loads per multiply-add."),
            ),
            within=0.01,
        ),
    ),
    work=Function("small", _small),
    goals=(
        Goal("Every configuration keeps a tile of whole vectors in the registers.", fits),
        Goal(
            f"For your size, at most {FEW} configurations are left, the best among them.",
            lambda function, at: _with_the_best(function, at, (at["n"],), FEW),
        ),
        Goal(
            lambda at: f"So it is for n = {', '.join(map(str, _others(at)))}, too.",
            lambda function, at: _with_the_best(function, at, _others(at), FEW),
        ),
    ),
    hints=(
        "A tile that leaves most registers empty cannot be the best. How do you say that as a limit?",
        "An open number may be multiplied by a whole number but not divided: 3 * tile >= 2 * number says 'at least two "
        "thirds'.",
        "Another way: limits on the rows alone, and on the columns alone. A tile near a square needs the fewest loads.",
    ),
    why="Each rule is a piece of knowledge about the machine. A small space can be measured as a whole; but a rule "
    "that is wrong on another machine, or for another size, loses the best without a word. So try it on others.",
    variants=SIZES,
)


# ------------------------------------------------------------------------------------------------ repair


def _in_broken(at: Setting, limit: bool = True) -> list[tuple[int, int]]:
    """Tiles of the notebook's template: powers of two, at most four rows, no more elements than registers."""
    twos = [d for d in divisors(at["n"]) if d & (d - 1) == 0]
    lanes, registers = at.lanes, at.registers
    pairs = [(i, j) for i in twos if i <= 4 for j in twos if j % lanes == 0]
    return [(i, j) for i, j in pairs if not limit or i * j <= registers]


REPAIR = Exercise(
    name="repair",
    title="Repair: a space that leaves out the best",
    task="Somebody has tuned with the template broken, which the notebook shows, and wonders why a night of tuning "
    "ends at a tile that everybody knows to be poor. The search is not to blame: it cannot find what is not there.\n\n"
    "How many configurations has its space for your size? How many multiply-adds per load has the best of them? Then "
    "write mended(cfg, s), whose space has the best tile, for your size and others, and nothing that needs more "
    "registers than there are.",
    predictions=(
        Prediction(
            "many",
            "How many configurations has the space of broken?",
            lambda at: len(_in_broken(at)),
            "configurations",
            (
                Misconception(
                    lambda at: len(_in_broken(at, False)),
                    "That is the number before the limit. How many does the limit leave?",
                ),
                Misconception(
                    lambda at: sum(i * j <= at.registers * at.lanes for i, j in _in_broken(at, False)),
                    "That is the limit that was meant. Read the one that is written: elements, or registers?",
                ),
                Misconception(1, "A tile of two registers obeys the limit, too."),
            ),
            within=0,
        ),
        Prediction(
            "best",
            "How many multiply-adds per load has its best?",
            lambda at: max(adds_per_load(t, at.lanes) for t in _in_broken(at)),
            misconceptions=(
                Misconception(
                    lambda at: adds_per_load(best_tile(at["n"], at), at.lanes),
                    "That is the best of limited. Does the limit of broken leave that tile?",
                ),
                Misconception(2, "Two multiply-adds for how many loads?"),
                Misconception(1, "Count the broadcast of A as well as the vector of B."),
                Misconception(0.5, "A larger tile than one register is allowed."),
            ),
        ),
    ),
    work=Function("mended", _limited),
    goals=(
        Goal("Every configuration keeps a tile of whole vectors in the registers.", fits),
        Goal("The best tile for your size is in the space.", lambda f, at: _with_the_best(f, at, (at["n"],))),
        Goal(
            lambda at: f"So it is for n = {', '.join(map(str, _others(at)))}.",
            lambda f, at: _with_the_best(f, at, _others(at)),
        ),
    ),
    hints=(
        "Compare the two sides of the limit: which unit has each?",
        lambda at: (
            f"The best tile for your size has {best_tile(at['n'], at)[0]} rows. Which argument of define_split forbids "
            "that? There may be more than one."
        ),
        lambda at: f"At most {room(at)} registers of {at.lanes} elements each; any divisor as a factor.",
    ),
    why=lambda at: (
        "Three rules too many: rows of at most 4, powers of two only, and a limit that compares elements with "
        f"registers. Of {len(tiles(at['n'], at))} tiles that fit, it left {len(_in_broken(at))}. No strategy finds "
        "what the space does not have, and no log shows it; counting the space does."
    ),
    variants=SIZES,
)
