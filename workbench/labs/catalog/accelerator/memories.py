"""Exercise on the three memories, the instruction, and the cycles of a tile."""

from __future__ import annotations

from workbench.ir import blocks
from workbench.labs.catalog.accelerator.machine import BLOCK, BUS, FILL, GEMM, LATENCY, RUNS, SHAPE, cut, placed
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.schedule import Schedule

#: Rows of a tile; it has 64 columns and 64 terms for everybody.
SIZES = {"rows": (64, 32, 128)}
SIDE = 64
_B = LATENCY + SIDE * SIDE // BUS


def _load(at: Setting) -> int:
    return LATENCY + at["rows"] * SIDE // BUS


def _products(at: Setting) -> int:
    return at["rows"] * (SIDE // BLOCK) ** 2


def _share(at: Setting) -> float:
    return 100 * _products(at) / (_load(at) + _B + FILL + _products(at))


def _in_memory(s: Schedule, at: Setting) -> tuple[bool, str]:
    where = {b.name: b.scope for b in s.func.buffers if b.role == "temp"}
    wanted = {"A.local": "inp", "B.local": "wgt", "C": "acc"}
    found = {name: where[name] for name in wanted if name in where}
    wrong = [f"{name} in {scope!r}" for name, scope in found.items() if scope != wanted[name]]
    right = [f"{name} in {scope!r}" for name, scope in found.items() if scope == wanted[name]]
    if wrong and right:
        return False, f"Right: {', '.join(right)}. Not yet: {', '.join(wrong)}."
    return not wrong, f"None is in its memory yet: {', '.join(wrong)}." if wrong else "Each tile lies in its memory."


def _by_instruction(s: Schedule, at: Setting) -> tuple[bool, str]:
    found = [lp.intrin for _, path in blocks(s.func.body) for lp in path if lp.intrin]
    return found == [GEMM], f"{found[0]} computes the innermost loops." if found else "No instruction computes a loop."


def _place(s: Schedule, at: Setting) -> None:
    placed(s)


MEMORIES = Exercise(
    name="memories",
    title="Three memories and an instruction",
    task=lambda at: (
        f"C = A * B, {SHAPE[0]} by {SHAPE[1]} with {SHAPE[2]} terms, of bytes. The accelerator has a memory for data "
        "(inp) and one for weights (wgt), both of bytes, and one for sums of 32 bits (acc). A program fills them: a "
        f"load takes {LATENCY} cycles until memory answers, then {BUS} bytes come in each cycle. One cycle of the "
        f"product takes a row of {BLOCK} bytes and {BLOCK} by {BLOCK} weights, and adds to {BLOCK} sums; an "
        f"instruction of the product does as many of these as it is told, after {FILL} cycles.\n\n"
        f"The nest is cut: in each step of k.0, {at['rows']} rows of A and {SIDE} columns of B, {SIDE} terms deep, "
        "are loaded and multiplied. How many cycles does the load of the tile of A take? How many cycles of the "
        "product does a step need, without those at its beginning? If the two loads and the product take turns, for "
        "which share of a step, the product's beginning included, is there a product?\n\n"
        "B and its tiles are packed: in blocks of 16 by 16, one after the other, as the instruction takes them.\n\n"
        "Then say where the tiles A.local, B.local and C lie (set_scope), and let the instruction compute the loops "
        f"j.3 and k.2: tensorize('j.3', '{GEMM}')."
    ),
    predictions=(
        Prediction(
            "load",
            "How many cycles does the load of a tile of A take?",
            _load,
            "cycles",
            (
                Misconception(
                    lambda at: at["rows"] * SIDE // BUS, "That is how long its bytes take. And until the first comes?"
                ),
                Misconception(lambda at: at["rows"] * SIDE, f"{BUS} bytes come in one cycle."),
                Misconception(
                    lambda at: LATENCY * at["rows"] + at["rows"] * SIDE // BUS,
                    "A tile is one instruction, of many rows: memory lets it wait once.",
                ),
            ),
            wrong="Until memory answers, and then the bytes of the tile by those of a cycle.",
        ),
        Prediction(
            "products",
            "How many cycles of the product does a step need?",
            _products,
            "cycles",
            (
                Misconception(
                    lambda at: at["rows"] * SIDE * SIDE, "That many multiplications. A cycle does many of them."
                ),
                Misconception(
                    lambda at: at["rows"] * SIDE // BLOCK, f"Columns and terms are both taken in blocks of {BLOCK}."
                ),
                Misconception(
                    lambda at: at["rows"] * (SIDE // BLOCK), "How many blocks of columns, and how many of terms?"
                ),
                Misconception(lambda at: (SIDE // BLOCK) ** 2, "That is one row. A cycle takes one row of A."),
            ),
            wrong="One cycle for a row of A, a block of columns and a block of terms.",
            within=0,
        ),
        Prediction(
            "share",
            "For which share of a step is there a product?",
            _share,
            "%",
            (
                Misconception(
                    lambda at: 100 * _products(at) / (_load(at) + FILL + _products(at)), "B is loaded as well."
                ),
                Misconception(lambda at: 100 - _share(at), "That is the share without a product."),
                Misconception(100, "They take turns: while something is loaded, nothing is computed."),
            ),
            wrong="The product's cycles, over those of both loads and of the product.",
        ),
    ),
    work=Nest(lambda at: cut((at["rows"], SIDE // BLOCK, SIDE // BLOCK), 1), _place),
    goals=(
        Goal("A.local, B.local and C lie in memories of the accelerator.", _in_memory),
        Goal(f"{GEMM} computes the innermost loops.", _by_instruction),
        RUNS,
    ),
    hints=(
        "A is data, B are weights, C are sums.",
        f"s.set_scope('A.local', 'inp'), and so on; then s.tensorize('j.3', '{GEMM}').",
    ),
    why="A copy to a memory of the accelerator is one instruction, and so is the product of two tiles. While the "
    "engines take turns, about half of the time nothing is multiplied: larger tiles help, and the next exercises.",
    variants=SIZES,
)
