"""What a nest really touches, by running through all of its iterations."""

from __future__ import annotations

from workbench.ir import Binary, Cast, Const, For, Load, Select, Unary
from workbench.ir.compact_temporaries import compact
from workbench.ir.expr import all_index_forms


def value(form, env):
    total = form.const
    for d, c in form.terms:
        x = env[d.var] // d.lower
        total += c * (x % d.extent if d.extent is not None else x)
    return total


class Replay:
    """Counts per loop: trips, runs, and the largest set of elements and of lines that one run touches."""

    def __init__(self, func, line=64):
        self.func, self.line = compact(func), line
        self.buffers = {b.name: b for b in self.func.buffers}
        self.trips, self.elements, self.lines, self.points = {}, {}, {}, {}
        for s in self.func.body:
            self.run(s, {})

    def run(self, s, env):
        if not isinstance(s, For):
            return self.block(s, env)
        found = set()
        for i in range(s.extent):
            env[s.name] = i
            self.trips[s.name] = self.trips.get(s.name, 0) + 1
            for c in s.body:
                found |= self.run(c, env)
        del env[s.name]
        size = sum(self.item(b) for b, _ in found)
        lines = {(b, flat * self.item(b) // self.line) for b, flat in found}
        self.elements[s.name] = max(self.elements.get(s.name, 0), size)
        self.lines[s.name] = max(self.lines.get(s.name, 0), len(lines) * self.line)
        return found

    def item(self, buffer):
        return {"float32": 4, "float64": 8, "int8": 1, "int32": 4}[self.buffers[buffer].dtype]

    def block(self, b, env):
        self.points[b.name] = self.points.get(b.name, 0) + 1
        env = {it.name: value(f, env) for it, f in zip(b.iters, b.binds, strict=True)}
        found = {self.at(b.buffer, b.index, env)}
        self.expr(b.value, env, found)
        return found

    def expr(self, e, env, found):
        match e:
            case Load():
                for p in e.at:
                    self.expr(p.value, env, found)
                # Every other row is picked, by numbers that are all different.
                picked = {f"@{k}": 2 * int(value(next(all_index_forms(p.value)), env)) for k, p in enumerate(e.at)}
                found.add(self.at(e.buffer, e.index, {**env, **picked}))
            case Select():
                inside = all(c.lo <= value(c.form, env) < c.hi for c in e.conds)
                self.expr(e.a if inside else e.b, env, found)
            case Binary(_, a, b):
                self.expr(a, env, found)
                self.expr(b, env, found)
            case Unary(_, a) | Cast(_, a):
                self.expr(a, env, found)
            case _:
                assert isinstance(e, Const), e

    def at(self, buffer, index, env):
        flat = 0
        for f, n in zip(index, self.buffers[buffer].shape, strict=True):
            x = value(f, env)
            assert 0 <= x < n, (buffer, x, n)
            flat = flat * n + x
        return buffer, flat
