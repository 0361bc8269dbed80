"""A nest on caches, the slow way: every iteration in Python, every set a list. Shares no code with the package's."""

from __future__ import annotations

from collections import Counter

from workbench.ir import Block, For, Load, Select
from workbench.ir.expr import children


def count(func, levels, apart):
    """Counter of (buffer, kind, what) for a concrete lowered function; what: "accesses" or (level, "misses")."""
    out, caches = Counter(), [[[] for _ in range(c.size // c.line // c.each)] for c in levels]
    bases, line = _bases(func, levels[0].line, apart), levels[0].line
    for buffer, kind, index in _accesses(func.body, {}):
        b = func.buffer(buffer)
        at = bases[buffer] + sum(x * s for x, s in zip(index, b.strides(), strict=True)) * _size(b)
        out[buffer, kind, "accesses"] += 1
        _touch(caches, levels, 0, at // line, (buffer, kind), kind == "write" and buffer, out)
    return out


def _touch(caches, levels, k, line, who, writer, out, fetched=True):
    """Sets hold [line, writer], the least recently used first."""
    if k == len(caches):
        return
    row = caches[k][line % len(caches[k])]
    old = next((e for e in row if e[0] == line), None)
    if old is not None:
        row.remove(old)
        row.append([line, writer or old[1]])
        return
    row.append([line, writer])
    if fetched:
        out[(*who, (k, "misses"))] += 1
        _touch(caches, levels, k + 1, line, who, False, out)
    if len(row) > levels[k].each:
        gone, wrote = row.pop(0)
        if wrote:
            out[wrote, "write", (k, "written")] += 1
            _touch(caches, levels, k + 1, gone, who, wrote, out, fetched=False)


def _bases(func, line, apart):
    at, out = line, {}
    for b in func.buffers:
        out[b.name] = at
        at = -(-(at + b.nbytes + apart) // line) * line
    return out


def _size(b):
    return {"float32": 4, "float64": 8, "int8": 1, "int32": 4, "uint8": 1, "int64": 8, "bfloat16": 2}[b.dtype]


def _accesses(body, env):
    for s in body:
        if isinstance(s, For):
            for k in range(s.extent):
                yield from _accesses(s.body, {**env, s.name: k})
        else:
            yield from _block(s, env)


def _block(b: Block, env):
    at = {it.name: _value(f, env) for it, f in zip(b.iters, b.binds, strict=True)}
    if not all(g.lo <= _value(g.form, at) < g.hi for g in b.guard):
        return
    own = (b.buffer, [_value(x, at) for x in b.index])
    goes_on = isinstance(b.init, Load) and (b.init.buffer, b.init.index) == (b.buffer, b.index)
    if b.init is not None and not goes_on and all(at[it.name] == 0 for it in b.iters if it.kind == "R"):
        for buffer, index in _loads(b.init, at):
            yield buffer, "read", index
        yield own[0], "write", own[1]
    for buffer, index in _loads(b.value, at):
        yield buffer, "read", index
    yield own[0], "write", own[1]


def _loads(e, at):
    if isinstance(e, Load):
        yield e.buffer, [_value(f, at) for f in e.index]
    if isinstance(e, Select):
        taken = e.a if all(c.lo <= _value(c.form, at) < c.hi for c in e.conds) else e.b
        yield from _loads(taken, at)
    else:
        for part in children(e):
            yield from _loads(part, at)


def _value(form, env):
    total = form.const
    for d, c in form.terms:
        v = env[d.var] // d.lower
        total += c * (v if d.extent is None else v % d.extent)
    return total
