"""Small wrong changes to the rewrites and to what makes them legal; the suite must notice each.

A mutation replaces text in one module. `install` makes the import system load that module with the change, so nothing
is written anywhere.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType


def _pattern(text: str) -> re.Pattern[str]:
    """Match the text however it is broken into lines."""
    tokens = re.findall(r"\w+|[^\w\s]", text)
    parts = [r",?\s*" + re.escape(t) if t in ")]}" else re.escape(t) for t in tokens]
    return re.compile(r"\s*".join(parts))


@dataclass(frozen=True)
class Mutation:
    """Replace `old` by `new` (each `old` occurs once) in `module`; `primitive` is the one that it breaks."""

    primitive: str
    module: str
    what: str
    edits: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.primitive}: {self.what}"

    def apply(self, source: str) -> str:
        for old, new in self.edits:
            places = list(_pattern(old).finditer(source))
            if len(places) != 1:
                raise AssertionError(f"{self}: the text occurs {len(places)} times in {self.module}: {old!r}")
            source = source[: places[0].start()] + new + source[places[0].end() :]
        return source

    def source(self) -> str:
        """Text of the module with the change."""
        spec = importlib.util.find_spec(self.module)
        assert spec is not None, self.module
        assert spec.origin is not None, self.module
        return self.apply(Path(spec.origin).read_text(encoding="utf-8"))


_S = "workbench.schedule."
_P = "workbench.schedule.primitives."
_G = "workbench.codegen."
_I = "workbench.intrinsics."


def _m(primitive: str, module: str, what: str, *edits: str) -> Mutation:
    return Mutation(primitive, module, what, tuple(zip(edits[::2], edits[1::2], strict=True)))


MUTATIONS: tuple[Mutation, ...] = (
    _m(
        "split",
        _S + "rewrite",
        "a part has the weight of another",
        "w = normal(w * sizes[k], func.relations)",
        "w = normal(w * sizes[-1 - k], func.relations)",
    ),
    _m(
        "split",
        _S + "rewrite",
        "the loops have each other's extents",
        "nest(list(zip(names, factors, strict=True)), rewrite(lp.body, inner))",
        "nest(list(zip(names, reversed(factors), strict=True)), rewrite(lp.body, inner))",
    ),
    _m(
        "split",
        _P + "split",
        "factors need not make up the extent",
        "fits = rest is not None and (None in dims or equal(rest, 1, func.relations))",
        "fits = rest is not None",
    ),
    _m(
        "split",
        _P + "split",
        "a hole that is split again leaves its relation as it was",
        "tuple(x for n in r.lhs for x in (names if n == old else (n,)))",
        "tuple(x for n in r.lhs for x in (names[:1] if n == old else (n,)))",
    ),
    _m(
        "split",
        _S + "tails",
        "the tail runs",
        "bound = Bound(Affine.var(part.axis.name), 0, part.axis.extent)",
        "bound = Bound(Affine.var(part.axis.name), 0, part.axis.extent + 1)",
    ),
    _m(
        "split",
        _S + "tails",
        "the rest begins at the beginning",
        "shift = {axis: Affine.var(axis) + start}",
        "shift = {axis: Affine.var(axis)}",
    ),
    _m(
        "split",
        _S + "tails",
        "the rest of a reduction starts again",
        'return replace(block, init=block.own_load()) if part.axis.kind == "R" else block',
        "return block",
    ),
    _m(
        "split",
        _S + "tails",
        "a temporary of the loop lies where it was",
        "env[lp.name] = env[lp.name] + whole",
        "pass",
    ),
    _m(
        "split",
        _S + "tails",
        "any part of an axis will do",
        "return _Part(it, step) if alone and equal(step * extents[loop], it.extent, func.relations) else None",
        "return _Part(it, step)",
    ),
    _m(
        "split",
        _S + "tails",
        "readers may come between",
        "if readers or others:",
        "if False:",
    ),
    _m(
        "tile",
        _P + "split",
        "the second loop takes the factors of the first",
        "Split(self.second, self.others)",
        "Split(self.second, self.factors)",
        'raise Refusal("tile.split", e.message, e.where, e.hint, e.witness) from None',
        "return func, ()",
    ),
    _m(
        "tile",
        _P + "split",
        "the parts are not put in order",
        "func, _ = Reorder(names).apply(func)",
        "pass",
    ),
    _m(
        "fuse",
        _P + "loop",
        "the outer part is not divided",
        "return digit(d.lower * b.extent, digit_extent(d, {outer: a.extent}))",
        "return digit(d.lower, digit_extent(d, {outer: a.extent}))",
    ),
    _m(
        "fuse",
        _P + "loop",
        "the inner part wraps too late",
        "return digit(d.lower, digit_extent(d, {inner: b.extent}))",
        "return digit(d.lower, digit_extent(d, {inner: b.extent}) * 2)",
    ),
    _m("fuse", _P + "loop", "loops of both kinds may be fused", "if inner and outer:", "if False:"),
    _m(
        "fuse",
        _P + "loop",
        "statements beside the inner loop are lost",
        "if len(lp.body) != 1 or not isinstance(child, For) or child.name != inner:",
        "if not isinstance(child, For) or child.name != inner:",
    ),
    _m(
        "reorder",
        _P + "loop",
        "statements beside a loop are lost",
        "if len(lp.body) != 1 or not isinstance(child, For):\n                inside = ",
        "if not isinstance(child, For):\n                inside = ",
    ),
    _m(
        "reorder",
        _P + "loop",
        "the extents stay where they were",
        "body = (replace(lp, body=body),)\n        func",
        "body = (For(lp.name, links[order.index(lp)].extent, body),)\n        func",
    ),
    _m(
        "reorder",
        _P + "loop",
        "a loop that repeats a reduction may come inside it",
        'legality.check_reductions(func, [b for b, _ in blocks(body)], "reorder")',
        "pass",
    ),
    _m(
        "parallel",
        _S + "legality",
        "any loop may be parallel",
        'check_independent(func, loop, "parallel", "running it in parallel")',
        "pass",
    ),
    _m(
        "parallel",
        _S + "legality",
        "every loop is taken to write elements of its own",
        "return tiles(known, varying[loop], func.relations)",
        "return True",
    ),
    _m(
        "parallel",
        _S + "legality",
        "a temporary is always taken to be private",
        "return all(any(lp.name == loop for lp in p) for b, p in blocks(func.body)",
        "return any(any(lp.name == loop for lp in p) for b, p in blocks(func.body)",
    ),
    _m(
        "parallel",
        _P + "annotation",
        "the loop loses an iteration",
        "(replace(lp, kind=kind),)",
        "(replace(lp, kind=kind, extent=lp.extent - (kind == 'parallel')),)",
    ),
    _m(
        "vectorize",
        _S + "legality",
        "any loop may be a vector",
        'check_independent(func, loop, "vectorize", "vectorising it")',
        "pass",
    ),
    _m(
        "vectorize",
        _P + "annotation",
        "the loop loses an iteration",
        "(replace(lp, kind=kind),)",
        "(replace(lp, kind=kind, extent=lp.extent - (kind == 'vectorize')),)",
    ),
    _m(
        "unroll",
        _P + "annotation",
        "the loop becomes parallel",
        'mark(func, self.loop, "unroll")',
        'mark(func, self.loop, "parallel")',
    ),
    _m(
        "unroll",
        _P + "annotation",
        "the loop loses an iteration",
        "(replace(lp, kind=kind),)",
        "(replace(lp, kind=kind, extent=lp.extent - (kind == 'unroll')),)",
    ),
    _m(
        "bind",
        _S + "standing",
        "any loop may be bound",
        'legality.check_independent(func, loop, "bind", f"binding it to {lp.kind}")',
        "pass",
    ),
    _m(
        "bind",
        _P + "binding",
        "another part of the device",
        "mark(func, self.loop, kind)",
        'mark(func, self.loop, "vthread")',
    ),
    _m(
        "annotate",
        _P + "annotation",
        "a note that is there stays",
        "dict(notes) | {self.key: self.value}",
        "{self.key: self.value} | dict(notes)",
    ),
    _m("annotate", "workbench.ir.printer", "a text is not quoted", "v if isinstance(v, int) else _quoted(v)", "v"),
    _m(
        "set_scope",
        "workbench.ir.compact",
        "iterations that run at once may share what is local",
        "if lp.name not in home and lp.kind in kinds:",
        "if False:",
    ),
    _m(
        "set_scope",
        _P + "storage",
        "every scope is taken to be local",
        "func = func.with_buffers([replace(buffer, scope=cast(Scope, self.scope))])",
        'func = func.with_buffers([replace(buffer, scope="local")])',
    ),
    _m(
        "storage_align",
        "workbench.ir.func",
        "the offset is forgotten",
        "step += (padding[dim].offset - step) % padding[dim].factor",
        "step += -step % padding[dim].factor",
    ),
    _m(
        "storage_align",
        "workbench.ir.func",
        "padded rows get the memory of dense ones",
        "span = self.strides()[0] * self.shape[0] if self.shape else 1",
        "span = self.size",
    ),
    _m(
        "blockize",
        _S + "standing",
        "loops may be put into a unit",
        "if now is not None and list(_skeleton(now)) == list(_skeleton(unit)):",
        "if True:",
    ),
    _m(
        "blockize",
        _S + "standing",
        "what is inside may be named",
        "if s.name in wanted:",
        "if False:",
    ),
    _m(
        "compute_at",
        _P + "placement",
        "the part begins at 0",
        "binds.append(span.base + Affine.var(name))",
        "binds.append(Affine.var(name))",
        'legality.check_flow(new, block.buffer, "compute_at.consumers")',
        "pass",
    ),
    _m(
        "compute_at",
        _P + "placement",
        "the halo is left out",
        "spans = _part(moved, lp, block.buffer, block, writes=False)\n",
        "spans = _part(moved, lp, block.buffer, block, writes=False)\n"
        "        cut = [s.width - (isinstance(s.width, int) and s.width > 2) for s in spans]\n"
        "        spans = tuple(Span(s.base, w) for s, w in zip(spans, cut, strict=True))\n",
        'legality.check_flow(new, block.buffer, "compute_at.consumers")',
        "pass",
    ),
    _m(
        "compute_at",
        _P + "placement",
        "the part may lie outside of the buffer",
        "elif not inside:",
        "elif False:",
    ),
    _m(
        "compute_at",
        _P + "placement",
        "the block runs after its readers",
        "inner, first=True))",
        "inner, first=False))",
        'legality.check_flow(new, block.buffer, "compute_at.consumers")',
        "pass",
    ),
    _m(
        "compute_at",
        _P + "placement",
        "what the block reads need not be there",
        'legality.check_flow(new, name, "compute_at.producer")',
        "pass",
    ),
    _m(
        "compute_at",
        _P + "placement",
        "readers outside of the loop are forgotten",
        "if outside:",
        "if False:",
        'legality.check_flow(new, block.buffer, "compute_at.consumers")',
        "pass",
    ),
    _m(
        "reverse_compute_at",
        _P + "placement",
        "the loops need not cover the block",
        "if not bijective(bind, extents, reach if it.name in guard else it.extent, func.relations):",
        "if False:",
    ),
    _m(
        "reverse_compute_at",
        _P + "placement",
        "the reduction need not be finished",
        "if running:",
        "if False:",
        'legality.check_flow(new, name, "reverse_compute_at.producer")',
        "pass",
    ),
    _m(
        "reverse_compute_at",
        _P + "placement",
        "the block may read elements that are not ready",
        'legality.check_flow(new, name, "reverse_compute_at.producer")',
        "pass",
        "if axis is None or part.setdefault(axis, span) != span:",
        "if axis is None:\n                    continue\n                if part.setdefault(axis, span) != span:",
    ),
    _m(
        "compute_inline",
        _P + "inline",
        "the value is not moved to the reader's index",
        "lambda a: a.subst(env))",
        "lambda a: a)",
    ),
    _m(
        "compute_inline",
        _P + "inline",
        "the index is read backwards",
        "for axis, x in zip(axes, ld.index, strict=True) if",
        "for axis, x in zip(axes, ld.index[::-1], strict=True) if",
    ),
    _m(
        "compute_inline",
        _P + "inline",
        "a reduction may be inlined",
        'if block.is_reduction or any(it.kind == "R" for it in block.iters):',
        "if False:",
    ),
    _m(
        "compute_inline",
        _P + "inline",
        "an output may be inlined",
        'if func.buffer(block.buffer).role != "temp":',
        "if False:",
    ),
    _m(
        "reverse_compute_inline",
        _P + "inline",
        "another element is made",
        "env[axis] = Affine.var(str(its))",
        "env[axis] = Affine.var(str(axes[-1]))",
        "good = good and (same or (it.name not in env and it.extent == 1))",
        "good = good or same",
    ),
    _m(
        "reverse_compute_inline",
        _P + "inline",
        "any operator may be put into the initial value",
        "case Binary(same, a, b) if same == op and own in (a, b):",
        "case Binary(_, a, b) if own in (a, b):",
    ),
    _m(
        "reverse_compute_inline",
        _P + "inline",
        "the initial value is lost",
        "init = other if empty else Binary(op, start, other)",
        "init = start",
    ),
    _m(
        "reverse_compute_inline",
        _P + "inline",
        "what else is read need not be there",
        'legality.check_flow(new, name, "reverse_compute_inline.order")',
        "pass",
    ),
    _m(
        "cache_write",
        _P + "cache",
        "the block accumulates onto the old buffer",
        "replace(map_block_loads(b, load), buffer=local.name)",
        "replace(b, buffer=local.name)",
    ),
    _m("cache_write", _P + "cache", "the copy comes too early", "body[:k] + copies + body[k:]", "copies + body"),
    _m(
        "cache_write", _P + "cache", "the copy comes after its readers", "body[:k] + copies + body[k:]", "body + copies"
    ),
    _m(
        "cache_write",
        _P + "cache",
        "the copy leaves out a row",
        "zip(loops, buffer.shape, strict=True)), (copy,))",
        "zip(loops, (buffer.shape[0] - (buffer.shape[0] != 1), *buffer.shape[1:]), strict=True)), (copy,))",
    ),
    _m("cache_write", _P + "cache", "other writers are forgotten", "if others:", "if False:"),
    _m(
        "cache_read",
        _P + "cache",
        "the copy comes after its reader",
        "(*body[:k], *first, *body[k:])",
        "(*body[: k + 1], *first, *body[k + 1 :])",
    ),
    _m(
        "cache_read",
        _P + "cache",
        "later writers are forgotten",
        "if late:",
        "if False:",
    ),
    _m(
        "cache_read",
        _P + "cache",
        "the copy leaves out a row",
        "zip(names, buffer.shape, strict=True)), (copy,))",
        "zip(names, (buffer.shape[0] - (buffer.shape[0] != 1), *buffer.shape[1:]), strict=True)), (copy,))",
    ),
    _m("pad", _P + "padding", "reads beyond the end go on", "conds = missing(e, known)", "conds = ()"),
    _m(
        "pad",
        _P + "padding",
        "the padding of a sum counts",
        "neutral(op, dtype_of(term, func))",
        'neutral("mul", dtype_of(term, func))',
    ),
    _m(
        "pad",
        _P + "padding",
        "a condition on the product is taken for granted",
        "term = _zero_factors(func, term, bound)",
        "pass",
    ),
    _m(
        "pad",
        _P + "padding",
        "every temporary is taken to be zero beyond its old end",
        "return e if _zero_beyond(func, e, bound)",
        "return e if func.buffer(e.buffer).role == 'temp'",
    ),
    _m(
        "pad",
        _P + "padding",
        "a constant is not padded ahead of time",
        "layout=(*buffer.layout, step)",
        "layout=buffer.layout",
    ),
    _m("pad", _P + "padding", "the padding is not zero", "Select((*conds, bound), a, zero)", "Select(conds, a, zero)"),
    _m(
        "pad",
        _P + "padding",
        "the result does not grow",
        "shape = (*buffer.shape[: site.dim], extent",
        "shape = (*buffer.shape[: site.dim], it.extent",
    ),
    _m(
        "reverse_compute_at",
        _P + "placement",
        "what lies beyond the end is computed too",
        "out[it.name] = Bound(Affine.var(it.name), 0, it.extent)",
        "out[it.name] = Bound(Affine.var(it.name), 0, it.extent + 1)",
    ),
    _m(
        "decompose_reduction",
        _P + "reduction",
        "the reduction starts again",
        "replace(b, init=b.own_load()),",
        "b,",
    ),
    _m(
        "decompose_reduction",
        _P + "reduction",
        "elements may be computed again",
        "if not legality.writes_distinct(func, block, path, lp.name):",
        "if False:",
    ),
    _m(
        "decompose_reduction",
        _P + "reduction",
        "a loop outside may reduce",
        "outside = [n for n in outside if not legality.is_unit(func, func.loop(n)[0].extent)]",
        "outside = []",
    ),
    _m(
        "rfactor",
        _P + "reduction",
        "another part is taken out",
        "names[order.index(self.loop)]",
        "names[order.index(self.loop) - 1]",
    ),
    _m(
        "rfactor",
        _P + "reduction",
        "the new dimension is looked for in the wrong place",
        "load = Load(temp, (*block.index[:dim], Affine.var(axis), *block.index[dim:]))",
        "load = Load(temp, (Affine.var(axis), *block.index))",
    ),
    _m(
        "rfactor",
        _P + "reduction",
        "sums of parts are not added up",
        'iters = (*kept, Iter(axis, extent, "R"))',
        "iters = (*kept, Iter(axis, extent - (extent != 1), 'R'))",
    ),
    _m(
        "transform_layout",
        _P + "layout",
        "block and place are swapped",
        "return self._arranged(idx, dim, *parts)",
        "return self._arranged(idx, dim, *parts[::-1])",
    ),
    _m(
        "transform_layout",
        _P + "layout",
        "the layout names another dimension",
        "LayoutStep(dim, size, self.count",
        "LayoutStep((dim + 1) % rank, size, self.count",
    ),
    _m(
        "transform_layout",
        _P + "layout",
        "an input may be packed",
        'if buffer.role not in ("const", "temp"):\n            refuse',
        'if buffer.role == "output":\n            refuse',
        'if buffer.role not in ("const", "temp") or at',
        'if buffer.role == "output" or at',
    ),
    _m(
        "transform_layout",
        _P + "layout",
        "the rest need not lie within the block",
        "inside = nonneg(lo, relations) and nonneg(size - 1 - hi, relations)",
        "inside = True",
    ),
    _m(
        "winograd",
        _P + "winograd",
        "a sign of the data's transform is wrong",
        "near, far = _sub(d[4], d[2]), _sub(d[3], d[1])",
        "near, far = _sub(d[4], d[2]), _add(d[3], d[1])",
    ),
    _m(
        "winograd",
        _P + "winograd",
        "a factor of the way back is wrong",
        "_add(self.plus(alone, 8, apart), p[5])",
        "_add(self.plus(alone, 4, apart), p[5])",
    ),
    _m(
        "winograd",
        _P + "winograd",
        "two rows of small tiles are swapped",
        "_sub(d[0], d[2]), _add(d[1], d[2]), _sub(d[2], d[1])",
        "_sub(d[0], d[2]), _sub(d[2], d[1]), _add(d[1], d[2])",
    ),
    _m(
        "winograd",
        "workbench.ir.winograd",
        "the kernel's transform has a wrong entry",
        "(1 / 24, -1 / 12, 1 / 6)",
        "(1 / 24, 1 / 12, 1 / 6)",
    ),
    _m(
        "winograd",
        "workbench.ir.winograd",
        "the two dimensions of a kernel are swapped",
        "np.swapaxes(both, 0, 1)",
        "both",
    ),
    _m(
        "winograd",
        _P + "winograd",
        "the last tiles read behind the image",
        "if n % self.m]",
        "if n % self.m > 2]",
    ),
    _m(
        "winograd",
        _S + "convolution",
        "dilated and strided convolutions are taken for plain ones",
        "or steps == (1, 1)",
        "or 1 in steps",
    ),
    _m(
        "tensorize",
        _I + "match",
        "an operand may lie as it likes",
        "if have != want:",
        "if False:",
    ),
    _m(
        "tensorize",
        _I + "match",
        "the loops may have other extents",
        "if lp.extent != want.extent:",
        "if False:",
    ),
    _m(
        "tensorize",
        _P + "tensorize",
        "the loop is not marked",
        "replace(x, intrin=self.intrin)",
        "replace(x, intrin=None)",
    ),
    _m(
        "tensorize",
        _S + "standing",
        "later steps may move an operand",
        "match(registry[intrin], func, loop)",
        "registry[intrin]",
    ),
    _m(
        "vectorize",
        _G + "nest",
        "the last lane of a cut vector does not run",
        "return [*out, (at, 1 << rest.bit_length(), rest)]",
        "return [*out, (at, 1 << rest.bit_length(), rest - 1)]",
    ),
    _m(
        "vectorize",
        _G + "access",
        "what is stored has no mask",
        "if mask is not None and value.lanes > 1:",
        "if False:",
    ),
    _m(
        "reorder",
        _G + "accumulators",
        "accumulators start again in each round of an outer loop",
        'return self.fb.pure(f"icmp eq i64 {total.text}, 0", "bool", 1, (total,))',
        "return True",
    ),
    _m(
        "unroll",
        _G + "copies",
        "copies of a body read where the first one does",
        "by = self._slopes[old] * distance",
        "by = 0",
    ),
    _m(
        "compute_inline",
        _G + "exprs",
        "padding is read from where it would lie",
        "self._choose(cond, inside.pointer, page)",
        "inside.pointer",
    ),
    _m(
        "rfactor",
        _G + "lanes",
        "the halves of a vector are the same one",
        "return part(0), part(half)",
        "return part(0), part(0)",
    ),
)


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles the changed text, and neither reads nor writes a cache."""

    def __init__(self, mutation: Mutation, path: str) -> None:
        super().__init__(mutation.module, path)
        self._mutation = mutation

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._mutation.apply(Path(self.path).read_text(encoding="utf-8")), self.path, "exec")


class _Finder:
    def __init__(self, mutation: Mutation) -> None:
        self._mutation = mutation

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None):
        if name != self._mutation.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        assert spec is not None
        assert spec.origin is not None
        return importlib.util.spec_from_file_location(name, spec.origin, loader=_Loader(self._mutation, spec.origin))


def install(mutation: Mutation) -> None:
    """Load the mutation's module with the change from now on (it must not be loaded yet)."""
    assert mutation.module not in sys.modules, mutation.module
    sys.meta_path.insert(0, _Finder(mutation))
