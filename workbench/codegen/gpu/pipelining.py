"""Double buffering: copies to shared memory run one iteration ahead of what reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from workbench.codegen.gpu.combining import PART
from workbench.ir import Affine, Block, Bound, Buffer, Digit, For, Func, Load, Stmt, blocks, loops
from workbench.ir.pipelines import PIPELINE, fetched, fetches
from workbench.ir.poly import concrete
from workbench.ir.stmt import map_block, map_block_loads, rewrite


def pipelined(func: Func) -> Func:
    """Return the lowered function with two places for what loops with the note "pipeline" fetch.

    Iteration k of such a loop reads place ``k % 2``. Its first statements ask for what k + 1 reads, where there is such
    an iteration, its last ones store that to the other place. What iteration 0 reads is fetched before the loop.
    """
    maker = _Maker(func)

    def fn(s: Stmt) -> tuple[Stmt, ...] | None:
        if not isinstance(s, For) or s.note(PIPELINE) is None or not (names := fetched(func, s)):
            return None
        return tuple(maker.loop(s, names))

    body = rewrite(func.body, fn)
    return replace(func.with_buffers(maker.buffers), body=body) if maker.buffers else func


@dataclass(slots=True)
class _Maker:
    func: Func
    buffers: list[Buffer] = field(default_factory=list)

    def loop(self, lp: For, names: frozenset[str]) -> Iterator[Stmt]:
        """The fetches for the first iteration, and the loop."""
        ahead = fetches(self.func, lp)
        this = Affine(((Digit(lp.name, 1, 2), 1),))
        for name in sorted(names):
            b = self.func.buffer(name)
            align = tuple(replace(a, dim=a.dim + 1) for a in b.align)
            self.buffers.append(replace(b, shape=(2, *b.shape), align=align))
        for s in ahead:
            yield _noted(_each(s, lambda b: _first(b, lp.name)), s.name)
        kept = tuple(_each(s, lambda b: _reading(b, names, this)) for s in lp.body if s not in ahead)
        asked, stored = zip(*(self._in_two(lp, s, this) for s in ahead), strict=True)
        yield lp.around((*asked, *kept, *stored))

    def _in_two(self, lp: For, s: Stmt, this: Affine) -> tuple[Stmt, Stmt]:
        """A fetch for the next iteration: to registers first, and from there to shared memory when all is computed."""
        last = Bound(Affine.var(lp.name), 0, concrete(lp.extent) - 1)
        held = {}
        for b, path in blocks((s,)):
            name = self.func.fresh_name(f"{b.buffer}.next")
            self.buffers.append(
                Buffer(name, tuple(x.extent for x in path), self.func.buffer(b.buffer).dtype, scope="local")
            )
            held[b.name] = Load(name, tuple(Affine.var(x.name) for x in path))

        def asked(b: Block) -> Block:
            at = held[b.name]
            b = map_block(b, _same, _at({lp.name: Affine.var(lp.name) + 1}))
            return replace(b, name=at.buffer, buffer=at.buffer, index=at.index, guard=(*b.guard, last))

        def stored(b: Block) -> Block:
            at = held[b.name]
            b = map_block(b, _same, _at({lp.name: Affine.var(lp.name) + 1}))
            return replace(b, index=(this * -1 + 1, *b.index), value=at, guard=(*b.guard, last))

        return _noted(self._renamed(_each(s, asked)), s.name), _noted(_each(s, stored), s.name)

    def _renamed(self, s: Stmt) -> Stmt:
        """The statement with loops of its own: loops of one name in two places are taken for one."""
        new = {lp.name: self.func.fresh_name(f"{lp.name}.next") for lp, _ in loops((s,))}
        env = {old: Affine.var(name) for old, name in new.items()}

        def block(b: Block) -> Block:
            iters = tuple(replace(it, name=new.get(it.name, it.name)) for it in b.iters)
            return map_block(replace(b, iters=iters), _at(env), _at(env))

        def fn(s: Stmt) -> Stmt:
            return block(s) if isinstance(s, Block) else replace(s, name=new[s.name], body=tuple(map(fn, s.body)))

        return fn(s)


def _first(b: Block, loop: str) -> Block:
    """The block in iteration 0 of a loop that it is not in any more."""
    iters = tuple(it for it in b.iters if it.name != loop)
    b = map_block(
        replace(b, iters=iters, binds=tuple(Affine.var(it.name) for it in iters)), _same, _at({loop: Affine()})
    )
    return replace(b, index=(Affine(), *b.index), name=f"{b.name}, first")


def _reading(b: Block, names: frozenset[str], place: Affine) -> Block:
    """The block with one more index where it reads these buffers."""
    return map_block_loads(b, lambda ld: replace(ld, index=(place, *ld.index)) if ld.buffer in names else ld)


def _same(form: Affine) -> Affine:
    return form


def _at(env: dict[str, Affine]) -> Callable[[Affine], Affine]:
    return lambda form: form.subst(env)


def _each(s: Stmt, fn: Callable[[Block], Block]) -> Stmt:
    """The statement with a function applied to its blocks."""
    return fn(s) if isinstance(s, Block) else s.around(tuple(_each(c, fn) for c in s.body))


def _noted(s: Stmt, row: str) -> Stmt:
    return replace(s, notes=(*s.notes, (PART, row)))
