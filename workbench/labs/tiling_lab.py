"""The exercises of the lab "Tiling by hand": a matrix product of 512 by 512 by 512."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.labs.attempt import Lab
from workbench.labs.exercise import Answer, Exercise, Goal, Prediction
from workbench.labs.load_counts import count
from workbench.workloads import matmul

if TYPE_CHECKING:
    from workbench.ir import Func
    from workbench.schedule import Schedule
    from workbench.target import Target

#: Rows and columns of the matrices: B is 1 MB, so that numbers of MB are easy to say.
SIZE = 512
MIB = 1 << 20


def tiling(target: Target | None = None) -> Lab:
    """Return the lab for one core of this machine, or for `target`."""
    return Lab("Tiling by hand", (TRAFFIC, LANES, REGISTERS), target)


def _lanes(target: Target) -> int:
    return target.lanes("float32")


def _start() -> Func:
    return matmul(SIZE, SIZE, SIZE)


# --------------------------------------------------------------------------------------------- 1: how often B passes by


def _little_traffic(func: Func, target: Target) -> tuple[bool, str]:
    loaded = count(func, _lanes(target)).loaded["B"] / MIB
    good = loaded <= 64
    end = "" if good else "; it has to be at most 64 MB"
    return good, f"Your nest loads {loaded:,.6g} MB from B{end}."


def _tile_rows(s: Schedule) -> None:
    _, i1 = s.split("i", [None, 8])
    s.reorder("i.0", "j", "k", i1)
    s.unroll(i1)


def _wrong_traffic(said: Answer, target: Target) -> str:
    return "Count how often the innermost line runs, and in which of these runs the element of B is a new one."


TRAFFIC = Exercise(
    name="traffic",
    title="How often is B loaded?",
    task="The nest as written multiplies two matrices of 512 x 512 float32 numbers (4 bytes each), so B holds 1 MB. "
    "How many MB does the core load from B in all, counting an element as often as it is loaded? An element that is "
    "loaded once may be used several times only if the uses stand next to each other: in an unrolled loop that does "
    "not move B.\n\n"
    "Now let 8 rows of C (loop i) be computed together, with the loop over these 8 rows innermost and unrolled. How "
    "many MB are loaded from B then? Predict both numbers, then change lab.traffic.schedule accordingly.",
    start=_start,
    predictions=(
        Prediction("naive", "MB loaded from B by the nest as written?", lambda t: 512.0, "MB", _wrong_traffic),
        Prediction("tiled", "MB loaded from B when 8 rows share every load?", lambda t: 64.0, "MB", _wrong_traffic),
    ),
    goals=(Goal("The nest loads at most 64 MB from B.", _little_traffic),),
    hints=(
        "The innermost line runs 512 * 512 * 512 times. Which of the three loops do not appear in B[k, j]?",
        "Every row i of C needs all of B, and B does not stay in registers from one row to the next. If 8 rows are "
        "computed at the same time, B is gone through 512 / 8 times.",
        "Split i into blocks of 8, bring the inner loop to the innermost place with reorder, and unroll it: "
        "s.split('i', [None, 8]) makes i.0 and i.1.",
    ),
    solve=_tile_rows,
    why="As written, B[k, j] is loaded anew for each of the 512 * 512 * 512 multiply-adds: 512 MB. B does not depend "
    "on i, so 8 unrolled rows share one load, and 512 / 8 = 64 MB remain.",
)


# --------------------------------------------------------------------------------------- 2: the order that vectorises


def _wrong_loop(said: Answer, target: Target) -> str:
    text = str(said).strip()
    if text == "k":
        return "All steps of k add to the same element of C, so they cannot be done side by side as they stand."
    if text == "i":
        return "The next i is a whole row away in A and in C; a vector wants neighbours in memory."
    return "Give the name of one of the three loops."


def _wrong_lanes(said: Answer, target: Target) -> str:
    return f"A vector register of this machine has {8 * target.vector_bytes} bits, a float32 number has 32."


def _full_vectors(func: Func, target: Target) -> tuple[bool, str]:
    counts, lanes = count(func, _lanes(target)), _lanes(target)
    if not counts.vectorized:
        return False, "No loop is vectorised yet."
    if counts.lanes % lanes:
        return False, f"The vectorised loop runs {counts.lanes} times, which is not a multiple of {lanes} lanes."
    return True, f"One instruction works on {lanes} neighbouring numbers along {counts.vectorized}."


def _contiguous(func: Func, target: Target) -> tuple[bool, str]:
    counts = count(func, _lanes(target))
    if not counts.vectorized:
        return False, "As long as no loop is vectorised, nothing is loaded or stored as a vector."
    far = {name: step for name, step in counts.strides.items() if step not in (0, 1)}
    if far:
        text = ", ".join(f"{step} elements apart in {name}" for name, step in far.items())
        return False, f"Neighbouring lanes lie {text}: the vector has to be gathered one by one."
    return True, "Every vector is one piece of memory, or one number for all lanes."


def _vector_order(s: Schedule) -> None:
    assert s.target is not None
    _, j1 = s.split("j", [None, _lanes(s.target)])
    s.reorder("i", "j.0", "k", j1)
    s.vectorize(j1)


LANES = Exercise(
    name="lanes",
    title="Which loop can become a vector?",
    task="One vector instruction does the same to several neighbouring numbers at once. Look at "
    "C[i, j] = C[i, j] + A[i, k] * B[k, j] and at the order of the numbers in memory (row by row). Which loop can be "
    "done by vector instructions that load and store whole pieces of memory, and how many float32 numbers does one "
    "register of this machine hold?\n\n"
    "Then bring lab.lanes.schedule into an order in which this loop can be vectorised, and vectorise it. If a step "
    "is refused, read the reason: it says what the loop order has to be like.",
    start=_start,
    predictions=(
        Prediction("loop", "Which of the loops 'i', 'j' and 'k'?", lambda t: "j", "", _wrong_loop),
        Prediction(
            "lanes", "How many float32 numbers are in one vector?", lambda t: float(_lanes(t)), "", _wrong_lanes
        ),
    ),
    goals=(
        Goal("A loop is vectorised, in whole vectors.", _full_vectors),
        Goal("Each vector that is loaded or stored is one piece of memory.", _contiguous),
    ),
    hints=(
        "Go along each loop in your mind: which of A, B and C move to the next element, to the next row, or stay?",
        "Along j, B and C move to the next element and A stays. A loop can be vectorised where it is innermost.",
        lambda t: f"Split j by {_lanes(t)}, reorder so that the inner part j.1 is innermost, then vectorize('j.1').",
    ),
    solve=_vector_order,
    why="Along j neighbours are neighbours in memory in B and C, and A[i, k] is the same number for all of them. k "
    "would add into one element from all lanes; along i the lanes would be whole rows apart.",
)


# ------------------------------------------------------------------------------------------------ 3: the register tile


def _rows_that_fit(target: Target) -> float:
    """Rows of two vectors each, beside two vectors of B and one of A."""
    return float((target.vector_registers - 3) // 2)


def _wrong_rows(said: Answer, target: Target) -> str:
    return (
        f"R rows of 2 vectors need 2 * R registers; 2 more hold the vectors of B and 1 the number from A, out of "
        f"{target.vector_registers}."
    )


def _enough_accumulators(func: Func, target: Target) -> tuple[bool, str]:
    counts, need = count(func, _lanes(target)), target.vector_registers // 2
    if not counts.accumulators or not counts.vectorized:
        return False, (
            "No tile of C stays in vector registers: inside the loop over k, every loop over C has to be unrolled or "
            "vectorised, and one of them vectorised."
        )
    end = "." if counts.accumulators >= need else f"; at least {need} are needed."
    shape = f"{counts.rows} rows × {counts.vectors} vectors"
    return counts.accumulators >= need, f"{counts.accumulators} accumulators ({shape}) stay in registers{end}"


def _fits(func: Func, target: Target) -> tuple[bool, str]:
    counts = count(func, _lanes(target))
    if not counts.accumulators:
        return False, "What is not in registers cannot fit there; see the line above."
    used = counts.accumulators + counts.vectors + 1
    text = f"The tile needs {used} of {target.vector_registers} vector registers"
    good = used <= target.vector_registers
    return good, text + ("." if good else ": what does not fit is stored and loaded again at every step of k.")


def _work_per_load(func: Func, target: Target) -> tuple[bool, str]:
    counts = count(func, _lanes(target))
    good = counts.adds_per_load >= 1.3
    shape = "" if good else "; at least 1.3 are needed, and squarer tiles have more"
    loads = f"{counts.accumulators} multiply-adds share {counts.vector_loads} loads"
    return good, f"{loads}: {counts.adds_per_load:.2f} for each load{shape}."


def _register_tile(s: Schedule) -> None:
    assert s.target is not None
    i0, i1 = s.split("i", [None, s.target.vector_registers // 4])
    j0, j1 = s.split("j", [None, 2 * _lanes(s.target)])
    s.reorder(i0, j0, "k", i1, j1)
    s.unroll(i1)
    s.vectorize(j1)


REGISTERS = Exercise(
    name="registers",
    title="A tile of C in registers",
    task=lambda t: (
        f"This machine has {t.vector_registers} vector registers of {_lanes(t)} float32 numbers. A multiply-add takes "
        "about four cycles, and one core starts up to two of them in every cycle: it needs many results that do not "
        "wait for each other. So keep a whole tile of C in registers while k runs: R rows (unrolled) by V vectors "
        "(vectorised). Each step of k then loads V vectors of B and R numbers of A for R * V multiply-adds.\n\n"
        "Predict: with V = 2 vectors, how many rows fit, if 2 registers hold the vectors of B and 1 the number from A? "
        "Then shape lab.registers.schedule. (Your number of rows need not divide 512; the one in the nest has to.)"
    ),
    start=_start,
    predictions=(Prediction("rows", "How many rows of 2 vectors fit at most?", _rows_that_fit, "rows", _wrong_rows),),
    goals=(
        Goal(
            lambda t: f"At least {t.vector_registers // 2} accumulators stay in registers while k runs.",
            _enough_accumulators,
        ),
        Goal(lambda t: f"The tile fits into {t.vector_registers} registers.", _fits),
        Goal("At least 1.3 multiply-adds for each load.", _work_per_load),
    ),
    hints=(
        "The loops of the tile stand inside k: reorder to i.0, j.0, k, i.1, j.1.",
        "Unroll the rows i.1 and vectorise the columns j.1; a column loop of 2 vectors is twice as long as one vector.",
        lambda t: (
            f"Split i by {t.vector_registers // 4} and j by {2 * _lanes(t)}, reorder to i.0, j.0, k, i.1, j.1, then "
            "unroll('i.1') and vectorize('j.1')."
        ),
    ),
    solve=_register_tile,
    why=lambda t: (
        f"{int(_rows_that_fit(t))} rows would fit; the largest number of rows below that which divides 512 is "
        f"{t.vector_registers // 4}. This makes {t.vector_registers // 2} accumulators, enough to keep the arithmetic "
        "units busy, and leaves registers for B and A."
    ),
)
