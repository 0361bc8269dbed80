"""Which loops the pragma ``auto_unroll_max_step`` unrolls."""

from __future__ import annotations

from workbench.ir import Block, For, Func, Stmt

DEEPEST = 8
"""Loops inside each other that TVM unrolls by itself (``auto_max_depth``)."""


def loops_to_unroll(func: Func, block: str, most: int, outermost: str = "") -> list[str]:
    """Choose loops from the inside, as long as nothing but unrolled loops is inside and the statements are at most so
    many.

    Parameters
    ----------
    func : Func
    block : str
        Block of the stage that has the pragma.
    most : int
        Statements that may stand in the place of a loop.
    outermost : str, optional
        The loop that has the pragma; the outermost loop around the block by default.

    Returns
    -------
    list of str
        Names of serial loops, innermost first.
    """
    _, path = func.block(block)
    if not path or most < 2:
        return []
    found: list[str] = []
    _visit(next((loop for loop in path if loop.name == outermost), path[0]), most, found)
    return found


def _visit(s: Stmt, most: int, found: list[str]) -> tuple[int, int, bool]:
    """Statements that it is, unrolled loops inside each other, whether a loop in it stays a loop."""
    if isinstance(s, Block):
        return 1, 0, False
    steps, depth, loop_left = 0, 0, False
    for inner in s.body:
        n, d, left = _visit(inner, most, found)
        steps, depth, loop_left = steps + n, max(depth, d), loop_left or left
    if s.extent == 1 or s.kind == "vectorize":
        return steps, depth, loop_left
    fits = isinstance(s.extent, int) and s.extent * steps <= most
    if fits and s.kind == "serial" and not loop_left and depth < DEEPEST and not _bound(s):
        found.append(s.name)
        assert isinstance(s.extent, int)
        return s.extent * steps, depth + 1, False
    return steps, depth, True


def _bound(s: For) -> bool:
    """Whether a loop in it is bound to threads, which stay loops."""
    return any(isinstance(t, For) and (t.kind not in ("serial", "vectorize", "unroll") or _bound(t)) for t in s.body)
