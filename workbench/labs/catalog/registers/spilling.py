"""Exercises on registers: which tile fits, how a spill looks in the assembly, and a tile that spills."""

from __future__ import annotations

from collections.abc import Callable

from workbench.labs.catalog.registers.arithmetic import HALF, SIZES, STEPS_OF_A_TILE, WHOLE_VECTORS, product, tile
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import FITS, PER_LOAD, right_for
from workbench.schedule import Schedule

# ------------------------------------------------------------------------------------------------------- 3: what fits


#: Vector registers -> a tile that fits and has most multiply-adds for each load; worked out by hand.
BEST = {8: (2, 2), 16: (4, 3), 32: (5, 5)}
#: Vectors of columns of the tile whose rows are asked for.
WIDE = 3


def best_tile(registers: int) -> tuple[int, int]:
    """Return (rows, vectors) of the tile that fits and has most multiply-adds for each load."""
    sizes = range(1, registers)
    fitting = [(r, v) for r in sizes for v in sizes if r * v + v + 1 <= registers]
    return max(fitting, key=lambda tile: tile[0] * tile[1] / (tile[0] + tile[1]))


def _best_for(registers: int) -> Goal:
    def reached(work: Callable[[int], object], at: Setting) -> tuple[bool, str]:
        found = work(registers)
        match found:
            case (int(rows), int(vectors)) if rows > 0 and vectors > 0:
                pass
            case _:
                return False, f"best_tile({registers}) is {found!r}, not two positive numbers."
        used, rate = rows * vectors + vectors + 1, rows * vectors / (rows + vectors)
        most = BEST[registers][0] * BEST[registers][1] / sum(BEST[registers])
        text = f"best_tile({registers}) is {rows} x {vectors}: {used} registers, {rate:.3g} multiply-adds for each load"
        if used > registers:
            return False, f"{text}. It does not fit."
        return rate > most - 1e-9, text + ("." if rate > most - 1e-9 else f"; {most:.3g} are possible.")

    return Goal(f"The tile for {registers} registers fits, and none that fits has more for each load.", reached)


