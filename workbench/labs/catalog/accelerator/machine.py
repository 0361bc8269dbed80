"""The accelerator of the lab, the product of bytes that it computes, and what is counted of a program."""

from __future__ import annotations

from collections.abc import Callable

from workbench import markup
from workbench.codegen.vta.nests import program_of
from workbench.codegen.vta.simulator import Run, simulate
from workbench.errors import BuildError
from workbench.labs.exercise import Goal, Setting
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.workloads import matmul_int8

VTA = Target("vta")
GEMM = "vta.gemm.1x16x16"
#: Rows, columns and terms of the product.
SHAPE = (256, 128, 256)
#: Cycles until memory answers, bytes that it delivers in a cycle, and cycles until a first product.
LATENCY, BUS, FILL = 32, 8, 6
#: Numbers that a cycle of the product sums up, and sums that it makes.
BLOCK = 16


def cut(
    tile: tuple[int, int, int], threads: int, target: Target = VTA, shape: tuple[int, int, int] = SHAPE
) -> Schedule:
    """Return the product in tiles: of rows, and of blocks of 16 columns and of 16 terms; copies stand at their tiles.

    The loop j.1 shares out tiles of columns to `threads`, and is bound to nothing yet.
    """
    s = Schedule(matmul_int8(*shape, signed=True, constant_b=True, shift=7), target)
    rows, columns, terms = tile
    s.split("i", [None, rows])
    s.split("j", [None, threads, columns, BLOCK])
    s.split("k", [None, terms, BLOCK])
    s.transform_layout("B", 1, BLOCK)
    s.transform_layout("B", 1, BLOCK)
    s.reorder("i.0", "j.0", "j.1", "k.0", "i.1", "j.2", "k.1", "j.3", "k.2")
    for name in ("A", "B"):
        s.compute_at(s.cache_read("C", name), "k.0")
    s.reverse_compute_at("narrow", "j.1")
    return s


def placed(s: Schedule) -> Schedule:
    """Put what was cut into the accelerator's memories, and let its instruction compute the product."""
    s.set_scope("A.local", "inp")
    s.set_scope("B.local", "wgt")
    s.set_scope("C", "acc")
    s.tensorize("j.3", GEMM)
    return s


def run(s: Schedule) -> Run:
    """Run a schedule's program without data: cycles are the same for all."""
    return simulate(program_of(s.func, s.target if s.target is not None and s.target.kind == VTA.kind else VTA))


def _judged(judge: Callable[[Run], tuple[bool, str]]) -> Callable[[Schedule, Setting], tuple[bool, str]]:
    def reached(s: Schedule, at: Setting) -> tuple[bool, str]:
        try:
            return judge(run(s))
        except BuildError as error:
            return False, f"There is no program yet: {error.message} ({error.hint})"

    return reached


#: The nest is a program that fits.
RUNS = Goal(
    "The nest is a program of the accelerator, and fits its memories.",
    _judged(
        lambda found: (True, f"The program has {len(found.events)} instructions and takes {found.cycles:,} cycles.")
    ),
)


def busy_at_least(least: float, points: int = 1) -> Goal:
    """Return the goal that the product is busy for at least this share of the cycles."""

    def judge(found: Run) -> tuple[bool, str]:
        share = found.utilisation
        return share >= least, f"The product is busy for {share:.1%} of {found.cycles:,} cycles."

    return Goal(f"The product is busy for at least {least:.0%} of the cycles.", _judged(judge), points)


def read_at_most(most: int) -> Goal:
    """Return the goal that at most so many bytes are loaded."""

    def judge(found: Run) -> tuple[bool, str]:
        return found.bytes_read <= most, f"{markup.size(found.bytes_read)} are loaded."

    return Goal(f"At most {markup.size(most)} are loaded.", _judged(judge))
