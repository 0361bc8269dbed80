"""Reductions by the threads of a block together: a tree in shared memory, written as statements of the nest.

Each thread keeps the result of its part, then half of the threads take over another thread's, until one has all. The
barriers in between follow from what the statements read and write, as others do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from workbench.ir import Affine, Binary, Block, Buffer, Expr, For, Func, Iter, Load, Stmt
from workbench.ir.expr_dtypes import neutral
from workbench.ir.poly import concrete
from workbench.ir.stmt import combined

#: Note of a nest that stands for a part of a loop of the schedule: the loop's name.
PART = "part"


def with_trees(func: Func) -> Func:
    """Return the lowered function with a tree in the place of each loop over threads that reduces."""
    maker = _Maker(func)
    body = tuple(new for s in func.body for new in maker.statements(s, ()))
    return replace(func.with_buffers(maker.buffers), body=body) if maker.buffers else func


@dataclass(slots=True)
class _Maker:
    func: Func
    buffers: list[Buffer] = field(default_factory=list)

    def statements(self, s: Stmt, path: tuple[For, ...]) -> tuple[Stmt, ...]:
        """What stands in the place of a statement."""
        if not isinstance(s, For):
            return (s,)
        block = combined(s)
        if block is not None and concrete(s.extent) > 1:
            return tuple(self._tree(s, block, path))
        return (s.around(tuple(new for c in s.body for new in self.statements(c, (*path, s)))),)

    def _tree(self, lp: For, b: Block, path: tuple[For, ...]) -> Iterator[Stmt]:
        op, term = b.update()
        dtype, many = self.func.buffer(b.buffer).dtype, concrete(lp.extent)
        part = self.func.fresh_name(f"{b.buffer}.part{len(self.buffers) or ''}")
        self.buffers.append(Buffer(part, (many,), dtype, scope="shared"))
        around = tuple(Iter(x.name, x.extent, "S") for x in path)
        mine = Load(part, (Affine.var(lp.name),))
        first = _block(f"{b.name}, part", (*around, Iter(lp.name, many, "S")), part, mine, term)
        inner = [it for it in b.iters if it.name not in {x.name for x in (*path, lp)}]
        if inner:
            iters = (*first.iters, *inner)
            binds = tuple(Affine.var(it.name) for it in iters)
            first = replace(first, iters=iters, binds=binds, value=Binary(op, mine, term), init=neutral(op, dtype))
        yield _noted(lp.around((_inside(lp.body[0], first),)), lp.name)
        while many > 1:
            half = (many + 1) // 2
            name = self.func.fresh_name(f"{lp.name}.{half}")
            mine, other = (Load(part, (Affine.var(name) + at,)) for at in (0, half))
            iters = (*around, Iter(name, many - half, "S"))
            step = _block(f"{b.name}, part + {half}", iters, part, mine, Binary(op, mine, other))
            yield _noted(For(name, many - half, (step,), lp.kind), lp.name)
            many = half
        outside = tuple(it for it in b.iters if it.name in {x.name for x in path})
        whole = Binary(op, b.own_load(), Load(part, (Affine(),)))
        yield replace(b, iters=outside, binds=tuple(Affine.var(it.name) for it in outside), value=whole)


def _block(name: str, iters: tuple[Iter, ...], buffer: str, at: Load, value: Expr) -> Block:
    return Block(name, iters, tuple(Affine.var(it.name) for it in iters), buffer, at.index, value)


def _inside(s: Stmt, block: Block) -> Stmt:
    """The block within the loops that hold the one of a statement."""
    return s.around((_inside(s.body[0], block),)) if isinstance(s, For) else block


def _noted(s: Stmt, loop: str) -> Stmt:
    return replace(s, notes=((PART, loop),))