FIT = Exercise(
    name="fit",
    title="What fits into the registers?",
    task=lambda at: (
        "A tile of R rows by V vectors has R * V accumulators. While k runs, V vectors of B and one number of A (in "
        "all lanes of a register) have to be in registers as well: R * V + V + 1 in all. How many registers does a "
        f"tile of 6 x 2 need? How many rows of {WIDE} vectors fit into the {at.registers} of this machine? A tile of "
        "16 x 2 on a machine with 32 registers: how many are missing?\n\n"
        "Then write best_tile(registers). It returns (rows, vectors) of a tile that fits and has the most multiply-"
        "adds for each load, R * V / (R + V). It need not divide any size."
    ),
    predictions=(
        Prediction(
            "used",
            "How many registers does a tile of 6 rows x 2 vectors need?",
            15,
            misconceptions=(
                Misconception(12, "These are the accumulators. What they multiply has to be somewhere, too."),
                Misconception(14, "Both vectors of B, or a number of A and one vector? All three are needed."),
                Misconception(13, "Each step uses one number of A, and vectors of B for all columns."),
                Misconception(20, "Numbers of A are used one after the other: they can share a register."),
            ),
            within=0,
        ),
        Prediction(
            "rows",
            f"How many rows of {WIDE} vectors fit into this machine's registers?",
            lambda at: (at.registers - WIDE - 1) // WIDE,
            misconceptions=(
                Misconception(lambda at: at.registers // WIDE, "This leaves none, or too few, for A and B."),
                Misconception(
                    lambda at: at.registers - WIDE - 1, "That is how many accumulators fit. How many has each row?"
                ),
            ),
            within=0,
        ),
        Prediction(
            "missing",
            "How many registers are missing for 16 rows x 2 vectors on a machine with 32?",
            3,
            misconceptions=(
                Misconception(0, "32 accumulators use all registers. Where are A and B?"),
                Misconception(2, "Two vectors of B, and nothing of A?"),
                Misconception(1, "A number of A, and nothing of B?"),
                Misconception(35, "That is how many it needs. There are 32."),
            ),
            within=0,
        ),
    ),
    work=Function("best_tile", best_tile),
    goals=tuple(map(_best_for, BEST)),
    hints=(
        "Try all: two loops over rows and vectors, from 1 on; keep what fits; return the best of what is kept.",
        "max(fitting, key=lambda tile: tile[0] * tile[1] / (tile[0] + tile[1])) is the best of a list of pairs.",
    ),
    why="The number of registers bounds the area of the tile, so it bounds the multiply-adds for each load as well: "
    "that is one reason why processors have got more registers. A tile that divides the size may be worth more than "
    "the best one on paper.",
)


# ------------------------------------------------------------------------------------------- 4: spills in the assembly


#: Pieces of loops as a compiler writes them, with (stores to the stack, loads from it).
SAMPLES = {
    "all in registers": (
        "vbroadcastss (%rdi,%rbx,4), %ymm4\nvmovups (%r11,%r14,4), %ymm5\nvmovups 32(%r11,%r14,4), %ymm6\n"
        "vfmadd231ps %ymm5, %ymm4, %ymm0\nvfmadd231ps %ymm4, %ymm6, %ymm1\naddq $4, %rbx",
        (0, 0),
    ),
    "spilled accumulators": (
        "vmovups %ymm6, (%rsp)\nvmovups %ymm5, -32(%rsp)\nvbroadcastss (%rdi,%rbx,4), %ymm2\n"
        "vmovups (%r11,%r14,4), %ymm1\nvmovups 32(%r11,%r14,4), %ymm0\nvmovups -64(%rsp), %ymm5\n"
        "vfmadd231ps %ymm1, %ymm2, %ymm5\nvmovups %ymm5, -64(%rsp)\nvmovups -96(%rsp), %ymm5\n"
        "vfmadd231ps %ymm2, %ymm0, %ymm5\nvmovups %ymm5, -96(%rsp)\nvmovups -32(%rsp), %ymm5",
        (4, 3),
    ),
    "arithmetic on the stack": (
        "subq $256, %rsp\nvmovups %zmm31, 64(%rsp)\nvfmadd231ps 64(%rsp), %zmm3, %zmm4\n"
        "vfmadd231ps (%rdi,%rbx,4){1to16}, %zmm3, %zmm5\nvaddps 128(%rsp), %zmm5, %zmm5\n"
        "vmovups %zmm5, (%rdi)\naddq $256, %rsp",
        (1, 2),
    ),
}


def stack(code: str) -> tuple[int, int]:
    """Count accesses of the stack: (stores, loads)."""
    lines = [line.strip() for line in code.splitlines() if "(%rsp" in line]
    stores = sum(line.endswith(")") for line in lines)
    return stores, len(lines) - stores


READ = Exercise(
    name="read",
    title="Spills in the assembly",
    task="What does not fit is spilled: stored to the stack, which is memory, and loaded again. The register %rsp "
    "holds the address of the stack, and 64(%rsp) is the memory 64 bytes after it. In this notation the last operand "
    "is what is written, and parentheses are memory. What is 'vmovups %ymm5, -64(%rsp)'? What is "
    "'addq $256, %rsp'? For AVX2, LLVM wrote a loop over k, four steps at a time, of a tile of 8 x 2: 64 multiply-adds "
    "and 38 accesses of the stack. How many accesses of the stack are that for each step of k?\n\n"
    "Then write stack(code): it is given lines of assembly as one text, and returns two numbers: how many "
    "instructions store to the stack, and how many load from it. A multiply-add with an operand on the stack loads.",
    predictions=(
        Prediction(
            "move",
            "What is 'vmovups %ymm5, -64(%rsp)'?",
            "a store",
            choices=("a load", "a store", "a calculation"),
            misconceptions=(
                Misconception("a load", "Which operand is the last one? That is what is written."),
                Misconception("a calculation", "-64 belongs to the address; a vector is moved."),
            ),
        ),
        Prediction(
            "add",
            "What is 'addq $256, %rsp'?",
            "a calculation",
            choices=("a load", "a store", "a calculation"),
            misconceptions=(
                Misconception("a load", "Memory has parentheses. Here the register itself is changed."),
                Misconception("a store", "Nothing goes to memory: there are no parentheses."),
            ),
        ),
        Prediction(
            "accesses",
            "How many accesses of the stack are there for each step of k?",
            9.5,
            misconceptions=(
                Misconception(38, "That is for four steps."),
                Misconception(19, "How many steps of k does one run of this loop do?"),
                Misconception(38 / 64, "That is for each multiply-add."),
                Misconception(38 / 16, "A step of k has 16 multiply-adds. How many steps are 64 of them?"),
            ),
        ),
    ),
    work=Function("stack", stack),
    goals=tuple(
        right_for(f"The count is right for code with {sample}.", [((code,), right, f"code with {sample}")])
        for sample, (code, right) in SAMPLES.items()
    ),
    hints=(
        "code.splitlines() gives the lines; '(%rsp' in line says whether the line goes to the stack.",
        "A store ends with the memory: line.strip().endswith(')').",
    ),
    why="Each access of the stack takes the place of a load that the tile was to save. And an accumulator that passes "
    "through memory makes its chain longer by a store and a load.",
)


# ------------------------------------------------------------------------------------------------------------ 5: repair


def _most_rows(at: Setting) -> int:
    """Rows of two vectors that fit, and divide the student's size."""
    return max(r for r in range(1, at.registers) if 2 * r + 3 <= at.registers and at["n"] % r == 0)


def _spilling(at: Setting) -> Schedule:
    s = Schedule(product(at), at.target)
    tile(s, at, at.registers // 2, 2)
    return s


def _mend(s: Schedule, at: Setting) -> None:
    s.undo(len(s.trace))
    tile(s, at, _most_rows(at), 2)


REPAIR = Exercise(
    name="repair",
    title="Repair: a tile that spills",
    task=lambda at: (
        f"Somebody has read that many accumulators are good, and gave the product of {at['n']} x {at['n']} matrices "
        f"a tile of {at.registers // 2} rows x 2 vectors, on a machine with {at.registers} vector registers. How many "
        "registers does it need? How many multiply-adds for each load would it have, if it fitted? What is "
        f"the largest number of rows of 2 vectors that fits and divides {at['n']}?\n\n"
        "Mend it: the tile is to fit, and to stay large."
    ),
    predictions=(
        Prediction(
            "needed",
            lambda at: f"How many registers does the tile of {at.registers // 2} x 2 need?",
            lambda at: at.registers + 3,
            misconceptions=(
                Misconception(
                    lambda at: at.registers, "That is the number of its accumulators. What else is in registers?"
                ),
                Misconception(lambda at: at.registers + 2, "Vectors of B, and nothing of A?"),
                Misconception(lambda at: at.registers + 1, "How many vectors of B are needed in each step of k?"),
            ),
            within=0,
        ),
        Prediction(
            "paper",
            "How many multiply-adds for each load would it have, if it fitted?",
            lambda at: at.registers / (at.registers // 2 + 2),
            misconceptions=(
                Misconception(lambda at: at.registers // 2, "A number of A is loaded for each row as well."),
                Misconception(
                    lambda at: (at.registers // 2 + 2) / at.registers, "That is loads for each multiply-add."
                ),
                Misconception(
                    lambda at: at.registers / (at.registers + 3), "That is by registers. What is loaded at a step of k?"
                ),
                Misconception(2, "A number of A is loaded for each row; the two vectors of B come to that."),
            ),
        ),
        Prediction(
            "rows",
            lambda at: f"What is the largest number of rows of 2 vectors that fits and divides {at['n']}?",
            _most_rows,
            misconceptions=(
                Misconception(lambda at: at.registers // 2, "That is the tile as it is."),
                Misconception(lambda at: (at.registers - 1) // 2, "This does not leave enough for A and B."),
                Misconception(1, "One row fits. Do more of them fit?"),
                Misconception(2, "Two rows fit. Do more of them fit?"),
            ),
            wrong=lambda at: f"R rows need 2 * R + 3 registers of {at.registers}; and {at['n']} / R is a whole number.",
            within=0,
        ),
    ),
    work=Nest(_spilling, _mend),
    goals=(FITS, HALF, PER_LOAD, WHOLE_VECTORS),
    hints=(
        "s.undo(n) takes back the last n steps. Which of the two splits is to be another?",
        lambda at: (
            f"s.undo(5), then s.split('i', [None, {at.registers // 4}]), s.split('j', [None, {2 * at.lanes}]), "
            f"{STEPS_OF_A_TILE}."
        ),
    ),
    why=lambda at: (
        f"On paper the large tile has {at.registers / (at.registers // 2 + 2):.3g} multiply-adds for each load, but it "
        "needs three registers more than there are, and the stack is accessed in every step of k. With "
        f"{_most_rows(at)} rows there are {2 * _most_rows(at) / (_most_rows(at) + 2):.3g}, and nothing is spilled."
    ),
    variants=SIZES,
)
