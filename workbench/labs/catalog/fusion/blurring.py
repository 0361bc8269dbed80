"""The blur, and what its schedules are judged by: where bx is computed, and whether it is inlined."""

from __future__ import annotations

from workbench import te
from workbench.analysis.cache.levels import KIB
from workbench.ir import Func
from workbench.labs.counting import stages
from workbench.labs.exercise import Setting
from workbench.schedule import Schedule

#: Bytes that a temporary may have: what the first cache of most processors holds.
ROOM = 32 * KIB
#: Rows and columns of the square image.
SIZES = {"n": (512, 384, 640)}


def blur(rows: int, columns: int) -> Func:
    """Return a blur of 3 by 3: `bx` is the mean of three neighbours in a row, `by` of three rows of `bx`."""
    image = te.placeholder((rows + 2, columns + 2), name="A")
    bx = te.compute(
        (rows + 2, columns), lambda y, x: (image[y, x] + image[y, x + 1] + image[y, x + 2]) * (1 / 3), name="bx"
    )
    by = te.compute((rows, columns), lambda y, x: (bx[y, x] + bx[y + 1, x] + bx[y + 2, x]) * (1 / 3), name="by")
    return te.func(by, name="blur")


def square(at: Setting) -> Func:
    """Return the blur of the student's square image."""
    return blur(at["n"], at["n"])


def rows_kib(at: Setting, rows: int) -> float:
    """KiB of so many rows of `bx`."""
    return rows * at["n"] * 4 / KIB


def by_rows(s: Schedule, at: Setting) -> tuple[bool, str]:
    """Reached where `bx` is not inlined, and at least a row of it is kept at a time."""
    stage = stages(s.func).get("bx")
    if stage is None:
        return False, "bx is gone: it was inlined."
    if stage.kept < rows_kib(at, 1) * KIB:
        return False, f"{stage.kept:,.6g} bytes of bx are kept: less than a row. Which loop runs over the rows of by?"
    return True, "bx is a stage of its own, computed by whole rows."


def is_inlined(s: Schedule, at: Setting) -> tuple[bool, str]:
    """Reached where `bx` is inlined."""
    there = "bx" in stages(s.func)
    return not there, "bx is still a stage with a temporary." if there else "bx is inlined: there is no temporary."
