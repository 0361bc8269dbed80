"""Exercise on sizes that no tile divides."""

from __future__ import annotations

from math import prod

from workbench.ir import blocks
from workbench.ir.poly import concrete
from workbench.labs.catalog.loops.simulated import cubed
from workbench.labs.catalog.tiling.caches import NEAR, few, product
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.schedule import Schedule

#: Prime numbers, and the tile from 16 to 20 that leaves least over.
BEST = {101: 17, 107: 18, 113: 19}
#: Share of the runs that may be idle.
IDLE = 0.05


def _tiles(at: Setting) -> int:
    return -(-at["n"] // NEAR)


def _share(at: Setting, loops: int) -> float:
    """Percent of the runs that are idle when so many loops are cut by 16."""
    return 100 - 100 * (at["n"] / (NEAR * _tiles(at))) ** loops


def _guarded(s: Schedule, at: Setting) -> None:
    for loop in ("i", "j", "k"):
        s.split(loop, [None, BEST[at["n"]]], tail="guard")
    s.reorder("i.0", "j.0", "k.0", "i.1", "k.1", "j.1")


def _busy(s: Schedule, at: Setting) -> tuple[bool, str]:
    runs = sum(prod(concrete(loop.extent) for loop in path) for _, path in blocks(s.func.body))
    idle = max(0.0, 1 - cubed(at) / runs)
    end = "." if idle <= IDLE else f"; at most {IDLE:.0%} may be."
    return idle <= IDLE, f"Of {runs:,} runs of the statement {idle:.1%} are idle{end}"


EDGES = Exercise(
    name="edges",
    title="Edges: a size that no tile divides",
    task=lambda at: (
        f"Matrices of {at['n']} by {at['n']}: a prime number, no tile divides it. s.split('i', [None, {NEAR}]) is "
        "refused; try it in a cell of its own. With tail='guard' the last tile reaches beyond the end, and a condition "
        "leaves out what is too much: such a run of the statement is idle. With tail='peel' the rest gets a nest of "
        f"its own. How many tiles has one loop, with tiles of {NEAR} and a guard? All three loops cut like this: what "
        "share of all runs is idle? Which T from 16 to 20 leaves the fewest idle?\n\n"
        f"Predict, then cut lab.edges.schedule: at most {cubed(at) // 40:,} accesses miss L1, and at most {IDLE:.0%} "
        "of the runs are idle."
    ),
    predictions=(
        Prediction(
            "tiles",
            f"How many tiles of {NEAR} has one loop?",
            _tiles,
            "tiles",
            (
                Misconception(lambda at: at["n"] // NEAR, "That is how many are whole. Who computes the rest?"),
                Misconception(lambda at: at["n"] / NEAR, "The last tile is begun, so the loop runs it."),
                Misconception(
                    lambda at: at["n"] % NEAR,
                    "That is how many rows are left for the last tile. How many tiles are there?",
                ),
            ),
            wrong="The loop over tiles has to reach the last row.",
            within=0,
        ),
        Prediction(
            "idle",
            "What share of all runs of the statement is idle, when three loops are cut?",
            lambda at: _share(at, 3),
            "%",
            (
                Misconception(lambda at: _share(at, 1), "That is right for one loop. Three loops are cut."),
                Misconception(lambda at: _share(at, 2), "That would be right for two loops, in a tile of C."),
                Misconception(lambda at: 100 - _share(at, 3), "That is the useful share. Which share is idle?"),
                Misconception(
                    lambda at: 100 * _share(at, 3) / (100 - _share(at, 3)),
                    "That is idle runs by useful ones. Asked for is their share of all runs.",
                ),
                Misconception(
                    lambda at: 3 * _share(at, 1),
                    "Shares of three loops are not added: multiply what is useful in each.",
                ),
            ),
            wrong="Useful runs: the size to the power of three. All runs: tiles times T, to the power of three.",
        ),
        Prediction(
            "best",
            "Which T from 16 to 20 leaves the fewest idle?",
            lambda at: BEST[at["n"]],
            "",
            (
                Misconception(16, "A multiple of a line is good for misses. How full is the last tile?"),
                Misconception(20, "Fewer tiles, but how full is the last one?"),
            ),
            wrong="For each T, how much is missing from the size to the next multiple of T?",
            within=0,
        ),
    ),
    work=Nest(product, _guarded),
    goals=(few(40), Goal(f"At most {IDLE:.0%} of the runs are idle.", _busy)),
    hints=(
        lambda at: (
            "A tile need not be a power of two. Nor need it be a multiple of a line here: most rows of "
            f"{at['n']} numbers do not begin at a line. It should still fit L1, about."
        ),
        "Take the T that you said, with tail='guard' in each of the three splits, and the order of the exercises "
        "before.",
        lambda at: (
            f"s.split(loop, [None, {BEST[at['n']]}], tail='guard') for each loop, then s.reorder('i.0', 'j.0', 'k.0', "
            "'i.1', 'k.1', 'j.1')."
        ),
    ),
    why=lambda at: (
        f"{_tiles(at)} tiles of {NEAR} reach to {_tiles(at) * NEAR}, and the excess counts in all three loops. Tiles "
        f"of {BEST[at['n']]} reach to {-(-at['n'] // BEST[at['n']]) * BEST[at['n']]}. Whole lines gain little here: "
        f"most rows of {at['n']} numbers do not begin at a line, so tiles of {NEAR} cut lines as well. And i.0 steps "
        f"{-(-at['n'] // BEST[at['n']])} times instead of {_tiles(at)}, so B is fetched less often."
    ),
    variants={"n": tuple(BEST)},
)
